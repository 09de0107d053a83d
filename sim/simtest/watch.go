package simtest

import (
	"context"
	"fmt"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
	"minikv/trace"
)

// patience is for how long client code may keep a run from going on, in real time: many
// times as long while it is seen to compute, which on a busy machine takes a while.
var patience = 10 * time.Second

const computing = 6 // times patience

// watched is how many seeds are watched for what client code must not do, where
// there are many.
const watched = 20

// guard watches client code. Goroutines that it starts have its label, as whatever
// they start has: those of tests beside do not.
type guard struct {
	label string
	alive atomic.Bool // a run has gone on
	waits *int        // how often client code was seen to wait for real; nil: nobody looks
}

// guards is how many there were.
var guards atomic.Int64

func newGuard(own *sim.Own) *guard {
	g := &guard{label: strconv.FormatInt(guards.Add(1), 10)}
	own.Alive = func() { g.alive.Store(true) }
	return g
}

// call calls do, which runs the client code, and fails the test when that blocks, or
// when strays has the stack of a goroutine that it has started. An end of do's
// goroutine is an error.
func (g *guard) call(t testing.TB, strays <-chan string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { // which is in its stack, by which started knows it, to the end
		pprof.Do(context.Background(), pprof.Labels("simtest", g.label), func(context.Context) {
			err := explore.ErrExited
			returned := false
			defer func() {
				if !returned {
					err = exited(string(debug.Stack())) // which is there until the goroutine has ended
				}
				done <- err
			}()
			err = do()
			returned = true
		})
	}()
	late, look := time.NewTicker(patience), time.NewTimer(glance)
	defer late.Stop()
	defer look.Stop()
	for silent := 0; ; {
		select {
		case err := <-done:
			return err
		case stack := <-strays:
			hasStarted(t, stack)
		case <-look.C:
			look.Reset(g.glance(t))
		case <-late.C:
			if g.alive.Swap(false) {
				silent = 0
				continue
			}
			silent++
			stack := g.blocked()
			if moves := g.moves(stack); stack != "" && (silent > computing || !moves) {
				does := "blocks"
				if moves || g.runs() {
					does = "goes on computing and never waits"
				}
				t.Fatalf("simtest: %s", told(does, stack))
			}
		}
	}
}

// guarded calls do, which runs the client code, and fails the test with its error.
func guarded(t testing.TB, own *sim.Own, do func() error) {
	t.Helper()
	if err := newGuard(own).call(t, nil, do); err != nil {
		t.Fatalf("simtest: %v", err)
	}
}

// glance is after which real time it is looked whether client code really waits, and
// from then on each time; seen is how often it may.
const (
	glance = 10 * time.Millisecond
	seen   = 5
)

// glance looks whether client code waits for real, and fails the test when it was seen
// to often enough. It returns when to look again.
func (g *guard) glance(t testing.TB) time.Duration {
	t.Helper()
	if g.waits == nil {
		return time.Hour
	}
	began := time.Now()
	if stack := g.waiting(); stack != "" {
		if *g.waits++; *g.waits >= seen {
			t.Fatalf("simtest: %s", told("waits in real time", stack))
		}
	}
	return max(glance, 10*time.Since(began)) // many goroutines take a while to look at
}

// exited says whose code has ended the goroutine of a run, by its stack.
func exited(stack string) error {
	who := ofCheck(stack)
	if who == "" {
		return explore.ErrExited
	}
	return fmt.Errorf("%s ended its goroutine (runtime.Goexit), as t.FailNow and package require do\n%s", who, stack)
}

// ofCheck names the part of a test's own check that a stack is of; "" if it is of none.
func ofCheck(stack string) string {
	switch {
	case !strings.Contains(stack, "sim.(*ownCheck).guard"):
		return ""
	case strings.Contains(stack, "sim.(*ownCheck).Observe"):
		return "the Checker of Own.Check, in Observe,"
	case strings.Contains(stack, "sim.(*ownCheck).Result"):
		return "the Checker of Own.Check, in Result,"
	}
	return "Own.Check"
}

// told says whose code does what it must not, and what it has to do instead.
func told(does, stack string) string {
	if who := ofCheck(stack); who != "" {
		return who + " " + does + ": it must return at once.\n" + stack
	}
	return "client code " + does + ": it must wait through its Runtime and Transports.\n" + stack
}

// runs reports whether the client code computes.
func (g *guard) runs() bool {
	_, state := g.state()
	return strings.HasPrefix(state, "run") // running or runnable
}

// reallyWaits are the states of goroutines that wait for what no busy machine delays.
var reallyWaits = regexp.MustCompile(`^(sleep|chan receive|chan send|select)(,| |$)`)

// waiting is the stack of the client code if that waits for real, "" if not.
func (g *guard) waiting() string {
	if stack, state := g.state(); reallyWaits.MatchString(state) {
		return stack
	}
	return ""
}

