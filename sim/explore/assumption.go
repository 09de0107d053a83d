package explore

import (
	"slices"
	"strings"
	"time"

	"minikv/sim"
	"minikv/trace"
)

// The assumptions that a lock makes about its world.
const (
	oneMaster  = "there is one master at a time, and it has every acknowledged write"
	soonBack   = "a server answers before leases end"
	remembered = "what a server has acknowledged survives its crash"
	upToDate   = "replicas have every acknowledged write"
	replicated = "a promoted replica has every write that its master acknowledged"
	keyStays   = "nothing removes a lock's key before its time"
	outstays   = "no client pauses for longer than the rest of its lease"
	inTime     = "messages arrive before leases end"
	ownOnly    = "a release ends only what its own client has"
	finishes   = "a holder finishes before its lease ends"
)

// broken are the assumptions that did not come true: those that the faults took
// away without which there is no violation.
func (x *explainer) broken(needed []sim.Step) (list []string, err error) {
	isClock := func(step sim.Step) bool { return step.Verb == "clock" }
	for _, step := range needed {
		if step.Verb == "failover" && slices.ContainsFunc(needed, isClock) && x.expiredThere(step) {
			continue // the new master had what was acknowledged
		}
		a, err := verbs[step.Verb].takes(x, step)
		if err != nil {
			return nil, err
		}
		if a = x.withoutLeases(a, step); !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	onReplicas := func(a string) bool { return a == oneMaster || a == replicated || a == upToDate }
	isCut := func(step sim.Step) bool { return step.Verb == "partition" }
	if slices.ContainsFunc(needed, isCut) && x.twoMasters() && !slices.ContainsFunc(list, onReplicas) {
		list = append(list, oneMaster)
	}
	if x.story.World.Load.Broken && len(x.story.Order) == 0 { // an order fits one world only
		whole, err := withoutBroken(x.story)
		if err != nil {
			return nil, err
		}
		saved, err := x.holds(whole)
		if err != nil {
			return nil, err
		}
		if saved {
			list = append(list, ownOnly)
		}
	}
	if len(needed) == 0 && x.checks[0] == "guard" && x.story.World.Replicas > 0 {
		list = append(list, "a replica answers with what its master knows")
	}
	if len(list) == 0 && len(x.story.Order) == 0 {
		overdue, err := x.overdue()
		if err != nil {
			return nil, err
		}
		if overdue {
			list = append(list, finishes)
		}
	}
	return list, nil
}

// overdue reports whether there is a violation only because clients hold a lock for longer than
// a lease that nobody renews. That others wait for so long is another matter.
func (x *explainer) overdue() (bool, error) {
	load := &x.story.World.Load
	isAboutWaits := slices.Contains([]string{"progress", "liveness", "order"}, x.checks[0])
	if load.Renew || load.Hold.Hi < load.TTL || !isLeased(x.story) || isAboutWaits {
		return false, nil
	}
	soon, err := x.story.With("hold", sim.DurationText(min(load.Hold.Lo, load.TTL/3)))
	if err != nil {
		return false, nil // it makes no sense
	}
	return x.holds(soon)
}

// withoutLeases is an assumption about what comes late, without the word of leases where
// none ended: there are none, or none that a test's invariant is known to be about, or
// something came later than the check allows, but sooner than leases end.
func (x *explainer) withoutLeases(a string, step sim.Step) string {
	if a != soonBack && a != inTime {
		return a
	}
	load, late := &x.story.World.Load, time.Duration(0)
	for _, option := range []string{"for", "by", "late", "outage"} {
		late = max(late, lasts(step, option))
	}
	isAboutWaits := slices.Contains([]string{"progress", "liveness", "lease", "order"}, x.checks[0])
	if sim.TraitsOf(load.Kind).Lasting || x.checks[0] == "own" || isAboutWaits && late > 0 && late < load.TTL {
		return strings.Replace(a, "before leases end", "in time", 1)
	}
	return a
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
			by = append(by, x.event(grant).Actor)
		}
	}
	slices.Sort(by)
	return len(slices.Compact(by)) > 1
}

