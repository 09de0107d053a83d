package matrix

import (
	"cmp"
	"slices"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// search looks for a violation of a claim. What was found is kept.
func (s *searcher) search(c *Cell, one claim) (*ClaimResult, error) {
	return s.within(c, one, s.seeds(one))
}

// seeds is with how many seeds a claim is searched for.
func (s *searcher) seeds(one claim) int {
	if one.verdict == check.Violated && s.opt.Find > 0 {
		return s.opt.Find
	}
	return s.opt.Seeds
}

// within looks for a violation with that many seeds. What was found is kept.
func (s *searcher) within(c *Cell, one claim, seeds int) (*ClaimResult, error) {
	r := s.row(c)
	world, err := r.Scenario(c, one)
	if err != nil {
		return nil, err
	}
	if known := s.found[world.Name]; known != nil && (known.Verdict == check.Violated || known.Searched >= seeds) {
		return known, nil
	}
	p, opt := explore.Problem{Scenario: world}, s.options(c, one, seeds)
	began := s.elapsed()
	res, err := explore.Search(s.ctx, p, opt)
	if err != nil {
		return nil, err
	}
	found := s.result(world, one, res)
	found.Millis = (s.elapsed() - began).Milliseconds()
	if len(res.Hits) > 0 {
		err = s.hit(found, world, res.Hits[0], opt.Need)
	}
	if told, ok := r.Story(c); ok && found.Story != "" && one.verdict == check.Violated {
		opt.First = res.Tried
		err = cmp.Or(err, s.shorter(found, res.Hits, p, opt, told))
	}
	s.found[world.Name] = found
	return found, err
}

// options are those of a search for a violation. One that is expected counts only
// if it needs the row's fault; what must hold must not be violated at all.
func (s *searcher) options(c *Cell, one claim, seeds int) explore.Options {
	opt := explore.Options{Root: s.opt.Root, Seeds: seeds, Workers: s.opt.Workers, Engines: &s.engines}
	if one.verdict == check.Violated {
		opt.Need = s.row(c).Setting(c.Variant).need()
	}
	return opt
}

// result is that of a search without its hits.
func (s *searcher) result(world *sim.Scenario, one claim, res explore.Result) *ClaimResult {
	return &ClaimResult{Check: world.Expect[0].Check, Expected: one.verdict, Searched: res.Tried, Other: res.Other,
		Replay: replayLine(world, explore.Seed(s.opt.Root, 0))}
}

// sharing are the claims of a cell that are to be looked at, after a look at both
// where a cell has two: what is expected of a run both times is searched for
// once, and of two of which one is enough the one that is found soon is taken.
func (s *searcher) sharing(c *Cell) ([]claim, error) {
	claims := c.claims()
	if len(claims) != 2 {
		return claims, nil
	}
	if claims[1].or {
		return s.sooner(c, claims)
	}
	if claims[0].verdict != check.Holds || claims[1].verdict != check.Holds || claims[1].check != "liveness" {
		return claims, nil
	}
	return claims, s.together(c, claims)
}

// glance is with how many seeds both of two claims are tried before one of them
// gets all.
const glance = 100

// sooner is the one of two claims that is found with few seeds, or both.
func (s *searcher) sooner(c *Cell, claims []claim) ([]claim, error) {
	for i, one := range claims {
		found, err := s.within(c, one, min(glance, s.seeds(one)))
		if err != nil {
			return nil, err
		}
		if found.Verdict == check.Violated {
			return claims[i : i+1], nil
		}
	}
	return claims, nil
}

// together searches for a violation of both claims, in the world of the second,
// which lasts longer. If there is any each is searched for by itself.
func (s *searcher) together(c *Cell, claims []claim) error {
	var worlds []*sim.Scenario
	for _, one := range claims {
		world, err := s.row(c).Scenario(c, one)
		if err != nil || s.found[world.Name] != nil {
			return err
		}
		worlds = append(worlds, world)
	}
	both := *worlds[1]
	both.Expect = slices.Concat(worlds[0].Expect, both.Expect)
	began := s.elapsed()
	res, err := explore.Search(s.ctx, explore.Problem{Scenario: &both}, s.options(c, claims[0], s.opt.Seeds))
	if err != nil || len(res.Hits) > 0 {
		return err
	}
	for i, one := range claims {
		s.found[worlds[i].Name] = s.result(worlds[i], one, res)
	}
	s.found[worlds[0].Name].Millis = (s.elapsed() - began).Milliseconds()
	return nil
}
