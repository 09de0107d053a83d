package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// Orders is what running every order of a small world of a cell has shown.
type Orders struct {
	// its name, or those of several: `locksim hunt WORLD --strategy exhaustive` does it again
	World     string `json:"world,omitempty"`
	Bound     string `json:"bound,omitempty"`  // what was all run, in words
	Faults    int    `json:"faults"`           // the bound, as --bound has it
	Complete  bool   `json:"complete"`         // every schedule within the bound was run
	Random    bool   `json:"random,omitempty"` // so many at random were to be run, as there are too many for all
	Schedules int    `json:"schedules"`
	States    int    `json:"states"`
	Violation string `json:"violation,omitempty"` // what one of them violates, "" if none does
	Twin      string `json:"twin,omitempty"`      // the cell that was seen to break in the same bound
	Why       string `json:"why,omitempty"`       // why nothing can be said, "" if something can
}

// Holds reports whether all orders were run, none violates, and the twin's do.
func (o *Orders) Holds() bool { return o.Complete && o.Violation == "" && o.Why == "" }

// NotFound reports whether orders were run at random, none violates, and the twin's do.
func (o *Orders) NotFound() bool { return o.Random && o.Violation == "" && o.Why == "" }

// replay is the command that finds the violation again.
func (o *Orders) replay() string {
	strategy := "exhaustive"
	if o.Random {
		strategy = fmt.Sprintf("pct --root %d --seeds %d", ordersRoot, o.Schedules)
	}
	return fmt.Sprintf("locksim hunt %s --strategy %s --bound %d", o.World, strategy, o.Faults)
}

// ordersRoot is the root of orders at random.
const ordersRoot = 1

// Bound is how large the worlds are in which every order of some cells of a row is run.
type Bound struct {
	Profile string   // "": both
	Kinds   []string // nil: all
	Variant string   // "any" is all
	Clients int
	Masters int      // 0: as many as the row has
	Faults  int      // at most
	Random  int      // so many orders at random; 0: all
	Each    bool     // a world for each master, which alone has replicas: where one is struck, others need none
	Only    int      // the master of such a world, counted from 1; 0: each has replicas
	World   []string // what differs from the row's world: ttl=D, lag=D, hold=D
	Why     string   // why there are no such worlds, "" if there are
}

// orderSchedules is how many schedules are run before a world counts as too large.
const orderSchedules = 2_500_000

// boundForm is what a bound looks like.
const boundForm = "orders [PROFILE] [KINDS] [in VARIANT]: clients=N [masters=N] faults=N [random=N] " +
	"[replicas=N] [replicated=each] [ttl=D] [lag=D] [hold=D], or -: WHY"

// bound reads what boundForm says. Clients hold for no time unless it says for how long.
func (r *Row) bound(text string) error {
	cells, rest, ok := strings.Cut(text, ": ")
	if !ok {
		return errors.New("expected: " + boundForm)
	}
	b := Bound{}
	if profile, kinds, ok := strings.Cut(cells, " "); ok && slices.Contains(Profiles(), profile) {
		b.Profile, cells = profile, kinds
	}
	b.Kinds, b.Variant = whose(cells)
	if why, none := strings.CutPrefix(rest, "-: "); none {
		b.Why, rest = why, ""
	}
	for _, word := range strings.Fields(rest) {
		name, value, _ := strings.Cut(word, "=")
		if slices.Contains([]string{"ttl", "lag", "hold", "replicas"}, name) {
			b.World = append(b.World, word)
			continue
		}
		if word == "replicated=each" {
			b.Each = true
			continue
		}
		n, err := strconv.Atoi(value)
		at := map[string]*int{"clients": &b.Clients, "masters": &b.Masters, "faults": &b.Faults,
			"random": &b.Random}[name]
		if at == nil || err != nil {
			return fmt.Errorf("%q: expected: %s", word, boundForm)
		}
		*at = n
	}
	r.Bounds = append(r.Bounds, b)
	return nil
}

// Bound is the bound of a cell: of the lines that fit the last.
func (r *Row) Bound(c *Cell) (b Bound, ok bool) {
	for _, one := range r.Bounds {
		if (one.Profile == "" || one.Profile == c.Profile) && fits(one.Kinds, one.Variant, c) {
			b, ok = one, true
		}
	}
	return b, ok
}

// ordersName ends the names of worlds without time; a number says how many
// masters they have instead, and -mN that only that one has replicas.
const ordersName = "/orders"

