package explore

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
)

var (
	worldsSeed  = flag.Uint64("worlds.seed", 1, "of the worlds of TestReducedSearchOfRandomWorlds")
	worldsCount = flag.Int("worlds.count", 60, "how many worlds it compares")
	worldsWalks = flag.Int("worlds.walks", 1000, "how many orders are run at random in a world too large for all")
	worldsSize  = flag.Int("worlds.size", 1500, "how many schedules a world may have in which no order is left out")
	worldsLarge = flag.Bool("worlds.large", false, "also search worlds for which that takes half a minute")
)

// What the reduction leaves out leads to nothing new in worlds that nobody has
// chosen: to no other end, and to the violation of no other promise.
func TestReducedSearchOfRandomWorlds(t *testing.T) {
	for i, left := uint64(0), *worldsCount; left > 0; i++ {
		w := drawWorld(rand.New(rand.NewPCG(*worldsSeed, i)))
		var tooMany *TooManyError
		seen, err := w.ends(t, *worldsSize/10, false)
		if errors.As(err, &tooMany) {
			continue
		}
		require.NoError(t, err, w.text())
		all, err := w.ends(t, *worldsSize, true)
		if errors.As(err, &tooMany) {
			continue
		}
		require.NoError(t, err, w.text())
		w.name = fmt.Sprintf("world %d of seed %d", i, *worldsSeed)
		w.compare(t, seen, all)
		left--
	}
}

// In these something was missed once, or would be by a reduction that looks at less.
func TestReducedSearchOfWorldsThatWereDrawn(t *testing.T) {
	for _, w := range []drawnWorld{
		{tinyWorld{"passed by who asked later", "clients=2 lock=permits renew=off once=on permits=1", "partition", 1},
			[]string{"order"}},
		{tinyWorld{"passed while the server stood still", "clients=2 lock=simple once=on", "freeze", 1}, []string{"order"}},
		{tinyWorld{"how long a latch lasts", "clients=2 lock=latch renew=off count=2 waiters=0", "jump", 1}, nil},
		{tinyWorld{"the end of who waits for no answer that counts",
			"clients=1 replicas=1 sync=off lock=rw readers=0 downgrade=on renew=off", "crash", 1}, []string{"linear"}},
		{tinyWorld{"an answer to a question that was answered before",
			"clients=1 lock=fenced renew=off once=on hold=500ms reenter=1", "duplicate amnesia lost-reply", 1},
			[]string{"linear"}},
		{tinyWorld{"the end of a connection", "clients=1 lock=simple renew=off wait=1ms", "freeze crash", 2}, nil},
		{tinyWorld{"a waiter gives up as the lock becomes free",
			"clients=2 lock=mutex renew=off hold=500ms wait=500ms", "", 0}, nil},
	} {
		w.world = small(w.world)
		seen, err := w.ends(t, 100_000, false)
		require.NoError(t, err, w.name)
		all, err := w.ends(t, 100_000, true)
		require.NoError(t, err, w.name)
		w.compare(t, seen, all)
	}
}

// small is the world with what makes it so, where it does not say otherwise.
func small(world string) string {
	if !strings.Contains(world, "hold=") {
		world = "hold=0s " + world
	}
	return "rounds=1 ttl=1s " + world
}

// Orders at random come to nothing that a search does not come to, in worlds that are too
// large to be searched without leaving out any.
func TestRandomOrdersComeToWhatAReducedSearchSees(t *testing.T) {
	const one, two = "replicas=2 renew=off clients=1 ", "replicas=2 renew=off clients=2 "
	worlds := []drawnWorld{
		{tinyWorld{"of two replicas one takes over", one + "once=on lock=simple", "failover", 1}, []string{"order"}},
		{tinyWorld{"one that was asked takes over", one + "once=on lock=mutex sync=on", "failover", 1}, nil},
		{tinyWorld{"one takes over from a master that lives", one + "once=on lock=simple", "split", 1}, nil},
		{tinyWorld{"one of two stands still", one + "once=on lock=spin sync=on", "freeze", 1}, nil},
	}
	if *worldsLarge {
		worlds = append(worlds, []drawnWorld{
			{tinyWorld{"one that may lag", one + "lock=latch count=1 waiters=0 sync=on lag=0s..2s", "failover", 1}, nil},
			{tinyWorld{"two clients", two + "lock=latch count=2 waiters=0", "failover", 1}, nil},
			{tinyWorld{"a group of three and a master", one + "once=on masters=2 replicated=1 lock=multi", "failover", 1}, nil},
			{tinyWorld{"Redisson's", one + "once=on masters=2 replicated=2 lock=multi profile=redisson", "failover", 1}, nil},
		}...)
	}
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			w.world = small(w.world)
			seen, err := w.ends(t, 1_000_000, false)
			require.NoError(t, err)
			found := w.walk(t, *worldsWalks)
			missed := without(found, seen)
			t.Logf("%d ends, at random %d of them", len(seen), len(found))
			require.Empty(t, missed, w.text())
		})
	}
}

