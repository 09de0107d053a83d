package explore

import (
	"slices"

	"minikv/sim"
	"minikv/trace"
)

// verb is what a verb of the nemesis that is a fault means to an explanation.
type verb struct {
	signs []sign                                            // the events that are what a step of it did
	takes func(x *explainer, step sim.Step) (string, error) // the assumption that such a step took away
}

// sign is an event that is what a step did.
type sign struct {
	kind trace.Kind
	who  func(names []string, e *trace.Event, step sim.Step) bool
	when func(e *trace.Event, step sim.Step) bool
}

// verbs are all verbs but the harmless ones, by their names. They are made once, as they
// refer to each other.
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"pause":     {[]sign{{trace.Pause, struck, now}, {trace.Resume, itself, later}}, (*explainer).stood},
		"stall":     {[]sign{{trace.Pause, struck, asLong}, {trace.Resume, itself, later}}, (*explainer).stood},
		"slow":      {[]sign{{trace.Slow, struck, meanwhile}}, always(soonBack)},
		"clock":     {[]sign{{trace.Jump, struck, meanwhile}, {trace.Rate, struck, meanwhile}}, (*explainer).wrongClock},
		"crash":     {[]sign{{trace.Crash, struck, now}, {trace.Restart, struck, later}}, (*explainer).wentDown},
		"restart":   {[]sign{{trace.Restart, struck, meanwhile}}, (*explainer).cameBack},
		"failover":  {[]sign{{trace.Crash, anybody, now}, {trace.Promote, struck, later}}, (*explainer).failover},
		"promote":   {[]sign{{trace.Promote, struck, meanwhile}}, always(oneMaster)},
		"hold":      {[]sign{{trace.Lag, struck, meanwhile}}, always(upToDate)},
		"release":   {[]sign{{trace.Lag, struck, meanwhile}}, always(inTime)},
		"evict":     {[]sign{{trace.Evict, struck, meanwhile}}, always(keyStays)},
		"run":       {[]sign{{trace.Command, struck, meanwhile}}, (*explainer).byHand},
		"move":      {[]sign{{trace.Command, anybody, now}}, always("the clients' scripts run while a slot moves")},
		"partition": {[]sign{{trace.Partition, anybody, now}, {trace.Heal, anybody, meanwhile}}, always(inTime)},
		"heal":      {[]sign{{trace.Partition, anybody, now}, {trace.Heal, anybody, meanwhile}}, always(inTime)},
		"drop":      {[]sign{{trace.Drop, onTheWay, later}}, always(inTime)},
		"delay":     {[]sign{{trace.Delay, onTheWay, later}}, always(inTime)},
		"duplicate": {[]sign{{trace.Duplicate, onTheWay, later}}, always("a request is executed once")},
	}
}

// harmless are the verbs of steps that are no faults.
var harmless = []string{"start", "calm", "audit"}

func isHarmless(s sim.Step) bool { return slices.Contains(harmless, s.Verb) }

// isWhat reports whether an event is what a step did.
func (x *explainer) isWhat(e *trace.Event, step sim.Step) bool {
	return slices.ContainsFunc(verbs[step.Verb].signs, func(s sign) bool {
		return s.kind == e.Kind && s.who(x.names, e, step) && s.when(e, step)
	})
}

// Whom the event of a sign is about.

func anybody([]string, *trace.Event, sim.Step) bool { return true }

func struck(names []string, e *trace.Event, step sim.Step) bool { return names[e.Peer] == step.Args[0] }

func itself(names []string, e *trace.Event, step sim.Step) bool {
	return names[e.Actor] == step.Args[0]
}

func onTheWay(names []string, e *trace.Event, step sim.Step) bool {
	return names[e.Actor] == step.Args[0] && names[e.Peer] == step.Args[1]
}

// When it comes.

func now(e *trace.Event, step sim.Step) bool { return e.At == step.At }

func later(e *trace.Event, step sim.Step) bool { return e.At >= step.At }

func meanwhile(e *trace.Event, step sim.Step) bool {
	return later(e, step) && e.At <= step.At+lasts(step, "for")
}

// asLong is of a pause that begins when its client's lock() is executed, but has the length of
// the step.
func asLong(e *trace.Event, step sim.Step) bool { return e.A == int64(lasts(step, "for")) }

// always is the same assumption for every step.
func always(assumption string) func(*explainer, sim.Step) (string, error) {
	return func(*explainer, sim.Step) (string, error) { return assumption, nil }
}
