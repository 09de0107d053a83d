package matrix

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minikv/sim"
)

//go:embed rows/*.row
var files embed.FS

// Row is one scenario of faults.
type Row struct {
	Number   int
	Title    string
	Base     Setting   // what every variant begins with
	Variants []Variant // beside the plain one
	Cells    []Cell
	Listed   []Cell // what runs have shown instead: Code is check=verdict
	Stories  []Story
	Bounds   []Bound
}

// Story is the shortest published or derived story of what breaks, for some cells
// of a row: none that is found may be longer.
type Story struct {
	Kinds      []string `json:"-"` // nil: all
	Variant    string   `json:"-"` // "any" is all
	Faults     int      `json:"faults"`
	Operations int      `json:"operations"` // of clients: lock() and its like, countDown()
	Text       string   `json:"text"`
}

// anyVariant is the variant of a line for all of them.
const anyVariant = "any"

// shorter reports whether another story has more faults or more operations.
func (s Story) shorter(faults, operations int) bool {
	return faults > s.Faults || operations > s.Operations
}

// Story is the story of a cell: of the lines that fit the last.
func (r *Row) Story(c *Cell) (s Story, ok bool) {
	for _, one := range r.Stories {
		if fits(one.Kinds, one.Variant, c) {
			s, ok = one, true
		}
	}
	return s, ok
}

// fits reports whether a line for some kinds, in some variant, is for a cell.
func fits(kinds []string, variant string, c *Cell) bool {
	return (kinds == nil || slices.Contains(kinds, c.Kind)) && (variant == anyVariant || variant == c.Variant)
}

// whose reads [KINDS] [in VARIANT], which says for which cells a line is.
func whose(text string) (kinds []string, variant string) {
	names, variant, in := strings.Cut(" "+text, " in ")
	if !in {
		variant = anyVariant
	}
	if names = strings.TrimSpace(names); names != "" && names != "all" {
		kinds = strings.Split(names, ",")
	}
	return kinds, variant
}

// story reads [KINDS] [in VARIANT]: FAULTS+OPERATIONS: TEXT.
func (r *Row) story(text string) (err error) {
	cells, rest, ok := strings.Cut(text, ": ")
	length, told, both := strings.Cut(rest, ": ")
	if !ok || !both {
		return fmt.Errorf("expected: story [KINDS] [in VARIANT]: FAULTS+OPERATIONS: TEXT")
	}
	s := Story{Text: told}
	s.Kinds, s.Variant = whose(cells)
	if _, err := fmt.Sscanf(length, "%d+%d", &s.Faults, &s.Operations); err != nil {
		return fmt.Errorf("%q: expected FAULTS+OPERATIONS", length)
	}
	r.Stories = append(r.Stories, s)
	return nil
}

// Setting is what a variant fixes.
type Setting struct {
	World  []string // options of a scenario's world line, name=value
	Faults []string // words of its faults line: what the row is about
	Aid    []string // kinds of fault without which those could do nothing
}

// Variant is a row under a condition.
type Variant struct {
	Name string
	Text string // what is different in it, for people
	Setting
}

// Cell is what is expected of one kind of lock in one profile.
type Cell struct {
	Row     int
	Variant string // "" for the plain row
	Profile string // redisson or lockclient
	Kind    string // see Kinds
	Code    string // see the package comment
	Reason  string
}

// String is the cell's name: row/profile/kind, and its variant if it has one.
func (c *Cell) String() string {
	name := fmt.Sprintf("%d/%s/%s", c.Row, c.Profile, c.Kind)
	if c.Variant != "" {
		name += "/" + c.Variant
	}
	return name
}

// The profiles.
const (
	Redisson   = "redisson"
	Lockclient = "lockclient"
)

// Profiles are the names of the profiles, in the order of the columns.
func Profiles() []string { return []string{Redisson, Lockclient} }

// Rows reads the embedded rows, in their order. It panics when one does not
// parse: a test reads them all.
func Rows() []*Row {
	entries, err := files.ReadDir("rows")
	if err != nil {
		panic(err)
	}
	rows := make([]*Row, len(entries))
	for i, e := range entries {
		text, err := files.ReadFile("rows/" + e.Name())
		if err != nil {
			panic(err)
		}
		if rows[i], err = ParseRow(e.Name(), string(text)); err != nil {
			panic(err)
		}
	}
	return rows
}