// walk runs orders at random, in none of which anything is left out, and collects what
// ends does.
func (w drawnWorld) walk(t *testing.T, orders int) (found map[string]string) {
	t.Helper()
	world, err := newUntimed(problem(t, w.text()), w.faults, sim.NewLua())
	require.NoError(t, err)
	length, err := world.length()
	require.NoError(t, err)
	found = map[string]string{}
	for i := range orders {
		u, err := world.world(true)
		require.NoError(t, err)
		c := newChooser(uint64(i), i%depths, length, w.faults)
		var words []string
		for {
			a, more := c.choose(u.Actions(), len(words))
			if !more {
				break
			}
			words = append(words, a.Text(u.Names()))
			u.Do(a)
		}
		require.NoError(t, u.Err())
		order := strings.Join(words, " ")
		for _, r := range u.Results() {
			if r.Verdict == check.Violated {
				found[r.Check+" violated"] = order
			}
		}
		found[fmt.Sprintf("%016x", u.Outcome())] = order
		u.Close()
	}
	return found
}

// compare fails if what was seen is not all.
func (w drawnWorld) compare(t *testing.T, seen, all map[string]string) {
	t.Helper()
	if missed, invented := without(all, seen), without(seen, all); missed+invented != "" {
		t.Errorf("%s, at most %d faults:\n%s\nmissed:\n%s\ninvented:\n%s", w.name, w.faults, w.text(), missed, invented)
	}
}

// drawnWorld is a world with checks beside those that need no more orders.
type drawnWorld struct {
	tinyWorld
	checks []string
}

