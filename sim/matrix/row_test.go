package matrix

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// Each row has a cell for each kind of each profile, and none twice. Its reason can be read
// without those of others.
func TestRowsAreComplete(t *testing.T) {
	before := 0
	for _, r := range Rows() {
		require.Greater(t, r.Number, before)
		before = r.Number
		seen := map[Cell]bool{}
		for _, profile := range Profiles() {
			for _, kind := range Kinds(profile) {
				has := func(c Cell) bool { return c.Profile == profile && c.Kind == kind }
				require.True(t, slices.ContainsFunc(r.Cells, has), "row %d: no cell for %s %s", r.Number, profile, kind)
			}
		}
		for _, c := range slices.Concat(r.Cells, r.Listed) {
			require.Regexp(t, `^[^.].*[.]$`, c.Reason, "%s: expected sentences", &c)
			require.NotRegexp(t, `(?i)\b(above|below|beside|row \d)`, c.Reason, "%s: it is read alone", &c)
		}
		for _, c := range r.Cells {
			c.Code, c.Reason = "", ""
			require.False(t, seen[c], "row %d has two cells for %s %s in %q", r.Number, c.Profile, c.Kind, c.Variant)
			seen[c] = true
		}
	}
}

// Each claim of each cell has a world.
func TestCellsHaveWorlds(t *testing.T) {
	for _, r := range Rows() {
		for _, c := range r.Cells {
			for _, one := range c.claims() {
				s, err := r.Scenario(&c, one)
				require.NoError(t, err)
				again, ok, err := Find(s.Name)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, s.Text(), again.Text())
			}
		}
	}
	_, ok, err := Find("contention")
	require.False(t, ok)
	require.NoError(t, err)
	_, ok, err = Find("matrix:7/redisson/latch")
	require.True(t, ok)
	require.ErrorContains(t, err, `no cell "7/redisson/latch"`)
}

// The promise of each claim that should hold comes into play in one of its first
// runs. Where each waits only once, for a latch or in row 20, all mostly have what
// they wait for before the faults end.
func TestClaimsAreJudged(t *testing.T) {
	const enough = 24
	lua := sim.NewLua()
	once := func(c Cell, one claim) bool { return one.check == "liveness" && (c.Kind == "latch" || c.Row == 20) }
	judged := func(s *sim.Scenario) bool {
		for i := range enough {
			r, err := s.Run(t.Context(), sim.Options{Seed: explore.Seed(1, i), Lua: lua})
			require.NoError(t, err)
			if r.Results[0].Verdict != check.Unknown {
				return true
			}
		}
		return false
	}
	for _, r := range Rows() {
		for _, c := range r.Cells {
			for _, one := range c.claims() {
				if one.verdict != check.Holds || once(c, one) {
					continue
				}
				s, err := r.Scenario(&c, one)
				require.NoError(t, err)
				require.True(t, judged(s), "%s: in %d runs nothing could be said", s.Name, enough)
			}
		}
	}
}

func TestRowErrors(t *testing.T) {
	for text, want := range map[string]string{
		"# x\nrow 1\nfaults rain":                            `x.row:3: unknown kind of fault "rain"`,
		"# x\nrow 1\nredisson latch: S: y":                   `x.row:3: unknown kind "latch" of profile redisson`,
		"# x\nrow 1\nredisson mutex in deep: S: y":           `x.row:3: unknown variant "deep"`,
		"# x\nrow 1\nredisson mutex: V: y":                   `x.row:3: unknown code "V"`,
		"# x\nrow 1\nredisson mutex: L(soon): y":             `x.row:3: time: invalid duration "soon"`,
		"# x\nrow 1\nstory all: much: y":                     `x.row:3: "much": expected FAULTS+OPERATIONS`,
		"# x\nrow 1\norders all":                             `x.row:3: expected: orders [PROFILE]`,
		"# x\nrow 1\norders all: seeds=2":                    `x.row:3: "seeds=2": expected: orders`,
		"# x\nrow 1\nstory all":                              `x.row:3: expected: story [KINDS]`,
		"# x\nrow 1\nredisson mutex S":                       `x.row:3: expected: PROFILE KINDS [in VARIANT]: CODE: REASON`,
		"# x\nrow 1\nvariant a b: c\nredisson mutex in a: S": `x.row:3: "b": expected name=value`,
		"# x\nrow 1\nvariant a b=c":                          `x.row:3: expected: variant NAME OPTION…: TEXT`,
		"# x\nwhat":                                          `x.row:2: unknown word "what"`,
		"# x\nrow 1":                                         `x.row: expected a comment line`,
	} {
		_, err := ParseRow("x.row", text)
		require.ErrorContains(t, err, want)
	}
}

func TestExpected(t *testing.T) {
	for code, want := range map[string]string{
		"S": "holds", "Sv": "holds", "L(30s)": "holds", "theft=holds": "holds", "-": "not-applicable",
		"U": "violated", "U/r": "violated", "U!": "violated", "D": "violated", "S D": "violated", "LEAK": "violated",
		"U/D": "violated", "order=violated": "violated",
	} {
		require.Equal(t, want, (&Cell{Code: code}).Expected(), code)
	}
}

// What must break has a story, whose length is the most that a search may need.
func TestStories(t *testing.T) {
	rows := Rows()
	for _, r := range rows {
		for i := range r.Cells {
			if _, ok := r.Story(&r.Cells[i]); r.Cells[i].Expected() == "violated" {
				require.True(t, ok, "%s has no story", &r.Cells[i])
			}
		}
	}
	row4 := rows[slices.IndexFunc(rows, func(r *Row) bool { return r.Number == 4 })]
	story, _ := row4.Story(&Cell{Kind: "redlock", Variant: "quorum"})
	require.Equal(t, 3, story.Faults)
	story, _ = row4.Story(&Cell{Kind: "mutex"})
	require.Equal(t, 1, story.Faults)
	require.Equal(t, 2, story.Operations)

	long := Result{Told: &story, Claims: []ClaimResult{{Check: "exclusion", Expected: check.Violated,
		Story: "world\nrun for=1s\n", Faults: 2, Operations: 2}}}
	require.True(t, long.Longer(&long.Claims[0]))
	require.Contains(t, Summary([]Result{long}), "exclusion in 2 faults and 2 operations, told with 1 and 2")
}

// No two lines of the matrix say the same of what they are about.
func TestLinesDiffer(t *testing.T) {
	var stored []Result
	for line := range strings.Lines(Stored) {
		var r Result
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		stored = append(stored, r)
	}
	for _, profile := range Profiles() {
		seen := map[string]string{}
		for _, l := range Lines(stored, profile) {
			require.Empty(t, seen[l.Title], "%s: %s", l.Name, l.Title)
			seen[l.Title] = l.Name
		}
	}
	require.Contains(t, Table(stored, 0), "\n3 waits        lock() waits for at most 60 s\n")
	require.Contains(t, Markdown(stored), "\n| 3 waits | lock() waits for at most 60 s |\n")
}
