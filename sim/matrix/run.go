package matrix

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/luaengine"
	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
	"minikv/trace"
)

// Options are how to fill the matrix.
type Options struct {
	Root     uint64   // of the seeds
	Seeds    int      // for each claim of a cell
	Find     int      // for a claim that something breaks; 0: Seeds
	Rows     []int    // only these; nil: all
	Cells    []string // only these, by their names; nil: all of the rows
	Shrink   bool     // make the stories of what was found short
	Orders   bool     // run every order of what must hold as well, where a small world allows
	Workers  int      // 0: one for each core
	Progress func(done, all int, c *Cell)
	Each     func(Result) error         // called for each cell when it is filled; nil: nobody
	Known    func(*Cell) (Result, bool) // what an earlier run with these options came to; nil: nothing
	Elapsed  func() time.Duration       // real time, to tell how long searches took; nil: it is not told
}

// Result is what a cell came to. As JSON it is one object, in the order of the fields.
type Result struct {
	Row      int           `json:"row"`
	Title    string        `json:"title"`
	Lock     string        `json:"lock"`
	Profile  string        `json:"profile"`
	Variant  string        `json:"variant,omitempty"`
	Verdict  string        `json:"verdict"`  // holds, violated, unknown or not-applicable
	Searched int           `json:"searched"` // seeds, for all claims
	Replay   string        `json:"replay"`   // of a claim that came to the verdict, if one did
	Expected string        `json:"expected"`
	Code     string        `json:"code"`
	Reason   string        `json:"reason"`           // expected, before any run
	Agrees   bool          `json:"agrees"`           // as expected, in each of its claims; unknown ones do not disagree
	Listed   string        `json:"listed,omitempty"` // why runs can disagree, where that is known
	Told     *Story        `json:"told,omitempty"`   // the published or derived story of a violation; nil: there is none
	Claims   []ClaimResult `json:"claims,omitempty"`
}

// ClaimResult is what became of one thing that a cell's code says.
type ClaimResult struct {
	Check    string        `json:"check"`
	Expected check.Verdict `json:"expected"`
	Verdict  check.Verdict `json:"verdict"`
	Searched int           `json:"searched"`          // seeds
	Other    int           `json:"other,omitempty"`   // violations that did not need the row's fault
	Millis   int64         `json:"millis"`            // to search them; real time
	Needs    []string      `json:"needs,omitempty"`   // kinds of fault without which the violation does not happen
	Finding  string        `json:"finding,omitempty"` // the violation, or why the verdict is unknown
	Twin     string        `json:"twin,omitempty"`    // the cell whose violation shows that this search finds some
	Replay   string        `json:"replay,omitempty"`  // the command that shows the violation, or one of the runs
	Differs  string        `json:"differs,omitempty"` // how a replay differed from the run, "" if none did
	Listed   bool          `json:"listed,omitempty"`  // the row's file has this verdict, with a reason

	Story      string `json:"story,omitempty"`      // of a violation, as a scenario's text, if it was asked for
	Faults     int    `json:"faults,omitempty"`     // of the story
	Operations int    `json:"operations,omitempty"` // likewise

	Orders *Orders `json:"orders,omitempty"` // if they were asked for, and the claim is that it holds

	story *explore.Shrunk // the one that Story tells
}

// Check reports what no run writes, of a result that was read.
func (r *Result) Check() error {
	if r.Verdict != meaningless {
		if err := new(check.Verdict).UnmarshalText([]byte(r.Verdict)); err != nil {
			return err
		}
	}
	for _, one := range r.Claims {
		if one.Story == "" {
			continue
		}
		if _, err := sim.ParseScenario("story", one.Story); err != nil {
			return err
		}
	}
	return nil
}

// Name is the cell's: row/profile/kind, and its variant if it has one.
func (r *Result) Name() string {
	c := Cell{Row: r.Row, Variant: r.Variant, Profile: r.Profile, Kind: r.Lock}
	return c.String()
}

// Shown is the claim that stands for the cell: one that came to its verdict and has a run;
// nil if none does.
func (r *Result) Shown() *ClaimResult {
	for i := range r.Claims {
		one := &r.Claims[i]
		hasRun := one.Story != "" || strings.HasPrefix(one.Replay, "locksim run ")
		if hasRun && one.Verdict.String() == r.Verdict {
			return one
		}
	}
	return nil
}