// tail is how the name of a world of this size ends.
func (b *Bound) tail() string {
	tail := ordersName[1:]
	if b.Masters > 0 {
		tail += strconv.Itoa(b.Masters)
	}
	if b.Only > 0 {
		tail += "-m" + strconv.Itoa(b.Only)
	}
	return tail
}

// sized reads the end of a name, behind ordersName.
func (b *Bound) sized(tail string) error {
	masters, only, one := strings.Cut(tail, "-m")
	b.Masters, b.Only = 0, 0
	var err error
	if masters != "" {
		b.Masters, err = strconv.Atoi(masters)
	}
	if one && err == nil {
		b.Only, err = strconv.Atoi(only)
	}
	return err
}

// Orders is the smallest world of a claim within a bound, for an exhaustive
// search: clients do what they do once. An error says why there is none.
func (r *Row) Orders(c *Cell, one claim, b Bound) (*sim.Scenario, error) {
	timed, err := r.Scenario(c, one)
	if err != nil {
		return nil, err
	}
	if one.check != "safety" && one.check != "fencing" {
		return nil, errors.New(one.of(c.Kind) + " is not looked for in every order")
	}
	if b.Why != "" {
		return nil, errors.New(b.Why)
	}
	var kinds []string
	for _, k := range timed.Faults.Kinds {
		if !slices.Contains(sim.UntimedFaults(), k.Kind) {
			return nil, errors.New(k.Kind + " needs times")
		}
		if k.Lo > int64(time.Millisecond) {
			return nil, errors.New("how long " + k.Kind + " lasts matters")
		}
		kinds = append(kinds, k.Kind)
	}
	words := options{}
	for _, o := range timed.World.Words {
		words.add(o.Name + "=" + o.Value)
	}
	words.add(strings.Fields(fmt.Sprintf("clients=%d rounds=1 hold=0s think=0s scales=off delay=1ms", b.Clients))...)
	words.add(strings.Fields(columnOf(c.Kind).fewer)...)
	if b.Masters > 0 {
		if timed.World.Masters <= b.Masters {
			return nil, errors.New("it has no more masters anyway")
		}
		words.add("masters=" + strconv.Itoa(b.Masters))
	}
	words.add(b.World...)
	if slices.Contains(words.list, "once=on") {
		words.remove("wait")
	}
	if b.Only > 0 {
		words.add("replicated=" + strconv.Itoa(b.Only))
	}
	s := *timed
	s.Steps, s.For = nil, 5*words.duration("ttl")/2
	s.World.Words = words.options()
	small, err := s.WithFaults(kinds)
	if err != nil {
		return nil, err
	}
	if small, err = small.Again(); err != nil {
		return nil, fmt.Errorf("cell %s: %w", c, err)
	}
	small.Name = timed.Name + "/" + b.tail()
	return small, nil
}

// worlds are those of a claim within a bound, see Orders: one, or one for each master.
func (r *Row) worlds(c *Cell, one claim, b Bound) (list []*sim.Scenario, err error) {
	first, err := r.Orders(c, one, b)
	if err != nil || !b.Each || first.World.Masters == 1 || first.World.Replicas == 0 {
		return []*sim.Scenario{first}, err
	}
	for b.Only = 1; b.Only <= first.World.Masters; b.Only++ {
		world, err := r.Orders(c, one, b)
		if err != nil {
			return nil, err
		}
		list = append(list, world)
	}
	return list, nil
}

// ahead runs every order of a cell's claims, so that it is known what that shows.
// Several may do so at the same time.
func (s *searcher) ahead(ctx context.Context, c *Cell) error {
	for _, one := range c.claims() {
		if one.verdict != check.Holds {
			continue
		}
		if _, err := s.orders(ctx, c, one); err != nil {
			return err
		}
	}
	return nil
}