// without are those of a that are not in b, and how each came about.
func without(a, b map[string]string) string {
	var list []string
	for what, order := range a {
		if b[what] == "" {
			list = append(list, what+" by "+order)
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// text is the world as a scenario.
func (w drawnWorld) text() string {
	text := "world " + w.world + "\nexpect"
	always := []string{"exclusion", "capacity", "gate", "fencing", "kept", "theft", "progress", "liveness"}
	for _, name := range append(always, w.checks...) {
		text += " " + name + "=holds"
	}
	if w.kinds != "" {
		text += "\nfaults " + w.kinds
	}
	return text + "\nrun for=4s\n"
}

// ends runs every schedule: what they come to and what is violated on the way, with
// the first order of each. A violation is no end.
func (w drawnWorld) ends(t *testing.T, schedules int, plain bool) (found map[string]string, err error) {
	t.Helper()
	return endsOf(t, problem(t, w.text()), Bound{Faults: w.faults, Schedules: schedules},
		func(e *exhaustive) { e.plain = plain })
}

func endsOf(t *testing.T, p Problem, b Bound, set func(*exhaustive)) (found map[string]string, err error) {
	t.Helper()
	e, err := newExhaustive(p, b)
	require.NoError(t, err, p.Scenario.Text())
	set(e)
	e.checks = nil
	found = map[string]string{}
	find := func(u *sim.Untimed, what string) {
		if found[what] == "" {
			found[what] = e.order(u)
		}
	}
	e.look = func(u *sim.Untimed) {
		for _, r := range u.Results() {
			if r.Verdict == check.Violated {
				find(u, r.Check+" violated")
			}
		}
	}
	e.final = func(u *sim.Untimed) { find(u, fmt.Sprintf("%016x", u.Outcome())) }
	for more := true; more && err == nil; {
		more, err = e.schedule()
	}
	return found, err
}

// order is what has happened.
func (e *exhaustive) order(u *sim.Untimed) string {
	var words []string
	for _, c := range e.path {
		words = append(words, c.left[0].Text(u.Names()))
	}
	return strings.Join(words, " ")
}

// draw is a world that is being drawn.
type draw struct {
	*rand.Rand
	words []string
}

func (d *draw) pick(of ...string) string { return of[d.IntN(len(of))] }

// in is true once in n times.
func (d *draw) in(n int) bool { return d.IntN(n) == 0 }

func (d *draw) say(of ...string) { d.words = append(d.words, d.pick(of...)) }

// drawWorld draws a world with one or two clients.
func drawWorld(r *rand.Rand) drawnWorld {
	d := &draw{Rand: r}
	kind := d.pick("mutex", "mutex", "simple", "simple", "fenced", "fair", "nonreentrant", "nonreentrant-fair", "spin",
		"rw", "semaphore", "permits", "latch", "redlock", "redlock", "redlock-hash", "redlock-hash", "multi")
	rounds, hold := "rounds=1", "hold=0s"
	switch {
	case d.in(6) && kind != "latch":
		rounds = "rounds=2"
	case d.in(8):
		hold = "hold=500ms"
	}
	d.words = []string{"lock=" + kind, rounds, hold, "ttl=1s"}
	d.say("clients=1", "clients=2")
	replicas := d.servers(kind)
	if !d.in(5) {
		d.say("renew=off")
	}
	switch d.IntN(4) {
	case 0:
		d.say("wait=1ms")
	case 1, 2:
		d.say("once=on")
	}
	d.kindOf(kind)
	w := drawnWorld{tinyWorld: tinyWorld{world: strings.Join(d.words, " ")}}
	if d.in(3) {
		w.checks = []string{d.pick("order", "lease", "linear")} // whose world has more orders
	}
	w.kinds, w.faults = d.faults(replicas)
	return w
}

// servers draws how many servers there are.
func (d *draw) servers(kind string) (replicas bool) {
	switch {
	case kind == "redlock" || kind == "redlock-hash":
		d.say("masters=1", "masters=2", "masters=2", "masters=3")
		return false
	case kind == "multi":
		d.say("masters=1", "masters=2", "masters=2 replicas=1 replicated=1", "masters=2 replicas=1 replicated=2")
	case d.in(3):
		d.say("replicas=1", "replicas=1", "replicas=2")
	}
	if !strings.Contains(d.words[len(d.words)-1], "replicas") {
		return false
	}
	d.say("sync=on", "sync=off")
	if d.in(3) {
		d.say("lag=0s..2s")
	}
	return true
}

// kindOf draws what only some kinds of lock have.
func (d *draw) kindOf(kind string) {
	switch kind {
	case "rw":
		readers := d.pick("readers=0", "readers=1", "readers=2")
		if slices.Contains(d.words, "clients=1") {
			readers = min(readers, "readers=1")
		}
		d.words = append(d.words, readers)
		if d.in(3) {
			d.say("downgrade=on")
		}
	case "latch": // a wait for it has no limit
		d.words = slices.DeleteFunc(d.words, func(word string) bool { return word == "once=on" || word == "wait=1ms" })
		d.say("count=1", "count=2")
		d.say("waiters=0", "waiters=1")
	case "semaphore", "permits":
		d.say("permits=1", "permits=2")
	case "mutex", "fair", "fenced", "redlock", "multi":
		switch {
		case d.in(4):
			d.say("profile=redisson")
		case d.in(8) && kind != "redlock" && kind != "multi":
			d.say("reenter=1")
		}
	}
}

// faults draws kinds of fault, and how many may strike.
func (d *draw) faults(replicas bool) (kinds string, budget int) {
	all := slices.DeleteFunc(sim.UntimedFaults(), func(kind string) bool {
		return !replicas && (kind == "failover" || kind == "split")
	})
	if d.in(5) {
		return "", 0
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	budget = 1
	if d.in(6) {
		budget = 2
	}
	return strings.Join(all[:1+d.IntN(4)], " "), budget
}