// Setting returns what a variant of the row fixes; "" is the plain row.
func (r *Row) Setting(variant string) Setting {
	s := r.Base
	for _, v := range r.Variants {
		if v.Name != variant {
			continue
		}
		s.World = slices.Concat(s.World, v.World)
		if len(v.Faults) > 0 {
			s.Faults = v.Faults
		}
		s.Aid = slices.Concat(s.Aid, v.Aid)
	}
	return s
}

// ParseRow reads a row's file. Errors begin with file and line.
func ParseRow(file, text string) (*Row, error) {
	r := &Row{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	if r.Number == 0 || r.Title == "" || len(r.Cells) == 0 {
		return nil, fmt.Errorf("%s: expected a comment line, a row line and cells", file)
	}
	return r, nil
}

func (r *Row) line(line string) (err error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "#":
		if r.Title == "" {
			r.Title = rest
		}
		return nil
	case "row":
		r.Number, err = strconv.Atoi(rest)
		return err
	case "world":
		r.Base.World = strings.Fields(rest)
		return nil
	case "faults":
		r.Base.Faults, err = faultWords(strings.Fields(rest))
		return err
	case "variant":
		return r.variant(rest)
	case "story":
		return r.story(rest)
	case "orders":
		return r.bound(rest)
	case Redisson, Lockclient:
		cells, err := r.cells(word, rest)
		r.Cells = append(r.Cells, cells...)
		return err
	case "shown":
		profile, rest, _ := strings.Cut(rest, " ")
		cells, err := r.cells(profile, rest)
		r.Listed = append(r.Listed, cells...)
		return err
	}
	return fmt.Errorf("unknown word %q: expected row, world, faults, variant, story, orders, shown or a profile", word)
}

// faultWords checks words of a faults line as far as it goes without a world.
func faultWords(words []string) ([]string, error) {
	known := append(sim.FaultKinds(), "most", "servers", "cuts", "strategy")
	for _, word := range words {
		if name, _, _ := strings.Cut(word, "="); !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown kind of fault %q: expected %s", name, strings.Join(known, ", "))
		}
	}
	return words, nil
}

// variant reads a variant line: NAME OPTION…: what is different in it.
func (r *Row) variant(rest string) (err error) {
	options, text, _ := strings.Cut(rest, ": ")
	words := strings.Fields(options)
	if len(words) < 2 || text == "" {
		return fmt.Errorf("expected: variant NAME OPTION…: TEXT")
	}
	v := Variant{Name: words[0], Text: text}
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			err = fmt.Errorf("%q: expected name=value", word)
		case name == "faults":
			v.Faults, err = faultWords(strings.Split(value, ","))
		case name == "aid":
			v.Aid, err = faultWords(strings.Split(value, ","))
		default:
			v.World = append(v.World, word)
		}
		if err != nil {
			return err
		}
	}
	r.Variants = append(r.Variants, v)
	return nil
}

// cells reads KINDS [in VARIANT]: CODE: REASON.
func (r *Row) cells(profile, text string) (list []Cell, err error) {
	parts := strings.SplitN(text, ": ", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("expected: PROFILE KINDS [in VARIANT]: CODE: REASON")
	}
	kinds, variant, _ := strings.Cut(parts[0], " in ")
	if variant != "" && !slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.Name == variant }) {
		return nil, fmt.Errorf("unknown variant %q", variant)
	}
	if _, err := parseCode(parts[1]); err != nil {
		return nil, err
	}
	for _, kind := range strings.Split(kinds, ",") {
		if !slices.Contains(Kinds(profile), kind) {
			return nil, fmt.Errorf("unknown kind %q of profile %s: expected %s", kind, profile,
				strings.Join(Kinds(profile), ", "))
		}
		list = append(list, Cell{r.Number, variant, profile, kind, parts[1], parts[2]})
	}
	return list, nil
}

// listed is why runs of a cell can show something else than was expected, "" if nothing is known.
func (r *Row) listed(c *Cell) string {
	if i := slices.IndexFunc(r.Listed, c.isThatOf); i >= 0 {
		return r.Listed[i].Reason
	}
	return ""
}

// lists reports whether what became of a claim of a cell is what runs have shown before.
func (r *Row) lists(c *Cell, found *ClaimResult) bool {
	return slices.ContainsFunc(r.Listed, func(l Cell) bool {
		return c.isThatOf(l) && slices.ContainsFunc(l.claims(), func(one claim) bool {
			return one.of(c.Kind) == found.Check && one.verdict == found.Verdict
		})
	})
}

// isThatOf reports whether a line of the row's file is about the cell.
func (c *Cell) isThatOf(line Cell) bool {
	return line.Variant == c.Variant && line.Profile == c.Profile && line.Kind == c.Kind
}