// orders runs every order of a claim that is expected to hold within its row's
// bound, and looks for a twin that breaks in such a world. Where the other profile's
// lock is expected to break in the row, with its one master, it must break as well:
// else the bound is too small for what the row is about.
func (s *searcher) orders(ctx context.Context, c *Cell, one claim) (*Orders, error) {
	b, ok := s.row(c).Bound(c)
	if !ok {
		b.Why = "its row states no bound"
	}
	worlds, why := s.row(c).worlds(c, one, b)
	if why != nil {
		return &Orders{Why: why.Error()}, nil
	}
	o, err := s.exhaustAll(ctx, worlds, b)
	if err != nil || o.Why != "" || o.Violation != "" {
		return o, err
	}
	for _, twin := range s.twins(c, one.of(c.Kind)) {
		opposite := twin.cell.isOpposite(c) && worlds[0].World.Masters == 1
		if !opposite && (o.Twin != "" || nearness(c, twin.cell) < sameKind) {
			continue
		}
		worlds, why := s.row(twin.cell).worlds(twin.cell, twin.claim, b)
		if why != nil {
			continue
		}
		broken, err := s.exhaustAll(ctx, worlds, b)
		switch {
		case err != nil:
			return o, err
		case broken.Violation == "" && opposite:
			o.Why = "what breaks " + twin.cell.String() + " was not seen in such a bound"
			return o, nil
		case broken.Violation != "" && (opposite || o.Twin == ""):
			o.Twin = twin.cell.String()
		}
	}
	if o.Twin == "" {
		o.Why = "nothing was seen to break in such a bound"
	}
	return o, nil
}

// isOpposite reports whether a cell is that of the same lock, row and variant in the other profile.
func (c *Cell) isOpposite(other *Cell) bool {
	return c.Row == other.Row && c.Variant == other.Variant && c.Kind == other.Kind && c.Profile != other.Profile
}

// exhaustAll runs every order of some worlds, up to the first that violates or of which
// nothing can be said.
func (s *searcher) exhaustAll(ctx context.Context, worlds []*sim.Scenario, b Bound) (*Orders, error) {
	var sum Orders
	var names []string
	for _, world := range worlds {
		o, err := s.exhaust(ctx, world, b)
		if err != nil {
			return nil, err
		}
		names = append(names, o.World)
		o.Schedules, o.States = o.Schedules+sum.Schedules, o.States+sum.States
		if sum = *o; o.Violation != "" || o.Why != "" {
			return &sum, nil
		}
	}
	sum.World = strings.Join(names, ", ")
	return &sum, nil
}

// exhaust runs every order of a world. What was found is kept.
func (s *searcher) exhaust(ctx context.Context, world *sim.Scenario, b Bound) (*Orders, error) {
	// Rows may share worlds, and a twin's bound is that of what it is the twin of.
	bare := *world
	bare.Claim = ""
	name := fmt.Sprintf("%d %d %s", b.Faults, b.Random, bare.Text())
	found, err := s.ordered.Find(name, func() (*Orders, error) { return exhaust(ctx, world, b) })
	if found == nil {
		return nil, err
	}
	o := *found
	o.World = world.Name
	return &o, err
}

func exhaust(ctx context.Context, world *sim.Scenario, b Bound) (*Orders, error) {
	o := &Orders{World: world.Name}
	if len(world.Faults.Kinds) > 0 {
		o.Faults = b.Faults
	}
	w := &world.World
	o.Bound = check.Several(w.Clients, "client") + ", " + check.Several(w.Masters, "master")
	if w.Replicas > 0 {
		if w.Replicated > 0 {
			o.Bound += ", one of them"
		}
		o.Bound += " with " + check.Several(w.Replicas, "replica")
		if w.Lag.Hi > 0 {
			lag := " that lag up to "
			if w.Replicas == 1 {
				lag = " that lags up to "
			}
			o.Bound += lag + sim.DurationText(w.Lag.Hi)
		}
	}
	if w.Load.Hold.Hi > 0 {
		o.Bound += ", held for " + sim.DurationText(w.Load.Hold.Hi)
	}
	o.Bound += ", at most " + check.Several(o.Faults, "fault") + ", " + sim.DurationText(world.For)
	breaks := world.Expect[0].Verdict == check.Violated.String()
	if b.Random > 0 {
		o.Bound += ", at random"
		res, err := explore.Sample(ctx, explore.Problem{Scenario: world},
			explore.Sampling{Faults: o.Faults, Root: ordersRoot, Schedules: b.Random, Workers: 1})
		o.Random, o.Schedules, o.Violation = true, res.Schedules, res.Result.Reason
		return o, err
	}
	done, err := explore.Exhaust(ctx, explore.Problem{Scenario: world},
		explore.Bound{Faults: o.Faults, Schedules: orderSchedules, First: breaks})
	o.Complete, o.Schedules, o.States = done.Complete, done.Schedules+done.Walks, done.States
	var tooMany *explore.TooManyError
	if errors.As(err, &tooMany) {
		o.Why, err = tooMany.Error(), nil
	}
	if done.Hit != nil {
		o.Violation, o.Why = done.Result.Reason, ""
	}
	return o, err
}
