package explore

import (
	"cmp"
	"context"
	"slices"

	"minikv/sim"
)

// walkCount is how many schedules are run at random where one violation is enough, and
// walkActions with how many actions in all no further one is: so long are they only in
// worlds with too many schedules for a search.
const (
	walkCount   = 5000
	walkActions = 1_000_000
)

// walks runs schedules at random until one violates. They are the same each time.
func (e *exhaustive) walks(ctx context.Context) error {
	defer func() { e.path = nil }()
	for i := range uint64(min(walkCount, e.b.Schedules)) {
		if err := ctx.Err(); err != nil || e.done.Actions > walkActions {
			return err
		}
		if err := e.walk(i); err != nil || e.done.Hit != nil {
			return err
		}
		if e.b.Progress != nil {
			e.b.Progress(e.done)
		}
	}
	return nil
}

// walk runs one schedule at random, as far as a schedule may go.
func (e *exhaustive) walk(seed uint64) error {
	u, err := sim.NewUntimed(e.p.Scenario, sim.UntimedOptions{Faults: e.kinds, Budget: e.b.Faults,
		Options: sim.Options{Seed: e.p.Scenario.Seed, Lua: e.lua, Own: e.p.Own}})
	if err != nil {
		return err
	}
	defer u.Close()
	e.path = nil
	for n := uint64(0); n < longest && e.violation(u) == nil; n++ {
		a, ok := draw(u.Actions(), mix(mix(seed)+n), seed)
		if !ok {
			break
		}
		e.path = append(e.path, choice{left: []sim.Action{a}})
		u.Do(a)
	}
	e.done.Walks++
	e.done.Actions += len(e.path)
	e.done.Deepest = max(e.done.Deepest, len(e.path))
	e.judge(u)
	return u.Err()
}

// draw chooses one of the actions: a fault rarely, how rarely depends on the
// walk. Every other walk has actions that it prefers wherever they are possible,
// so that in some a client begins only after all timers of another, for instance.
func draw(actions []sim.Action, random, walk uint64) (a sim.Action, ok bool) {
	var faults, others []sim.Action
	for _, a := range actions {
		if a.Fault() {
			faults = append(faults, a)
		} else {
			others = append(others, a)
		}
	}
	if len(faults) > 0 && (len(others) == 0 || random>>32%(4<<(walk%4)) == 0) {
		return faults[random%(1<<32)%uint64(len(faults))], true
	}
	if len(others) == 0 {
		return a, false
	}
	if walk/4%2 == 0 {
		return others[random%(1<<32)%uint64(len(others))], true
	}
	preference := func(a sim.Action) uint64 {
		return mix(mix(walk) ^ uint64(a.Verb)<<32 ^ uint64(a.From)<<16 ^ uint64(a.To))
	}
	return slices.MaxFunc(others, func(a, b sim.Action) int { return cmp.Compare(preference(a), preference(b)) }), true
}