// state is the stack of the client code, and what its goroutine does, such as "running" or
// "chan receive, 2 minutes"; "" if it is seen elsewhere by then.
func (g *guard) state() (stack, state string) {
	stack = g.blocked()
	top, _, _ := strings.Cut(stack, "+0x")
	if top == "" {
		return stack, ""
	}
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	for one := range strings.SplitSeq(all.String(), "\n\n") {
		head, frames, _ := strings.Cut(one, "\n")
		_, state, _ = strings.Cut(head, "[")
		state, _, _ = strings.Cut(state, "]")
		if strings.HasPrefix(frames, top+"(") && isClient(frames) {
			return stack, state
		}
	}
	return stack, ""
}

// alone runs one seed by itself, twice, and watches what client code must not do: waits
// is how often it was seen to wait so far. It returns how often somebody got the lock.
func alone(t testing.TB, s *sim.Scenario, seed uint64, own *sim.Own, waits *int) (grants int) {
	t.Helper()
	strays := make(chan string, 1)
	opt := sim.Options{Seed: seed, Own: own, Stray: func(_, stack string) {
		select {
		case strays <- stack:
		default: // one is enough
		}
	}}
	var hashes []trace.Hash
	run := func() error {
		r, err := s.Run(context.Background(), opt)
		if err == nil {
			grants, hashes = r.Grants, append(hashes, r.Hash)
		}
		return err
	}
	g := newGuard(own)
	g.waits = waits
	if err := g.call(t, strays, run); err != nil {
		t.Fatalf("simtest: with seed %d: %v", seed, err)
	}
	for range 100 {
		if g.started() == "" {
			break
		}
		time.Sleep(time.Millisecond) // one that was about to end
	}
	if stacks := g.started(); stacks != "" {
		hasStarted(t, stacks)
	}
	select {
	case stack := <-strays:
		hasStarted(t, stack)
	default:
	}
	opt.Stray = nil
	err := g.call(t, nil, run)
	if err == nil && hashes[0] != hashes[1] {
		err = differs(seed)
	}
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	return grants
}

// differs says that a run is not the same when it is run again.
func differs(seed uint64) error {
	return fmt.Errorf("two runs with seed %d are not the same: client code lets something in from outside of the "+
		"simulation, such as time.Now, math/rand, the order of a map, or what an earlier run has left in a variable", seed)
}

func hasStarted(t testing.TB, stacks string) {
	t.Helper()
	t.Fatalf("simtest: client code has started a goroutine: use its Runtime's Go.\n%s", stacks)
}

// inVain fails the test if nobody ever gets the lock, even where no faults are
// drawn: then every promise but progress holds for want of a holder.
func inVain(t testing.TB, s *sim.Scenario, own *sim.Own) {
	t.Helper()
	for _, e := range s.Expect {
		if e.Check == "progress" || e.Verdict != check.Holds.String() {
			return
		}
	}
	calm, failure := *s, "it never returned"
	calm.Faults = sim.Faults{}
	opt := sim.Options{Seed: s.Seed, Own: own, Details: true, Observe: func(e *trace.Event, _ []string) {
		if e.Kind == trace.Refused {
			failure = "its last error: " + e.Text
		}
	}}
	grants := 0
	err := newGuard(own).call(t, nil, func() error {
		r, err := calm.Run(context.Background(), opt)
		if err == nil {
			grants = r.Grants
		}
		return err
	})
	if err == nil && grants == 0 {
		t.Fatalf("simtest: nobody ever got the lock, even without faults, so what is expected was not put to the test; %s",
			failure)
	}
}

// stacks are those of the goroutines that the guarded code runs in, and has started.
func (g *guard) stacks() (list [][]string) {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		_, frames, _ := strings.Cut(stack, "\n# labels: ")
		labels, frames, _ := strings.Cut(frames, "\n")
		if !strings.Contains(labels, fmt.Sprintf("%q:%q", "simtest", g.label)) { // code may have labels of its own
			continue
		}
		var lines []string
		for frame := range strings.Lines(frames) {
			if words := strings.Fields(frame); len(words) == 4 { // of which the first are no use
				lines = append(lines, words[2]+"\n\t"+words[3])
			}
		}
		list = append(list, lines)
	}
	return list
}

// started are the stacks of goroutines that client code has started and that have
// not ended: no coroutines, which a test may have left where they are.
func (g *guard) started() string {
	var texts []string
	for _, stack := range g.stacks() {
		text := strings.Join(stack, "\n")
		if !strings.Contains(text, "runtime.corostart") && !strings.Contains(text, "simtest.(*guard).call") {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// moves reports whether the code that had a stack is seen elsewhere soon.
func (g *guard) moves(stack string) bool {
	const looks = 50
	for range looks {
		time.Sleep(patience / (10 * looks))
		if g.blocked() != stack {
			return true
		}
	}
	return false
}

// isClient reports whether a stack is of client code, or of a test's own check.
func isClient(stack string) bool {
	return strings.Contains(stack, "sim.(*process).guard") || strings.Contains(stack, "sim.(*ownCheck).guard")
}

// blocked is the stack of the coroutine that does not go on; "" if none was found.
func (g *guard) blocked() string {
	for _, stack := range g.stacks() {
		text := strings.Join(stack, "\n")
		if isClient(text) && !strings.HasPrefix(text, "iter.Pull") {
			return text
		}
	}
	return ""
}
