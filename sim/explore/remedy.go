package explore

import (
	"fmt"
	"slices"
	"time"

	"minikv/sim"
	"minikv/sim/check"
)

// assumption is what a lock takes for granted and a fault takes away.
func assumption(step sim.Step) string {
	option := func(name string) string {
		i := slices.IndexFunc(step.Opts, func(o sim.Option) bool { return o.Name == name })
		if i < 0 {
			return ""
		}
		return step.Opts[i].Value
	}
	onClient := len(step.Args) > 0 && step.Args[0][0] == 'c'
	switch step.Verb {
	case "pause", "stall":
		if onClient {
			return "no client stands still for longer than what is left of its lease"
		}
		return "a server answers before leases end"
	case "clock":
		if onClient {
			return "clients' clocks agree with the servers'"
		}
		return "a server's clock measures a lease as true time does"
	case "crash", "restart":
		if onClient {
			return "a client that takes a lock lives to give it back"
		}
		if option("data") == "keep" {
			return "a server is there when it is asked"
		}
		return "what a server has acknowledged survives its crash"
	case "failover":
		return "a promoted replica has what its master has acknowledged"
	case "promote":
		return "there is one master at a time, and it has what was acknowledged"
	case "hold":
		return "replicas have what was acknowledged"
	case "evict", "run":
		return "nothing takes a lock's key away before its time"
	case "duplicate":
		return "a request is executed once"
	}
	return "messages arrive, and before leases end"
}

// change is a remedy to try: the story in another world.
type change struct {
	name string
	make func(s *sim.Scenario, needed []sim.Step) (*sim.Scenario, error)
}

// changes are tried in this order, where they make sense.
var changes = []change{
	{"acquisitions checked with WAIT (sync=on)", func(s *sim.Scenario, _ []sim.Step) (*sim.Scenario, error) {
		if s.World.Replicas == 0 || s.World.Sync {
			return nil, errSenseless
		}
		return s.With("sync", "on")
	}},
	{"fencing tokens (lock=fenced)", func(s *sim.Scenario, _ []sim.Step) (*sim.Scenario, error) {
		if s.World.Load.Kind != "mutex" {
			return nil, errSenseless
		}
		return s.With("lock", "fenced")
	}},
	{"restarts delayed by more than a lease", delayedRestart},
	{"a lease of a third", func(s *sim.Scenario, _ []sim.Step) (*sim.Scenario, error) {
		return s.With("ttl", sim.DurationText((s.World.Load.TTL / 3).Round(time.Millisecond)))
	}},
	{"a lease three times as long", func(s *sim.Scenario, _ []sim.Step) (*sim.Scenario, error) {
		return s.With("ttl", sim.DurationText(3*s.World.Load.TTL))
	}},
	{"lockclient instead of Redisson's client", func(s *sim.Scenario, _ []sim.Step) (*sim.Scenario, error) {
		if !s.World.Load.Redisson {
			return nil, errSenseless
		}
		return s.With("profile", "")
	}},
}

var errSenseless = fmt.Errorf("explore: this remedy makes no sense here")

// delayedRestart has servers that crashed stay away until all leases have ended.
func delayedRestart(s *sim.Scenario, _ []sim.Step) (*sim.Scenario, error) {
	c := *s
	c.Steps = slices.Clone(s.Steps)
	away := s.World.Load.TTL + time.Second
	changed := false
	for i, step := range c.Steps {
		if step.Verb != "crash" || step.Args[0][0] == 'c' {
			continue
		}
		for j, o := range step.Opts {
			if d, err := time.ParseDuration(o.Value); o.Name == "for" && err == nil && d < away {
				c.Steps[i].Opts = slices.Clone(step.Opts)
				c.Steps[i].Opts[j].Value = sim.DurationText(away)
				changed = true
			}
		}
	}
	if !changed {
		return nil, errSenseless
	}
	c.For += away
	return c.Again()
}

// remedies tries what could have saved the story.
func (x *explainer) remedies(needed []sim.Step) (list []Remedy, err error) {
	if len(x.story.Order) > 0 {
		return nil, nil // an order fits one world only
	}
	for _, c := range changes {
		other, err := c.make(x.story, needed)
		if err != nil {
			continue
		}
		with := *other
		if !slices.ContainsFunc(with.Expect, func(e sim.Expectation) bool { return e.Check == "fencing" }) {
			with.Expect = append(slices.Clone(with.Expect), sim.Expectation{Check: "fencing", Verdict: "holds"})
		}
		o, err := x.run(x.ctx, &with, x.story.Seed)
		if err != nil {
			return nil, err
		}
		r := Remedy{Name: c.name, Saves: len(o.violated) == 0, Story: other}
		for _, result := range o.report.Results {
			fenced := with.World.Fence && result.Check == "fencing" && result.Verdict == check.Holds
			if fenced && !r.Saves && x.checks[0] != "fencing" {
				r.Note = "the resource takes no stale write"
			}
		}
		list = append(list, r)
	}
	return list, nil
}
