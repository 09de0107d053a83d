package simtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
// with one of the seeds, or has a verdict with none of them, or if one that it
// expects to be violated never is.
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
	if grants == 0 && test.Own.Lock != nil {
		inVain(t, s, &test.Own)
	}
	for _, e := range s.Expect {
		look(t, s, test, e)
	}
}

// look searches for a violation of one check.
func look(t testing.TB, s *sim.Scenario, test Test, e sim.Expectation) {
	t.Helper()
	ctx, own := context.Background(), test.Own
	p := explore.Problem{Scenario: s, Checks: []string{e.Check}, Own: &own}
	var res explore.Result
	err := newGuard(&own).call(t, nil, func() (err error) {
		res, err = explore.Search(ctx, p, explore.Options{Root: test.Root, Seeds: test.Seeds, Hits: 3, Workers: test.Workers})
		return err
	})
	switch {
	case err != nil:
		t.Fatalf("simtest: %v", err)
	case e.Verdict == check.Violated.String() && len(res.Hits) == 0:
		t.Errorf("simtest: %s was expected to be violated, and was not with %d seeds", e.Check, res.Tried)
	case e.Verdict == check.Holds.String() && len(res.Hits) > 0:
		tell(t, p, res)
	case len(res.Unjudged) > 0:
		t.Errorf("simtest: %s was not put to the test with any of %d seeds: %s", e.Check, res.Tried,
			cmp.Or(res.Unjudged[0].Reason, "its verdict is unknown"))
	}
}

// tell fails the test with the shortest story of the hits.
func tell(t testing.TB, p explore.Problem, res explore.Result) {
	t.Helper()
	var short *explore.Shrunk
	var text string
	err := newGuard(p.Own).call(t, nil, func() (err error) {
		short, text, err = shortest(p, res.Hits)
		return err
	})
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	hit, needs := res.Hits[0], "no fault"
	if len(short.Kinds) > 0 {
		needs = strings.Join(short.Kinds, ", ")
	}
	t.Errorf("simtest: %s is violated with seed %d, after %d seeds; it needs: %s.\nThe shortest story:\n%s"+
		"replay: %s", hit.Violated[0].Check, hit.Seed, res.Tried, needs, text, keep(t, hit.Violated[0].Check, text))
}

// shortest is the shortest story of the hits, and its text. Each of them must be
// the same when it is run again.
func shortest(p explore.Problem, hits []explore.Hit) (short *explore.Shrunk, text string, err error) {
	ctx := context.Background()
	for _, hit := range hits {
		again, err := explore.Of(ctx, p, hit.Seed)
		if err == nil && (again == nil || again.Hash != hit.Hash) {
			err = differs(hit.Seed)
		}
		if err != nil {
			return short, "", err
		}
	}
	if short, err = explore.Shrink(ctx, hits); err != nil {
		return short, "", err
	}
	short.Story.Claim = fmt.Sprintf("%s is violated: %s.", short.Result.Check, short.Result.Reason)
	if text, err = explore.File(ctx, short.Story, p.Own); err != nil {
		return short, "", err
	}
	again, err := short.Story.Run(ctx, sim.Options{Seed: short.Story.Seed, Own: p.Own})
	if hash, _ := explore.RecordedHash(text); err == nil && (again.Hash != hash || !again.AsExpected()) {
		err = differs(short.Story.Seed)
	}
	return short, text, err
}

// keep writes the story of a check to a file, and returns the command that replays it.
func keep(t testing.TB, check, text string) string {
	file := filepath.Join(os.TempDir(), strings.ReplaceAll(t.Name(), "/", "_")+"-"+check+".scenario")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Sprintf("write the story to a file and set %s to its name (%v)", replayVariable, err)
	}
	return fmt.Sprintf("%s=%s go test -run %s", replayVariable, quoted(file), quoted(pattern(t.Name())))
}

// pattern matches the test of a name alone.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// quoted is a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plain = regexp.MustCompile(`^[-\w./+,:@%]+$`)

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
	var r *sim.Report
	err = newGuard(own).call(t, nil, func() (err error) {
		r, err = s.Run(context.Background(), sim.Options{Seed: s.Seed, Own: own})
		return err
	})
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