// Failed reports whether the cell has what must not be: a replay that went
// another way, or a violation of what is expected to hold that no list explains.
func (r *Result) Failed() bool {
	return slices.ContainsFunc(r.Claims, func(c ClaimResult) bool {
		return c.Differs != "" || c.Expected == check.Holds && c.Verdict == check.Violated && !c.Listed
	})
}

// Longer reports whether the story of a violation that was expected is longer
// than the one that is told of it.
func (r *Result) Longer(c *ClaimResult) bool {
	return r.Told != nil && c.Story != "" && c.Expected == check.Violated && r.Told.shorter(c.Faults, c.Operations)
}

// searcher fills the matrix.
type searcher struct {
	ctx   context.Context
	opt   Options
	rows  []*Row
	found map[string]*ClaimResult // by the scenario's name

	ordered explore.Known[*Orders] // likewise
	lua     *luaengine.Engine
	engines explore.Engines
}

// Run fills the matrix, row after row. When ctx ends it returns ctx's error with
// the cells that it has. If every order is to be run the workers do so ahead, each
// in a world of its own, as nothing else takes so long.
func Run(ctx context.Context, opt Options) (results []Result, err error) {
	s := &searcher{ctx: ctx, opt: opt, rows: Rows(), found: map[string]*ClaimResult{}, lua: sim.NewLua()}
	cells := s.cells()
	known := make([]*Result, len(cells))
	for i, c := range cells {
		if opt.Known == nil {
			break
		}
		if r, ok := opt.Known(c); ok {
			known[i] = &r
		}
	}
	ahead := func(ctx context.Context, i int) error {
		if !opt.Orders || known[i] != nil {
			return nil
		}
		return s.ahead(ctx, cells[i])
	}
	err = explore.InOrder(ctx, len(cells), opt.Workers, ahead, func(i int) (err error) {
		if opt.Progress != nil {
			opt.Progress(i, len(cells), cells[i])
		}
		if known[i] == nil {
			res, err := s.cell(cells[i])
			if err != nil {
				return err
			}
			known[i] = &res
		}
		results = append(results, *known[i])
		if opt.Each != nil {
			err = opt.Each(*known[i])
		}
		return err
	})
	return results, err
}

