package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minikv/sim/check"
)

// Table is the matrix as text: one line for each row and variant of a profile,
// one column for each kind, and then what the rows are. A cell that is not as expected
// has a mark behind it. What does not fit into so many characters of a line, if not 0,
// goes on in a table below.
func Table(results []Result, width int) string {
	var b strings.Builder
	for _, profile := range Profiles() {
		kinds := Kinds(profile)
		lines := Lines(results, profile)
		if len(lines) == 0 {
			continue
		}
		fit := len(kinds)
		if width > 0 {
			fit = max(1, (width-nameWidth)/cellWidth)
		}
		for part := range slices.Chunk(kinds, fit) {
			fmt.Fprintf(&b, "%s\n", profile)
			tableLine(&b, "row", part, short)
			for _, l := range lines {
				tableLine(&b, l.Name, part, func(kind string) string { return l.Cell(kind).word() })
			}
			b.WriteString("\n")
		}
	}
	for _, t := range troubles(results) {
		fmt.Fprintf(&b, "%-14s %s\n", t.name, t.text)
	}
	return b.String() + "\n" + ordersText(results) + Summary(results)
}

// nameWidth and cellWidth are of a table's columns.
const nameWidth, cellWidth = 14, 10

// tableLine writes a line of a table.
func tableLine(b *strings.Builder, name string, kinds []string, cell func(kind string) string) {
	line := fmt.Sprintf("%-*s", nameWidth, name)
	for _, kind := range kinds {
		line += fmt.Sprintf(" %-*s", cellWidth-1, cell(kind))
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// trouble is what a row is about, or a variant of it.
type trouble struct{ name, text string }

// troubles are those of the results: each row, and behind it its variants.
func troubles(results []Result) (list []trouble) {
	seen, texts := map[string]bool{}, variantTexts()
	add := func(name, text string) {
		if !seen[name] {
			list = append(list, trouble{name, text})
		}
		seen[name] = true
	}
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b Result) int { return cmp.Compare(a.Row, b.Row) })
	for _, r := range sorted {
		add(strconv.Itoa(r.Row), r.Title)
		if r.Variant != "" {
			add(r.line(), texts[r.line()])
		}
	}
	return list
}

// line is the name of a result's line: number and variant.
func (r *Result) line() string { return strings.TrimSpace(strconv.Itoa(r.Row) + " " + r.Variant) }

// Trouble is what the result's row is about, and what is different in its variant.
func (r *Result) Trouble() string { return r.trouble(variantTexts()) }

func (r *Result) trouble(texts map[string]string) string {
	if text := texts[r.line()]; text != "" {
		return strings.TrimSuffix(r.Title, ".") + "; " + text + "."
	}
	return r.Title
}

// variantTexts is what is different in each variant, by the name of its line.
func variantTexts() map[string]string {
	texts := map[string]string{}
	for _, r := range Rows() {
		for _, v := range r.Variants {
			texts[strconv.Itoa(r.Number)+" "+v.Name] = v.Text
		}
	}
	return texts
}

// Line is a row of the matrix in one variant, in one profile.
type Line struct {
	Name  string             // number and variant
	Title string             // of the row, and what is different in the variant
	cells map[string]*Result // by kind
}

// Cell is that of a kind of lock; nil: the row has none.
func (l *Line) Cell(kind string) *Result { return l.cells[kind] }

// Lines arranges the results of one profile, in their order.
func Lines(results []Result, profile string) (lines []Line) {
	texts := variantTexts()
	for i := range results {
		r := &results[i]
		if r.Profile != profile {
			continue
		}
		name := r.line()
		at := slices.IndexFunc(lines, func(l Line) bool { return l.Name == name })
		if at < 0 {
			at = len(lines)
			lines = append(lines, Line{name, r.trouble(texts), map[string]*Result{}})
		}
		lines[at].cells[r.Lock] = r
	}
	return lines
}

// word is the verdict in a table; "" where there is no cell.
func (r *Result) word() string {
	if r == nil {
		return ""
	}
	word := r.Verdict
	if word == meaningless {
		word = "-"
	}
	if !r.Agrees {
		word += "*"
	}
	return word
}

