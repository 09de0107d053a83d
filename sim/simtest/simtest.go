package simtest

import (
	"cmp"
	"context"
	"os"
	"strings"
	"testing"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// Test is a scenario, and the lock that is tested in it.
type Test struct {
	Scenario string  // text of a scenario file; it needs an expect line, and Own.Check is the check called own
	Own      sim.Own // the lock under test, for lock=own
	Seeds    int     // how many seeds to try; 0: 1,000
	Root     uint64  // which seeds: see explore.Seed; 0: 1
	Workers  int     // runs at a time; 0: one for each core
}

// replayVariable names the file that a test runs instead of looking for one.
const replayVariable = "SIMTEST_REPLAY"

// Run runs the scenario with many seeds. It fails the test if
//
//   - a check that the scenario expects to hold is violated with one of the seeds,
//   - such a check has a verdict with none of them, or
//   - a check that the scenario expects to be violated never is.
//
// A violation is told as its shortest story, with the reason and a page that shows it;
// the story is also written to a file for SIMTEST_REPLAY. Run also fails for the code
// that the package comment lists. It logs which kinds of the faults line did nothing with
// any seed. If SIMTEST_REPLAY names a file, Run runs only that story.
func Run(t testing.TB, test Test) {
	t.Helper()
	if file := os.Getenv(replayVariable); file != "" {
		replay(t, file, &test.Own)
		return
	}
	switch {
	case test.Seeds < 0 || test.Seeds > explore.SeedsOfRoot:
		t.Fatalf("simtest: Seeds: %d: expected 1 to %d, or 0 for 1,000", test.Seeds, explore.SeedsOfRoot)
	case test.Root > explore.MaxRoot:
		t.Fatalf("simtest: Root: %d: expected at most %d", test.Root, uint64(explore.MaxRoot))
	}
	s, err := sim.ParseScenario(t.Name()+".scenario", test.Scenario)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	if len(s.Expect) == 0 {
		t.Fatalf("simtest: %s has no expect line: nothing is checked", s.Name)
	}
	if test.Seeds == 0 {
		test.Seeds = 1000
	}
	test.Root = max(1, test.Root)
	s.Seed = explore.Seed(test.Root, 0)
	grants, waits := 0, 0
	for i := range min(watched, 1+test.Seeds/watched) {
		grants += alone(t, s, explore.Seed(test.Root, i), &test.Own, &waits)
	}
	if grants == 0 && test.Own.Lock != nil && test.Own.Run == nil {
		inVain(t, s, &test.Own)
	}
	var hold, rest []string
	for _, e := range s.Expect {
		if e.Verdict == check.Holds.String() {
			hold = append(hold, e.Check)
		} else {
			rest = append(rest, e.Check)
		}
	}
	if len(hold) > 0 {
		look(t, s, test, hold, check.Holds)
	}
	for _, name := range rest {
		look(t, s, test, []string{name}, check.Violated)
	}
}

// look searches for a violation of the checks, all of which are expected to have a
// verdict. Where several are expected to hold and some do not, each is looked for by
// itself, so that each is told of.
func look(t testing.TB, s *sim.Scenario, test Test, checks []string, expected check.Verdict) {
	t.Helper()
	ctx, own := context.Background(), test.Own
	p := explore.Problem{Scenario: s, Checks: checks, Own: &own}
	var res explore.Result
	guarded(t, &own, func() (err error) {
		res, err = explore.Search(ctx, p, explore.Options{Root: test.Root, Seeds: test.Seeds, Hits: 3, Workers: test.Workers})
		return err
	})
	found := len(res.Hits) > 0
	if idle := s.Faults.Besides(res.Struck); len(idle) > 0 && !found {
		t.Logf("simtest: %s never struck: with none of %d seeds did such a fault do anything", strings.Join(idle, ", "),
			res.Tried)
	}
	switch {
	case expected == check.Violated && !found:
		t.Errorf("simtest: %s was expected to be violated, and was not with %d seeds", checks[0], res.Tried)
		return
	case expected == check.Holds && found && len(checks) > 1:
		for _, name := range checks {
			look(t, s, test, []string{name}, expected)
		}
		return
	case expected == check.Holds && found:
		tell(t, p, res)
		return
	}
	for _, u := range res.Unjudged {
		if u.Runs < res.Tried {
			t.Logf("simtest: %s was put to the test with %d of %d seeds", u.Check, res.Tried-u.Runs, res.Tried)
			continue
		}
		t.Errorf("simtest: %s was not put to the test with any of %d seeds: %s", u.Check, res.Tried,
			cmp.Or(u.Reason, "its verdict is unknown"))
	}
}