// cells are those that are to be filled.
func (s *searcher) cells() (cells []*Cell) {
	for _, r := range s.rows {
		for i := range r.Cells {
			c := &r.Cells[i]
			if (s.opt.Rows == nil || slices.Contains(s.opt.Rows, r.Number)) &&
				(s.opt.Cells == nil || slices.Contains(s.opt.Cells, c.String())) {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

func (s *searcher) elapsed() time.Duration {
	if s.opt.Elapsed == nil {
		return 0
	}
	return s.opt.Elapsed()
}

func (s *searcher) row(c *Cell) *Row {
	return s.rows[slices.IndexFunc(s.rows, func(r *Row) bool { return r.Number == c.Row })]
}

// cell fills one cell.
func (s *searcher) cell(c *Cell) (Result, error) {
	r := s.row(c)
	res := Result{Row: c.Row, Title: r.Title, Lock: c.Kind, Profile: c.Profile, Variant: c.Variant, Code: c.Code,
		Expected: c.Expected(), Reason: c.Reason, Listed: r.listed(c),
		Agrees: true}
	if told, ok := r.Story(c); ok {
		res.Told = &told
	}
	verdict := check.Holds
	claims, err := s.sharing(c)
	if err != nil {
		return res, err
	}
	for _, one := range claims {
		if one.or && verdict == check.Violated {
			break // one of both is enough
		}
		found, err := s.claim(c, one)
		if err != nil {
			return res, err
		}
		if one.or {
			res.Agrees, verdict = true, check.Holds
		}
		verdict = max(verdict, found.Verdict)
		res.Agrees = res.Agrees && (found.Verdict == one.verdict || found.Verdict == check.Unknown)
		res.Claims = append(res.Claims, *found)
		res.Claims[len(res.Claims)-1].Listed = r.lists(c, found)
	}
	res.Verdict = verdict.String()
	if len(res.Claims) == 0 {
		res.Verdict = res.Expected
	}
	for _, one := range res.Claims {
		res.Searched += one.Searched
		if res.Replay == "" || one.Verdict.String() == res.Verdict {
			res.Replay = one.Replay
		}
	}
	return res, nil
}

// claim says what became of a claim: with seeds, and if that is asked for in
// every order.
func (s *searcher) claim(c *Cell, one claim) (*ClaimResult, error) {
	found, err := s.sought(c, one)
	if err != nil || !s.opt.Orders || one.verdict != check.Holds {
		return found, err
	}
	both := *found
	both.Orders, err = s.orders(s.ctx, c, one)
	if err == nil && both.Orders.Violation != "" && both.Verdict != check.Violated {
		both.Verdict, both.Finding = check.Violated, both.Orders.Violation
		both.Replay = both.Orders.replay()
	}
	return &both, err
}

// sought searches for a violation, and where there is none for one of the twin.
func (s *searcher) sought(c *Cell, one claim) (*ClaimResult, error) {
	found, err := s.search(c, one)
	if err != nil || found.Verdict != check.Holds {
		return found, err
	}
	judged := *found
	twins := s.twins(c, found.Check)
	if len(twins) == 0 {
		judged.Verdict, judged.Finding = check.Unknown, "nothing in the matrix breaks this check"
		return &judged, nil
	}
	twin := twins[0]
	judged.Twin = twin.cell.String()
	broken, err := s.search(twin.cell, twin.claim)
	if err == nil && broken.Verdict != check.Violated {
		judged.Verdict = check.Unknown
		judged.Finding = "the search did not find what breaks " + judged.Twin + " either"
		if twin.cell == c {
			judged.Finding = "the search did not find what breaks it"
		}
	}
	return &judged, err
}

// hit tells of a violation: what it is, how to see it, and that it can be seen again.
func (s *searcher) hit(found *ClaimResult, world *sim.Scenario, h explore.Hit, need string) (err error) {
	found.Verdict, found.Finding = check.Violated, h.Violated[0].Reason
	found.Replay, found.Needs = replayLine(world, h.Seed), h.Needs
	if found.Differs, err = s.replay(world, h.Seed, h.Hash, found.Check); err != nil || !s.opt.Shrink {
		return err
	}
	story, err := explore.Shortening{Need: need, Engines: &s.engines}.Shrink(s.ctx, []explore.Hit{h})
	if err != nil {
		return err
	}
	return s.tell(found, story)
}

// tell takes a story, and has it told again.
func (s *searcher) tell(found *ClaimResult, story *explore.Shrunk) error {
	found.story, found.Story, found.Faults, found.Operations = story, story.Story.Text(), story.Faults, story.Asked
	differs, err := s.replay(story.Story, story.Story.Seed, story.Hash, found.Check)
	found.Differs = cmp.Or(found.Differs, differs)
	return err
}

// more is how many other seeds are tried when a story is longer than the one
// that is told: single seeds may end in stories of different length.
const more = 8

// shorter looks for a story that is no longer than the one that is told: with
// fewer operations where that has more faults, and with other seeds.
func (s *searcher) shorter(
	found *ClaimResult, hits []explore.Hit, p explore.Problem, opt explore.Options, told Story,
) error {
	for range 1 + more {
		for _, operations := range []bool{false, true} {
			if found.Differs != "" || !told.shorter(found.Faults, found.Operations) {
				return nil
			}
			how := explore.Shortening{Operations: operations, Need: opt.Need, Engines: &s.engines}
			story, err := how.Shrink(s.ctx, hits)
			if err != nil {
				return err
			}
			if told.shorter(story.Faults, story.Asked) && !story.ShorterThan(found.story) {
				continue
			}
			if err := s.tell(found, story); err != nil {
				return err
			}
		}
		res, err := explore.Search(s.ctx, p, opt)
		if err != nil || len(res.Hits) == 0 {
			return err
		}
		hits = res.Hits
		opt.First += res.Tried
	}
	return nil
}

// replays is how often what was found is run again.
const replays = 2

// replay runs a violation again, and says how that differed, "" if it did not.
func (s *searcher) replay(world *sim.Scenario, seed uint64, hash trace.Hash, name string) (string, error) {
	for range replays {
		r, err := world.Run(s.ctx, sim.Options{Seed: seed, Lua: s.lua})
		switch {
		case err != nil:
			return "", err
		case r.Hash != hash:
			return fmt.Sprintf("hash %016x, then %016x", uint64(hash), uint64(r.Hash)), nil
		case r.Results[0].Verdict != check.Violated:
			return name + " was violated, then not", nil
		}
	}
	return "", nil
}