// isOnClient reports whether a step is about a client.
func isOnClient(step sim.Step) bool { return step.Args[0][0] == 'c' }

// stood is what the pause of a client or a server took away.
func (x *explainer) stood(step sim.Step) (string, error) {
	if isOnClient(step) {
		return x.still(step), nil
	}
	return x.followed(x.effect(step, trace.Pause)), nil
}

// wrongClock is what the clock of a client or a server took away.
func (x *explainer) wrongClock(step sim.Step) (string, error) {
	if isOnClient(step) {
		return x.clientsClock(step), nil
	}
	return "a server's clock measures a lease correctly", nil
}

// clientsClock is what the clock of a client took away. Of fair locks and leased permits
// clients write dates that others compare with their own; elsewhere a clock measures how
// much time has passed.
func (x *explainer) clientsClock(step sim.Step) string {
	writesDates := []string{"fair", "nonreentrant-fair", "permits"}
	if slices.Contains(writesDates, x.story.World.Load.Kind) && !has(step, "rate") {
		return "clients' clocks agree with each other"
	}
	return "a client's clock measures time correctly"
}

// wentDown is what the crash of a client or a server took away.
func (x *explainer) wentDown(step sim.Step) (string, error) {
	switch {
	case isOnClient(step):
		return x.crashed(step), nil
	case forgets(step) && x.forgot(x.effect(step, trace.Crash)):
		return remembered, nil
	}
	return x.followed(x.effect(step, trace.Crash)), nil
}

// forgot reports whether a server that has crashed came back without some of its data: with
// what was on its disk alone it may have had all. If it has not come back, it counts as such.
func (x *explainer) forgot(crash *trace.Event) bool {
	if crash == nil {
		return true
	}
	for i := range x.events[crash.N:] {
		if e := &x.events[int(crash.N)+i]; e.Kind == trace.Restart && e.Peer == crash.Peer {
			return loses(e)
		}
	}
	return true
}

// loses reports whether a server has come back without some of its data.
func loses(e *trace.Event) bool { return e.A == 0 || e.B > 0 }

// cameBack is what the start of a server took away.
func (x *explainer) cameBack(step sim.Step) (string, error) {
	if back := x.effect(step, trace.Restart); forgets(step) && (back == nil || loses(back)) {
		return remembered, nil
	}
	return soonBack, nil
}

// followed is what the crash or the pause of a server took away, by what came of it while a
// lease lasts: it came back without some of its data, or another took its place. That it
// came back, and served on beside that one, made two masters, whenever it was.
func (x *explainer) followed(away *trace.Event) string {
	switch {
	case away == nil:
		return soonBack
	case x.servesOn(away):
		return oneMaster
	}
	for i := range x.events[away.N:] {
		switch e := &x.events[int(away.N)+i]; {
		case e.At >= away.At+x.story.World.Load.TTL:
			return soonBack
		case e.Kind == trace.Restart && e.Peer == away.Peer && loses(e):
			return remembered
		case e.Kind == trace.Restart && e.Peer == away.Peer, e.Kind == trace.Resume && e.Actor == away.Peer:
			return soonBack
		case e.Kind == trace.Promote && !x.independent():
			return oneMaster
		}
	}
	return soonBack
}

// servesOn reports whether a server that was away granted something when another had become
// master.
func (x *explainer) servesOn(away *trace.Event) bool {
	other := false
	for i := range x.events[away.N:] {
		switch e := &x.events[int(away.N)+i]; {
		case e.Kind == trace.Promote && !x.independent():
			other = e.Peer != away.Peer
		case e.Kind == trace.Hold && other:
			if by := x.grant(e.N); by > 0 && x.event(by).Actor == away.Peer {
				return true
			}
		}
	}
	return false
}

