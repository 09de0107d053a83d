package sim

import (
	"slices"

	"minikv/sim/check"
	"minikv/trace"
)

// promise is a check that a scenario can expect something of: what it says is told where its
// checker is declared. What depends on which check it is follows from its row in promises.
type promise struct {
	name  string
	about string // what is so if it holds
	// heeds are the events whose order the check looks at beside that of beliefs: nothingElse,
	// or these. Of a check of which it is not said, nothing is known: it may look at all.
	heeds []trace.Kind
	// peeks says that it looks at how much of a client's lease is left on the server when that
	// client crashes.
	peeks bool
	// toEnd says that it judges who still waits when the run ends.
	toEnd bool
	// senseless says why there is no verdict in such a world, "" if there is; nil: always is.
	senseless func(w *Spec) string
	checker   func(m making) check.Checker
}

// making is of what checks are made.
type making struct {
	*runner
	names check.Names
	own   *Own
}

// nothingElse heeds whoever judges beliefs alone, what one client does or one server, or
// audits, of which there are none where there is no time.
var nothingElse = []trace.Kind{}

// promises are in the order in which error messages list them.
var promises = []promise{
	{name: "exclusion", about: "no two clients believe at the same time that they hold a lock",
		heeds: nothingElse, senseless: wherePermitsAre,
		checker: func(m making) check.Checker { return m.grants }},
	{name: "fencing",
		about: "after a later turn's write the resource applies none of an earlier; surely later turns have " +
			"larger tokens",
		heeds:     []trace.Kind{trace.Acquire},
		senseless: whereShared("several write at a time, and none of them is stale"), checker: newFencing},
	{name: "progress", about: "who asks for a lock gets it, or gives up as wait=, once= or cancel= say, in bound=",
		heeds: nothingElse, toEnd: true,
		checker: func(m making) check.Checker { return check.NewProgress(m.names, m.s.World.Bound) }},
	{name: "liveness", about: "the same after the faults have ended",
		heeds: nothingElse, toEnd: true,
		checker: func(m making) check.Checker { return check.NewLiveness(m.names, m.s.World.Bound) }},
	{name: "lease",
		about: "a crashed holder's lock keeps its TTL, and is granted again when that has passed, no sooner; of " +
			"one master",
		heeds:     []trace.Kind{trace.Acquire, trace.Refused, trace.Crash, trace.End, trace.Pause, trace.Resume},
		peeks:     true,
		toEnd:     true,
		senseless: whereShared("others need not wait for a lock that several have at a time"), checker: of(check.NewLease)},
	{name: "kept", about: "no living client is told, or finds at its unlock, that its lock is lost",
		heeds: nothingElse, checker: of(check.NewKept)},
	{name: "capacity", about: "no more permits of a semaphore are believed taken than it has",
		heeds: nothingElse, senseless: unlessPermits,
		checker: func(m making) check.Checker { return check.NewCapacity(m.names, m.s.World.Load.Permits) }},
	{name: "gate", about: "nobody finds a latch open before countDown() was called as often as its count says",
		heeds:   nothingElse,
		checker: func(m making) check.Checker { return check.NewGate(m.names, m.s.World.Load.Count) }},
	{name: "order", about: "who asked for a lock earlier, by more than 10 times the longest delay, gets it earlier",
		heeds:   []trace.Kind{trace.Acquire, trace.Refused, trace.Crash},
		checker: func(m making) check.Checker { return check.NewOrder(m.names, 10*m.s.World.Delay.Hi) }},
	{name: "holds", about: "at an audit a server's hold count is its client's, where servers count by client",
		heeds: nothingElse, checker: of(check.NewHoldings)},
	{name: "leak", about: "at an audit nothing is taken that no living client believes to have",
		heeds: nothingElse, checker: func(making) check.Checker { return check.NewLeak() }},
	{name: "theft", about: "no request ends what another client has; of one that cuts its lease only exclusion tells",
		heeds: nothingElse, senseless: whereNobodyIsNamed, checker: newTheft},
	{name: "guard", about: "nobody is told that a lock is free while somebody has it",
		heeds: []trace.Kind{trace.Asks, trace.Told}, checker: of(check.NewGuard)},
	{name: "own", about: "the check that a test brings says so",
		checker: func(m making) check.Checker { return newOwnCheck(m) }},
	{name: "linear", about: "there is an order with one holder at a time that explains all replies (Porcupine)",
		heeds:     []trace.Kind{trace.Acquire, trace.Freed, trace.Failed, trace.Crash},
		senseless: whereShared("there is a model of exclusive locks only"), checker: of(check.NewLinear)},
}

// of makes a check that needs to know of nothing but names.
func of[C check.Checker](make func(check.Names) C) func(making) check.Checker {
	return func(m making) check.Checker { return make(m.names) }
}

// Checks are the names of the checks that a scenario can expect something of.
var Checks = checkNames()

func checkNames() (names []string) {
	for _, p := range promises {
		names = append(names, p.name)
	}
	return names
}

// findPromise returns the check of that name.
func findPromise(name string) *promise {
	i := slices.IndexFunc(promises, func(p promise) bool { return p.name == name })
	if i < 0 {
		panic("sim: no check is called " + name)
	}
	return &promises[i]
}

// checker makes the check of that name, or one that says why it cannot be made here.
func (r *runner) checker(name string, names check.Names, own *Own) check.Checker {
	p := findPromise(name)
	if p.senseless != nil {
		if reason := p.senseless(&r.s.World); reason != "" {
			return check.NewNothing(name, reason)
		}
	}
	return p.checker(making{r, names, own})
}

// whereShared is why a check says nothing of what several may have at a time.
func whereShared(reason string) func(*Spec) string {
	return func(w *Spec) string {
		shared := findKind(w.Load.Kind).Shared || w.Load.Kind == OwnKind && (w.Load.Readers > 0 || w.Load.Permits > 1)
		return unless(!shared, reason)
	}
}

func wherePermitsAre(w *Spec) string {
	return unless(!w.hasPermits() || w.Load.Permits <= 1,
		"several may have a permit at a time: the promise is capacity")
}

// whereNobodyIsNamed is why theft says nothing of numbers on a server.
func whereNobodyIsNamed(w *Spec) string {
	return unless(!findKind(w.Load.Kind).Lasting, "a number on a server does not say whose it is")
}

func unlessPermits(w *Spec) string { return unless(w.hasPermits(), "only semaphores have permits") }

// hasPermits reports whether permits= says how many may have the lock at a time.
func (w *Spec) hasPermits() bool { return slices.Contains(heeding("permits"), w.Load.Kind) }

func newTheft(m making) check.Checker {
	if m.s.World.Load.Kind == OwnKind {
		return ownTheft{check.NewTheft(m.names), m.runner}
	}
	return check.NewTheft(m.names)
}
