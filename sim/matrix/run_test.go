package matrix

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
)

// fill runs some rows with few seeds.
func fill(t *testing.T, opt Options) []Result {
	t.Helper()
	results, err := Run(context.Background(), opt)
	require.NoError(t, err)
	return results
}

func find(t *testing.T, results []Result, profile, lock, variant string) *Result {
	t.Helper()
	for i := range results {
		if r := &results[i]; r.Profile == profile && r.Lock == lock && r.Variant == variant {
			return r
		}
	}
	t.Fatalf("no cell %s %s %s", profile, lock, variant)
	return nil
}

// What lockclient is for: its holder is told where Redisson's goes on believing.
func TestRow12(t *testing.T) {
	results := fill(t, Options{Seeds: 30, Rows: []int{12}, Shrink: true})
	redisson, ours := find(t, results, Redisson, "mutex", ""), find(t, results, Lockclient, "mutex", "")
	require.Equal(t, "violated", redisson.Verdict)
	require.Equal(t, "holds", ours.Verdict)
	require.True(t, redisson.Agrees && ours.Agrees)
	require.Equal(t, "2/lockclient/mutex", ours.Claims[0].Twin)

	claim := redisson.Claims[0]
	require.Equal(t, 1, claim.Faults, claim.Story)
	require.Equal(t, 2, claim.Operations, claim.Story)
	require.Contains(t, claim.Story, "partition")

	name, _, _ := strings.Cut(strings.TrimPrefix(redisson.Claims[0].Replay, "locksim run "), " ")
	s, ok, err := Find(name)
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, "exclusion", s.Expect[0].Check)
}

// The result does not depend on how many workers there are.
func TestWorkersAgree(t *testing.T) {
	one := fill(t, Options{Seeds: 20, Rows: []int{21}, Workers: 1})
	two := fill(t, Options{Seeds: 20, Rows: []int{21}, Workers: 2})
	require.Equal(t, one, two)
	require.Equal(t, "violated", find(t, one, Redisson, "mutex", "blind").Verdict)
	require.Equal(t, "21/redisson/mutex/blind", find(t, one, Redisson, "mutex", "").Claims[0].Twin)
	require.Equal(t, "not-applicable", find(t, one, Lockclient, "latch", "").Verdict)
}

// A slot that stays open stops the renewal of Redisson's read locks, which name
// several keys, and where the other master knows no script that of its other locks.
func TestRow17(t *testing.T) {
	results := fill(t, Options{Seeds: 100, Cells: []string{"17/redisson/read", "17/redisson/multi", "17/lockclient/multi",
		"17/lockclient/read", "17/lockclient/latch"}})
	require.Equal(t, "violated", find(t, results, Redisson, "read", "").Verdict)
	require.Equal(t, "violated", find(t, results, Redisson, "multi", "").Verdict)
	require.Equal(t, "holds", find(t, results, Lockclient, "multi", "").Verdict)
	require.Equal(t, "holds", find(t, results, Lockclient, "read", "").Verdict)
	require.Equal(t, "violated", find(t, results, Lockclient, "latch", "").Verdict)
}

// The story of a latch that stays shut keeps the fault, and who would have
// counted down.
func TestStoryKeepsItsFault(t *testing.T) {
	results := fill(t, Options{Seeds: 100, Cells: []string{"24/lockclient/latch"}, Shrink: true})
	claim := results[0].Claims[0]
	require.Equal(t, 1, claim.Faults, claim.Story)
	require.Equal(t, 3, claim.story.Story.World.Clients, claim.Story)
	require.LessOrEqual(t, claim.Operations, 6, claim.Story)
}

// Without a hit of its twin nothing is said to hold.
func TestNoTwinNoVerdict(t *testing.T) {
	s := &searcher{ctx: context.Background(), opt: Options{Seeds: 1}, rows: Rows(), found: map[string]*ClaimResult{}}
	c := &Cell{Row: 12, Profile: Lockclient, Kind: "mutex", Code: "S"}
	res, err := s.cell(c)
	require.NoError(t, err)
	require.Equal(t, "unknown", res.Verdict)
	require.Contains(t, res.Claims[0].Finding, "did not find what breaks 2/lockclient/mutex")
}

// What must hold does not, whatever breaks it: here not the fault of the row.
func TestOtherFaultsBreakWhatMustHold(t *testing.T) {
	r, err := ParseRow("99.row", "# A row.\nrow 99\nfaults lost-message\nvariant aided aid=pause: pauses too\n"+
		"lockclient mutex in aided: S: it is not true")
	require.NoError(t, err)
	s := &searcher{ctx: context.Background(), opt: Options{Seeds: 50}, rows: append(Rows(), r),
		found: map[string]*ClaimResult{}, lua: sim.NewLua()}
	res, err := s.cell(&r.Cells[0])
	require.NoError(t, err)
	require.Equal(t, "violated", res.Verdict)
	require.True(t, res.Failed())
}

// A row's file explains the verdict that it lists, and no other of the same cell.
func TestListedIsOneVerdict(t *testing.T) {
	for shown, want := range map[string]bool{"liveness=violated": false, "exclusion=violated": true} {
		r, err := ParseRow("99.row", "# A row.\nrow 99\nfaults pause\nlockclient mutex: S: it is not true\n"+
			"shown lockclient mutex: "+shown+": for a reason")
		require.NoError(t, err)
		s := &searcher{ctx: context.Background(), opt: Options{Seeds: 50}, rows: append(Rows(), r),
			found: map[string]*ClaimResult{}, lua: sim.NewLua()}
		res, err := s.cell(&r.Cells[0])
		require.NoError(t, err)
		require.Equal(t, "violated", res.Verdict)
		require.Equal(t, !want, res.Failed(), shown)
		summary := Summary([]Result{res})
		require.Equal(t, want, strings.Contains(summary, "listed: for a reason"), summary)
	}
}

