package matrix

import (
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
	World     string // its name: `locksim hunt WORLD --strategy exhaustive` does it again
	Bound     string // what was all run, in words
	Faults    int    // the bound, as --bound has it
	Complete  bool   // every schedule within the bound was run
	Schedules int
	States    int
	Violation string // what one of them violates, "" if none does
	Twin      string // the cell that was seen to break in the same bound
	Why       string // why nothing can be said, "" if something can
}

// Holds reports whether all orders were run, none violates, and the twin's do.
func (o *Orders) Holds() bool { return o.Complete && o.Violation == "" && o.Why == "" }

// The bound: as many clients and faults as there may be, and how many schedules
// are run before a world counts as too large.
const (
	orderClients   = 2
	orderFaults    = 1
	orderSchedules = 150_000
)

// sizes are how many masters a world may have instead of five; 0: as the row has it.
var sizes = []int{0, 3}

// ordersName ends the names of worlds without time; a number says how many
// masters they have instead.
const ordersName = "/orders"

func ordersTail(masters int) string {
	if masters == 0 {
		return ordersName[1:]
	}
	return ordersName[1:] + strconv.Itoa(masters)
}

// Orders is the smallest world of a claim, for an exhaustive search: two clients
// that do what they do once, and one fault at most. An error says why there is none.
func (r *Row) Orders(c *Cell, one claim, masters int) (*sim.Scenario, error) {
	timed, err := r.Scenario(c, one)
	if err != nil {
		return nil, err
	}
	if one.check != "safety" && one.check != "fencing" {
		return nil, errors.New(one.of(c.Kind) + " is not looked for in every order")
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
	words.add(strings.Fields(fmt.Sprintf("clients=%d rounds=1 hold=0s think=0s scales=off delay=1ms", orderClients))...)
	words.add(strings.Fields(fewer(c.Kind))...)
	if masters > 0 {
		if timed.World.Masters <= masters {
			return nil, errors.New("it has no more masters anyway")
		}
		words.add("masters=" + strconv.Itoa(masters))
	}
	s := *timed
	s.Steps, s.For = nil, 5*timed.World.Load.TTL/2
	s.World.Words = words.options()
	small, err := s.WithFaults(kinds)
	if err != nil {
		return nil, err
	}
	if small, err = small.Again(); err != nil {
		return nil, fmt.Errorf("cell %s: %w", c, err)
	}
	small.Name = timed.Name + "/" + ordersTail(masters)
	return small, nil
}

// fewer are the options of a kind's smallest world.
func fewer(kind string) string {
	switch kind {
	case "read", "write":
		return "readers=1"
	case "latch":
		return "count=2 rounds=2"
	case "multi", "redlock", "redlock-hash": // one attempt, as each asks every master
		return "once=on"
	}
	return ""
}

// orders runs every order of a claim that is expected to hold, in the largest
// world that can be, and looks for a twin that breaks in such a world.
func (s *searcher) orders(c *Cell, one claim) (*Orders, error) {
	o, masters, err := s.largest(c, one)
	if err != nil || o.Why != "" || o.Violation != "" {
		return o, err
	}
	judged := *o
	for _, twin := range s.twins(c, one.of(c.Kind)) {
		world, why := s.row(twin.cell).Orders(twin.cell, twin.claim, masters)
		if why != nil || nearness(c, twin.cell) < sameKind {
			continue
		}
		broken, err := s.exhaust(world)
		if err != nil || broken.Violation != "" {
			judged.Twin = twin.cell.String()
			return &judged, err
		}
	}
	judged.Why = "nothing was seen to break in such a bound"
	return &judged, nil
}

// largest runs every order in the largest world of a claim in which that can be
// done, and says how many masters that has (0: as the row has it).
func (s *searcher) largest(c *Cell, one claim) (o *Orders, masters int, err error) {
	for _, masters := range sizes {
		world, why := s.row(c).Orders(c, one, masters)
		if why != nil {
			if o == nil {
				o = &Orders{Why: why.Error()}
			}
			break
		}
		if o, err = s.exhaust(world); err != nil || o.Why == "" {
			return o, masters, err
		}
	}
	return o, 0, nil
}

// exhaust runs every order of a world. What was found is kept.
func (s *searcher) exhaust(world *sim.Scenario) (*Orders, error) {
	if known := s.ordered[world.Name]; known != nil {
		return known, nil
	}
	o := &Orders{World: world.Name}
	if len(world.Faults.Kinds) > 0 {
		o.Faults = orderFaults
	}
	w := &world.World
	o.Bound = several(w.Clients, "client") + ", " + several(w.Masters, "master")
	if w.Replicas > 0 {
		o.Bound += " with " + several(w.Replicas, "replica")
	}
	o.Bound += ", at most " + several(o.Faults, "fault")
	breaks := world.Expect[0].Verdict == check.Violated.String()
	done, err := explore.Exhaust(s.ctx, explore.Problem{Scenario: world},
		explore.Bound{Faults: o.Faults, Schedules: orderSchedules, First: breaks})
	o.Complete, o.Schedules, o.States = done.Complete, done.Schedules+done.Walks, done.States
	var tooMany *explore.TooManyError
	if errors.As(err, &tooMany) {
		o.Why, err = tooMany.Error(), nil
	}
	if done.Hit != nil {
		o.Violation, o.Why = done.Result.Reason, ""
	}
	s.ordered[world.Name] = o
	return o, err
}

func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
