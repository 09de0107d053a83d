package simtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"minikv/internal/trace"
	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// Test is a scenario, and the lock that is tried in it.
type Test struct {
	Scenario string // its text; the check that a test brings is called own
	Own      sim.Own
	Seeds    int    // how many to try; 0: 1,000
	Root     uint64 // whose seeds; 0: 1
	Workers  int    // 0: one for each core
}

// replayVariable names the file that a test runs instead of looking for one.
const replayVariable = "SIMTEST_REPLAY"

// Run fails the test if a check that the scenario expects to hold is violated
// with one of the seeds, or if one that it expects to be violated never is.
func Run(t testing.TB, test Test) {
	t.Helper()
	if file := os.Getenv(replayVariable); file != "" {
		replay(t, file, &test.Own)
		return
	}
	s, err := sim.ParseScenario(t.Name()+".scenario", unindented(test.Scenario))
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	s.Seed = explore.Seed(max(1, test.Root), 0)
	alone(t, s, &test.Own)
	for _, e := range s.Expect {
		look(t, s, test, e)
	}
}

// unindented is the text without the white space before its lines.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(strings.TrimSpace(text), "")
}

// look searches for a violation of one check.
func look(t testing.TB, s *sim.Scenario, test Test, e sim.Expectation) {
	t.Helper()
	seeds := test.Seeds
	if seeds == 0 {
		seeds = 1000
	}
	p := explore.Problem{Scenario: s, Checks: []string{e.Check}, Own: &test.Own}
	res, err := explore.Search(context.Background(), p, explore.Options{Root: max(1, test.Root), Seeds: seeds, Hits: 3,
		Workers: test.Workers})
	switch {
	case err != nil:
		t.Fatalf("simtest: %v", err)
	case e.Verdict == check.Violated.String() && len(res.Hits) == 0:
		t.Errorf("simtest: %s was expected to be violated, and was not with %d seeds", e.Check, res.Tried)
	case e.Verdict == check.Holds.String() && len(res.Hits) > 0:
		tell(t, res, &test.Own)
	}
}

// tell fails the test with the shortest story of the hits.
func tell(t testing.TB, res explore.Result, own *sim.Own) {
	t.Helper()
	ctx := context.Background()
	short, err := explore.Shrink(ctx, res.Hits)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	short.Story.Claim = fmt.Sprintf("%s is violated: %s.", short.Result.Check, short.Result.Reason)
	text, err := explore.File(ctx, short.Story, own)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	hit, needs := res.Hits[0], "no fault"
	if len(short.Kinds) > 0 {
		needs = strings.Join(short.Kinds, ", ")
	}
	t.Errorf("simtest: %s is violated with seed %d, after %d seeds; it needs: %s.\nThe shortest story:\n%s"+
		"replay: %s", hit.Violated[0].Check, hit.Seed, res.Tried, needs, text, keep(t, text))
}

// keep writes the story to a file, and returns the command that replays it.
func keep(t testing.TB, text string) string {
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()) + ".scenario"
	file := filepath.Join(os.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Sprintf("write the story to a file and set %s to its name (%v)", replayVariable, err)
	}
	return fmt.Sprintf("%s=%s go test -run '^%s$'", replayVariable, file, strings.ReplaceAll(t.Name(), "/", "$/^"))
}

// replay runs one story.
func replay(t testing.TB, file string, own *sim.Own) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	s, err := sim.ParseScenario(file, string(text))
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	r, err := s.Run(context.Background(), sim.Options{Seed: s.Seed, Own: own})
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	if want, ok := explore.RecordedHash(string(text)); ok && want != r.Hash {
		t.Logf("simtest: this is not the run that was recorded: hash %016x, not %016x", uint64(r.Hash), uint64(want))
	}
	for _, result := range r.Results {
		if result.Verdict == check.Violated {
			t.Errorf("simtest: %s is violated: %s", result.Check, result.Reason)
		}
	}
}

// patience is how long one run may take in real time.
var patience = 10 * time.Second

// alone runs one seed by itself and watches what client code must not do.
func alone(t testing.TB, s *sim.Scenario, own *sim.Own) {
	t.Helper()
	before := goroutines()
	done, strays := make(chan error, 1), make(chan string, 1)
	opt := sim.Options{Seed: s.Seed, Own: own, Stray: func(_, stack string) {
		select {
		case strays <- stack:
		default: // one is enough
		}
	}}
	var report *sim.Report
	go func() {
		err := errExited
		defer func() { done <- err }()
		report, err = s.Run(context.Background(), opt)
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("simtest: %v", err)
		}
	case stack := <-strays:
		hasStarted(t, stack)
	case <-time.After(patience):
		t.Fatalf("simtest: client code blocks: it must wait through its Runtime and Transports.\n%s", blocked(before))
	}
	for range 100 {
		if len(started(before)) == 0 {
			break
		}
		time.Sleep(time.Millisecond) // one that was about to end
	}
	if list := started(before); len(list) > 0 {
		hasStarted(t, strings.Join(list, "\n\n"))
	}
	select {
	case stack := <-strays:
		hasStarted(t, stack)
	default:
	}
	if report.Grants == 0 && own.Lock != nil {
		inVain(t, s, own)
	}
}

var errExited = errors.New("client code ended the goroutine of the run (runtime.Goexit), as t.FailNow and " +
	"package require do: it has to return errors instead")

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
	r, err := calm.Run(context.Background(), sim.Options{Seed: s.Seed, Own: own, Details: true,
		Observe: func(e *trace.Event, _ []string) {
			if e.Kind == trace.Refused {
				failure = "its last error: " + e.Text
			}
		}})
	if err == nil && r.Grants == 0 {
		t.Fatalf("simtest: nobody ever got the lock, even without faults, so what is expected was not put to the test; %s",
			failure)
	}
}

// goroutines are the stacks of all goroutines, by their numbers.
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	all := map[string]string{}
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		number, _, _ := strings.Cut(stack, " [")
		all[number] = stack
	}
	return all
}

// started are the stacks of goroutines that were not there before, but for
// those of the tests themselves.
func started(before map[string]string) (stacks []string) {
	for number, stack := range goroutines() {
		_, old := before[number]
		if !old && !strings.Contains(stack, "created by testing.") && !strings.Contains(stack, "simtest.goroutines") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// blocked is the stack of the coroutine that does not go on.
func blocked(before map[string]string) string {
	for _, stack := range started(before) {
		if strings.Contains(stack, "sim.(*process).guard") && !strings.Contains(stack, "[coroutine") {
			return stack
		}
	}
	return "(no coroutine of a client was found)"
}