// Markdown is the matrix as tables of Markdown.
func Markdown(results []Result) string {
	var b strings.Builder
	for _, profile := range Profiles() {
		lines := Lines(results, profile)
		if len(lines) == 0 {
			continue
		}
		kinds := Kinds(profile)
		fmt.Fprintf(&b, "### %s\n\n| row | %s |\n|---%s|\n", profile, strings.Join(kinds, " | "),
			strings.Repeat("|---", len(kinds)))
		for _, l := range lines {
			fmt.Fprintf(&b, "| %s |", l.Name)
			for _, kind := range kinds {
				fmt.Fprintf(&b, " %s |", strings.ReplaceAll(l.Cell(kind).word(), "*", `\*`))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("| row | trouble |\n|---|---|\n")
	for _, t := range troubles(results) {
		fmt.Fprintf(&b, "| %s | %s |\n", t.name, t.text)
	}
	return b.String() + "\n" + ordersText(results) + Summary(results)
}

// ordersText is what running every order has shown, with its heading, if it was asked for.
func ordersText(results []Result) string {
	if table := OrdersMarkdown(results); table != "" {
		return "### every order\n\n" + table + "\n"
	}
	return ""
}

// Words say what was expected of the cell and why, and what was found.
func (r *Result) Words() []string {
	lines := []string{fmt.Sprintf("expected %s (%s): %s", r.Expected, r.Code, r.Reason)}
	for _, one := range r.Claims {
		line := fmt.Sprintf("%s %s after %s", one.Check, one.Verdict, check.Several(one.Searched, "seed"))
		if one.Finding != "" {
			line += ": " + one.Finding
		}
		if one.Twin != "" && one.Verdict == check.Holds {
			line += "; the same search breaks " + one.Twin
		}
		lines = append(lines, line)
		if one.Replay != "" {
			lines = append(lines, "replay: "+one.Replay)
		}
		switch o := one.Orders; {
		case o != nil && o.Complete:
			lines = append(lines, fmt.Sprintf("every order was run as well (%s): %d schedules", o.Bound, o.Schedules))
		case o != nil && o.Random:
			lines = append(lines, fmt.Sprintf("orders were run as well (%s): %d schedules", o.Bound, o.Schedules))
		}
	}
	if r.Listed != "" {
		lines = append(lines, "listed: "+r.Listed)
	}
	return lines
}

// line says what became of a claim.
func (c *ClaimResult) line() string {
	text := fmt.Sprintf("%s %s after %s", c.Check, c.Verdict, check.Several(c.Searched, "seed"))
	if c.Finding != "" {
		text += ": " + c.Finding
	}
	return text + "\n  replay: " + c.Replay
}

// Summary counts the cells, and lists those that are not as expected.
func Summary(results []Result) string {
	count := map[string]int{}
	var b strings.Builder
	for _, r := range results {
		count[r.Verdict]++
		if r.Agrees {
			continue
		}
		cell := strings.TrimSpace(fmt.Sprint(r.Row, " ", r.Profile, " ", r.Lock, " ", r.Variant))
		fmt.Fprintf(&b, "%s: expected %s: %s\n", cell, r.Code, r.Reason)
		if slices.ContainsFunc(r.Claims, func(c ClaimResult) bool { return c.Listed }) {
			fmt.Fprintf(&b, "  listed: %s\n", r.Listed)
		}
		for _, c := range r.Claims {
			if c.Verdict != c.Expected {
				fmt.Fprintf(&b, "  %s\n", c.line())
			}
		}
	}
	list := b.String()
	if list != "" {
		list = "Not as expected (S: safe; U: unsafe; U/r: unsafe, but the resource refuses what is stale;\n" +
			"L(t): safe, and everybody proceeds within t; D: somebody waits for ever):\n" + list
	}
	list += longer(results)
	return fmt.Sprintf("%s%d cells: %d hold, %d violated, %d unknown, %d not applicable\n", list, len(results),
		count["holds"], count["violated"], count["unknown"], count[meaningless])
}

// longer lists the stories that are longer than what is told, and tells how many
// there are.
func longer(results []Result) string {
	var b strings.Builder
	stories := 0
	for _, r := range results {
		for _, c := range r.Claims {
			if r.Told == nil || c.Story == "" || c.Expected != check.Violated {
				continue
			}
			stories++
			if r.Longer(&c) {
				fmt.Fprintf(&b, "%d %s %s %s: %s in %s and %s, told with %d and %d: %s\n", r.Row, r.Profile,
					r.Lock, r.Variant, c.Check, check.Several(c.Faults, "fault"), check.Several(c.Operations, "operation"),
					r.Told.Faults, r.Told.Operations, r.Told.Text)
			}
		}
	}
	if stories == 0 {
		return ""
	}
	if b.Len() == 0 {
		return fmt.Sprintf("%d stories, none longer than told.\n", stories)
	}
	return fmt.Sprintf("%d stories; longer than told:\n%s", stories, b.String())
}