// A cell that must break itself is not told as its own twin.
func TestOwnTwin(t *testing.T) {
	s := &searcher{ctx: context.Background(), opt: Options{Root: 1, Seeds: 1}, rows: Rows(),
		found: map[string]*ClaimResult{}, lua: sim.NewLua()}
	r := s.rows[slices.IndexFunc(s.rows, func(r *Row) bool { return r.Number == 7 })]
	at := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.String() == "7/lockclient/mutex" })
	res, err := s.cell(&r.Cells[at])
	require.NoError(t, err)
	require.Equal(t, "the search did not find what breaks it", res.Claims[0].Finding)
}

func TestFormats(t *testing.T) {
	results := []Result{
		{Row: 2, Title: "A pause.", Lock: "mutex", Profile: Redisson, Code: "U", Expected: "violated", Verdict: "violated",
			Agrees: true, Reason: "why",
			Claims: []ClaimResult{{Check: "exclusion", Finding: "c1 <overlaps> c2", Replay: "x"}}},
		{Row: 2, Title: "A pause.", Lock: "fair", Profile: Redisson, Code: "S", Expected: "holds", Verdict: "violated",
			Reason: "none",
			Claims: []ClaimResult{{Check: "exclusion", Verdict: 2, Searched: 3, Finding: "seen", Replay: "y"}}},
		{Row: 2, Lock: "latch", Profile: Lockclient, Code: "-", Verdict: "not-applicable", Agrees: true},
	}
	table := Table(results, 0)
	require.Contains(t, table, "\nrow            mutex     fair      read      write     multi     redlock   fenced\n"+
		"2              violated  violated*\n\n")
	for line := range strings.Lines(strings.Split(Table(results, 40), "Not as expected")[0]) {
		require.LessOrEqual(t, len(line), 41)
	}
	require.Contains(t, Table(results, 40), "redisson\nrow            read      write\n2\n")
	require.NotEmpty(t, Table(results, 1))
	require.Contains(t, table, "violated*")
	require.Contains(t, table, "\nNot as expected (S: safe; ")
	require.Contains(t, table, "2 redisson fair: expected S: none\n")
	require.Contains(t, table, "  exclusion violated after 3 seeds: seen\n  replay: y\n")
	require.Contains(t, table, "3 cells: 0 hold, 2 violated, 0 unknown, 1 not applicable")
	require.Contains(t, table, "\n2              A pause.\n\n")
	require.Contains(t, Markdown(results), "| 2 | violated | violated\\* |")
	require.Contains(t, Markdown(results), "\n| 2 | A pause. |\n")
}

// Seeds that have shown defects which are mended: an operator closed a slot whose
// keys were on the way; permits were given back to a master that had not given them.
func TestSeedsOfMendedDefects(t *testing.T) {
	for cell, seed := range map[string]uint64{
		"matrix:17/lockclient/simple/exclusion":  1000003641,
		"matrix:17/lockclient/read/exclusion":    1000004778,
		"matrix:17/lockclient/spin/exclusion":    1000006617,
		"matrix:17/redisson/fair/exclusion":      1000014871,
		"matrix:8/lockclient/semaphore/capacity": 1000000526,
	} {
		s, _, err := Find(cell)
		require.NoError(t, err)
		r, err := s.Run(context.Background(), sim.Options{Seed: seed})
		require.NoError(t, err)
		require.True(t, r.AsExpected(), cell)
	}
}

// A cell in words: what was expected, what was found and by how much, how to see it.
func TestCellInWords(t *testing.T) {
	c := Result{Expected: "holds", Code: "S", Reason: "why", Listed: "known", Claims: []ClaimResult{
		{Check: "exclusion", Verdict: check.Holds, Searched: 9, Twin: "2/lockclient/mutex", Replay: "locksim run x",
			Orders: &Orders{Complete: true, Bound: "2 clients", Schedules: 7}},
		{Check: "liveness", Verdict: check.Unknown, Finding: "nothing", Orders: &Orders{Why: "too many"}},
		{Check: "fencing", Verdict: check.Holds, Searched: 1,
			Orders: &Orders{Random: true, Bound: "5, at random", Schedules: 8}},
	}}
	require.Equal(t, []string{
		"expected holds (S): why",
		"exclusion holds after 9 seeds; the same search breaks 2/lockclient/mutex",
		"replay: locksim run x",
		"every order was run as well (2 clients): 7 schedules",
		"liveness unknown after 0 seeds: nothing",
		"fencing holds after 1 seed",
		"orders were run as well (5, at random): 8 schedules",
		"listed: known",
	}, c.Words())
	require.Nil(t, c.Shown(), "no claim came to the cell's verdict")
}

// What is read of a result is what was written.
func TestResultsAsJSON(t *testing.T) {
	for line := range strings.Lines(Stored) {
		var r Result
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.NoError(t, r.Check())
		var again strings.Builder
		out := json.NewEncoder(&again)
		out.SetEscapeHTML(false)
		require.NoError(t, out.Encode(r))
		require.Equal(t, line, again.String())
	}
	broken := Result{Verdict: "holds", Claims: []ClaimResult{{Story: "world lock=mutex"}}}
	require.ErrorContains(t, broken.Check(), `story:1: there is no "run" line`)
	require.ErrorContains(t, (&Result{Verdict: "broken"}).Check(), `unknown verdict: "broken"`)
	err := json.Unmarshal([]byte(`{"claims":[{"verdict":"broken"}]}`), &broken)
	require.ErrorContains(t, err, `unknown verdict: "broken"`)
}
