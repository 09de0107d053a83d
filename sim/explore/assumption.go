package explore

import (
	"slices"

	"minikv/sim"
	"minikv/trace"
)

// The assumptions that a lock makes about its world.
const (
	oneMaster  = "there is one master at a time, and it has what was acknowledged"
	soonBack   = "a server answers before leases end"
	remembered = "what a server has acknowledged survives its crash"
	upToDate   = "replicas have what was acknowledged"
	replicated = "a promoted replica has what its master has acknowledged"
)

// broken are the assumptions that did not come true: those that the faults took
// away without which there is no violation.
func (x *explainer) broken(needed []sim.Step) (list []string, err error) {
	for _, step := range needed {
		a := assumption(step)
		if step.Verb == "failover" {
			if a, err = x.failover(step); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	onReplicas := func(a string) bool { return a == oneMaster || a == replicated || a == upToDate }
	isCut := func(step sim.Step) bool { return step.Verb == "partition" }
	if slices.ContainsFunc(needed, isCut) && x.twoMasters() && !slices.ContainsFunc(list, onReplicas) {
		list = append(list, oneMaster)
	}
	if len(needed) == 0 && x.checks[0] == "guard" && x.story.World.Replicas > 0 {
		list = append(list, "who asks a replica hears what its master knows")
	}
	return list, nil
}

// twoMasters reports whether what was believed together was granted by two servers, of
// which there should have been one at a time.
func (x *explainer) twoMasters() bool {
	if x.independent() || x.story.World.Replicas == 0 || x.checks[0] != "exclusion" {
		return false
	}
	var by []trace.Actor
	for _, n := range x.violated[0].Events {
		if grant := x.grant(n); grant > 0 {
			by = append(by, x.events[grant-1].Actor)
		}
	}
	slices.Sort(by)
	return len(slices.Compact(by)) > 1
}

// assumption is what a lock takes for granted and a fault takes away.
func assumption(step sim.Step) string {
	onClient := len(step.Args) > 0 && step.Args[0][0] == 'c'
	switch step.Verb {
	case "pause", "stall":
		if onClient {
			return "no client stands still for longer than what is left of its lease"
		}
		return soonBack
	case "clock":
		if onClient {
			return "clients' clocks agree with the servers'"
		}
		return "a server's clock measures a lease as true time does"
	case "crash", "restart":
		if onClient {
			return "a client that takes a lock lives to give it back"
		}
		if !forgets(step) {
			return soonBack
		}
		return remembered
	case "slow":
		return soonBack
	case "promote":
		return oneMaster
	case "hold":
		return upToDate
	case "evict", "run":
		return "nothing takes a lock's key away before its time"
	case "move":
		return "a slot's keys can be written while it moves"
	case "duplicate":
		return "a request is executed once"
	}
	return "messages arrive, and before leases end"
}

// forgets reports whether a server comes back from a step without some of its data.
func forgets(step sim.Step) bool {
	return slices.ContainsFunc(step.Opts, func(o sim.Option) bool {
		return o.Name == "lose" || o.Name == "data" && o.Value != "keep"
	})
}

// failover is the assumption that a failover took away: without its outage, if that
// is as long as what is left of a lease, or with replication that takes no time, there
// would have been no violation.
func (x *explainer) failover(step sim.Step) (string, error) {
	if lasts(step, "outage") >= x.story.World.Load.TTL*2/3 {
		soon := *x.story
		soon.Steps = slices.Clone(x.story.Steps)
		for i, s := range soon.Steps {
			if s.Verb == step.Verb && s.At == step.At && slices.Equal(s.Args, step.Args) {
				soon.Steps[i].Opts = []sim.Option{{Name: "outage", Value: "0s"}}
			}
		}
		saved, err := x.holds(&soon)
		if err != nil || saved {
			return soonBack, err
		}
	}
	if current, err := x.story.With("lag", "0s"); err == nil {
		saved, err := x.holds(current)
		if err != nil || saved {
			return replicated, err
		}
	}
	return oneMaster, nil
}

// holds reports whether a story does not violate what x is about.
func (x *explainer) holds(story *sim.Scenario) (bool, error) {
	again, err := story.Again()
	if err != nil {
		return false, nil // it makes no sense
	}
	o, err := x.run(x.ctx, again, x.story.Seed)
	return err == nil && len(o.violated) == 0, err
}
