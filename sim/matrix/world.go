package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/sim"
)

// common is the world line of every cell: what clients do, and how fast messages are.
const common = "clients=3 ttl=30s hold=0s..60s scales=on think=0s..5s delay=1ms..5ms"

// calmAfter is after how many leases the faults end.
const calmAfter = 4

// overlapping are the options of a world in which a writer can wait for readers alone:
// one client writes, and who has given the lock back lets those who wait come first.
var overlapping = []string{"readers=2", "think=1s..5s"}

// Scenario is the world in which a claim of a cell is searched for. Its faults
// line draws the row's faults; nothing else of them is fixed.
func (r *Row) Scenario(c *Cell, one claim) (*sim.Scenario, error) {
	set := r.Setting(c.Variant)
	words := options{}
	words.add(strings.Fields(common + " profile=" + c.Profile)...)
	words.add(columnOf(c.Kind).options(c.Profile)...)
	words.add(set.World...)
	words.fit(c.Kind)
	ttl, hold := words.duration("ttl"), words.duration("hold")
	calm := calmAfter * ttl
	end, wait := calm+ttl, one.bound
	if wait > 0 {
		if one.check == "liveness" {
			wait += 3*hold + 15*time.Second // others have their turn first
		}
		words.add("bound=" + sim.DurationText(wait))
		end = calm + wait + 10*time.Second
	}
	if one.check == "progress" {
		words.add(overlapping...)
		end = 10 * one.bound
	}
	if one.check == "leak" {
		end = calm + 5*time.Minute
	}
	name := one.check
	if name == "safety" {
		name = safety(c.Kind)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\nworld %s\nexpect %s=%s\n", r.Title, strings.Join(words.list, " "), name, one.verdict)
	faults := slices.Concat(set.Faults, set.Aid)
	if c.Code == "Sv" && !slices.Contains(faults, "servers=1") {
		faults = append(faults, "servers=1") // one of independent masters
	}
	if len(faults) > 0 {
		fmt.Fprintf(&b, "faults %s\n", strings.Join(faults, " "))
	}
	if one.check != "progress" {
		fmt.Fprintf(&b, "at %s calm\n", sim.DurationText(calm))
	}
	if one.check == "leak" {
		fmt.Fprintf(&b, "at %s audit\n", sim.DurationText(end-time.Second))
	}
	fmt.Fprintf(&b, "run for=%s seed=1\n", sim.DurationText(end))
	s, err := sim.ParseScenario(Prefix+c.String(), b.String())
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w\n%s", c, err, b.String())
	}
	s.Name = Prefix + c.String() + "/" + name
	return s, nil
}

// need is the kind of fault without which a violation is not the row's: its only
// kind, or "" where it has several or none.
func (s Setting) need() string {
	var kinds []string
	for _, word := range s.Faults {
		name, _, _ := strings.Cut(word, "=")
		if slices.Contains(sim.FaultKinds(), name) {
			kinds = append(kinds, name)
		}
	}
	if len(kinds) != 1 {
		return ""
	}
	return kinds[0]
}

// options are words of a world line; a later one replaces an earlier.
type options struct{ list []string }

func (o *options) add(words ...string) {
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		o.remove(name)
		o.list = append(o.list, word)
	}
}

func (o *options) remove(name string) {
	o.list = slices.DeleteFunc(o.list, func(w string) bool { return strings.HasPrefix(w, name+"=") })
}

// fit leaves out what a row's world has for other kinds, and what its cluster says.
func (o *options) fit(kind string) {
	if safety(kind) != "capacity" {
		o.remove("permits")
	}
	if slices.ContainsFunc(o.list, func(w string) bool { return strings.HasPrefix(w, "cluster=") }) {
		o.remove("masters")
	}
}

// options are the words as a scenario has them.
func (o *options) options() (list []sim.Option) {
	for _, word := range o.list {
		name, value, _ := strings.Cut(word, "=")
		list = append(list, sim.Option{Name: name, Value: value})
	}
	return list
}

// duration is an option's value, or the end of its range.
func (o *options) duration(name string) time.Duration {
	for _, word := range o.list {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			_, hi, ranged := strings.Cut(value, "..")
			if !ranged {
				hi = value
			}
			d, err := time.ParseDuration(hi)
			if err != nil {
				panic(err) // the rows are embedded
			}
			return d
		}
	}
	panic("matrix: no option " + name)
}

// Prefix begins the names of cells' scenarios.
const Prefix = "matrix:"

// Find returns the scenario of a name such as matrix:7/redisson/mutex, with its
// variant and the name of a check if they are needed; ok is false for other names.
func Find(name string) (s *sim.Scenario, ok bool, err error) {
	rest, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return nil, false, nil
	}
	for _, r := range Rows() {
		for i := range r.Cells {
			c := &r.Cells[i]
			tail, same := strings.CutPrefix(rest+"/", c.String()+"/")
			if !same {
				continue
			}
			for _, one := range c.claims() {
				s, err := r.world(c, one, tail)
				if s != nil || err != nil {
					return s, true, err
				}
			}
		}
	}
	return nil, true, fmt.Errorf("there is no cell %q: expected %sROW/PROFILE/KIND[/VARIANT][/CHECK[%s]]", rest,
		Prefix, ordersName)
}

// world is the claim's world whose name ends in tail, with a slash behind it; nil: it has none.
func (r *Row) world(c *Cell, one claim, tail string) (*sim.Scenario, error) {
	check := one.of(c.Kind) + "/"
	if size, ok := strings.CutPrefix(tail, check+ordersName[1:]); ok {
		b, _ := r.Bound(c)
		b.Clients, b.Faults = max(b.Clients, 2), max(b.Faults, 1) // of a twin, whose row need not state a bound
		if err := b.sized(strings.TrimSuffix(size, "/")); err != nil {
			return nil, fmt.Errorf("%q: expected %s, %s2 or %s-m1", tail, ordersName[1:], ordersName[1:], ordersName[1:])
		}
		return r.Orders(c, one, b)
	}
	if tail == "" || tail == check {
		return r.Scenario(c, one)
	}
	return nil, nil
}

// claims are what the cell's code says.
func (c *Cell) claims() []claim {
	list, err := parseCode(c.Code)
	if err != nil {
		panic(err) // the parser let it through
	}
	return list
}