// still is what the pause of a client took away.
func (x *explainer) still(step sim.Step) string {
	e := x.effect(step, trace.Pause)
	held := x.heldAt(e)
	if held == nil {
		if x.tookAt(e) && e.A >= int64(x.story.World.Load.TTL) {
			return outstays
		}
		if x.asked(e) > 0 {
			return "no client pauses while it asks for a lock"
		}
		return "no client pauses"
	}
	left := time.Duration(held.B) - (e.At - held.At)
	if x.story.World.Load.Renew || held.B == 0 { // what is left on the server since it was taken, or renewed
		left = x.story.World.Load.TTL
		since := x.latest(e.N, func(o *trace.Event) bool {
			return o.Kind == trace.Execute && o.Peer == e.Peer &&
				leaves(o, func(k string) bool { return isPartOf(k, held.Key) })
		})
		if since > 0 {
			left -= e.At - x.event(since).At
		}
	}
	if time.Duration(e.A) >= left {
		return outstays
	}
	return "no client pauses while it holds a lock"
}

// crashed is what the crash of a client took away.
func (x *explainer) crashed(step sim.Step) string {
	e := x.effect(step, trace.Crash)
	if x.heldAt(e) != nil || x.tookAt(e) {
		return "a client that takes a lock lives to give it back"
	}
	if x.asked(e) > 0 {
		return "a client that asks for a lock lives to get it"
	}
	return "no client crashes"
}

// byHand is what a command that somebody ran took away.
func (x *explainer) byHand(step sim.Step) (string, error) {
	e := x.effect(step, trace.Command)
	switch {
	case e == nil || len(e.Details) == 0:
		return "nobody gives a server commands by hand", nil
	case slices.ContainsFunc(e.Details, trace.Detail.Gone):
		return keyStays, nil
	}
	return "only the locks' clients change what a server has of the locks", nil
}

// effect is the event of a kind by which a step's effect began; nil: there is none.
func (x *explainer) effect(step sim.Step, kind trace.Kind) *trace.Event {
	n := x.next(0, func(e *trace.Event) bool { return e.Kind == kind && x.isWhat(e, step) })
	if n == 0 {
		return nil
	}
	return x.event(n)
}

// heldAt is the event with which the client that e is about got last what it held then,
// perhaps once more; nil: it held nothing. A client has one lock.
func (x *explainer) heldAt(e *trace.Event) (held *trace.Event) {
	if e == nil {
		return nil
	}
	times := 0
	for i := range x.events[:e.N-1] {
		switch o := &x.events[i]; {
		case o.Actor != e.Peer:
		case o.Kind == trace.Hold:
			held, times = o, times+1
		case o.Kind == trace.Release || o.Kind == trace.Lost:
			if times--; times == 0 {
				held = nil
			}
		}
	}
	return held
}

// asked is the event with which the client that e is about asked for what it waited
// for then; 0: it waited for nothing.
func (x *explainer) asked(e *trace.Event) (n uint64) {
	if e == nil {
		return 0
	}
	for i := range x.events[:e.N-1] {
		switch o := &x.events[i]; {
		case o.Actor != e.Peer:
		case o.Kind == trace.Acquire:
			n = o.N
		case o.Kind == trace.Hold || o.Kind == trace.Refused || o.Kind == trace.Opened || o.Kind == trace.Lost:
			n = 0
		}
	}
	return n
}

// tookAt reports whether the client that e is about had what it asked for on a server,
// though it did not know it yet.
func (x *explainer) tookAt(e *trace.Event) bool {
	n := x.asked(e)
	if n == 0 {
		return false
	}
	key := x.event(n).Key
	return slices.ContainsFunc(x.events[n:e.N-1], func(o trace.Event) bool {
		return o.Kind == trace.Execute && o.Peer == e.Peer &&
			leaves(&o, func(k string) bool { return isPartOf(k, key) })
	})
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

// expiredThere reports whether the replica that a failover made master had what the
// violation is about, until its own clock ended that.
func (x *explainer) expiredThere(step sim.Step) bool {
	promoted := x.effect(step, trace.Promote)
	if promoted == nil || len(x.violated[0].Events) == 0 {
		return false
	}
	last := x.violated[0].Events[len(x.violated[0].Events)-1]
	key := x.event(last).Key
	expired := x.next(promoted.N, func(e *trace.Event) bool {
		return e.Actor == promoted.Peer && touches(e, key, trace.Expired)
	})
	return expired > 0 && expired <= last
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
