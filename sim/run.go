package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/luaengine"
	"minikv/sim/check"
	"minikv/trace"
)

// Options are how to run a scenario.
type Options struct {
	Seed    uint64            // of the run; Scenario.Seed is not looked at
	Clients int               // how many clients; 0: as the file says
	For     time.Duration     // how long the run lasts; 0: as the file says
	Chooser Chooser           // nil: Random(Seed)
	Record  bool              // keep the draws, for Report.Draws
	Details bool              // fill in the texts of events; changes no result
	Lines   bool              // with Details: also tell which lines of scripts ran
	Lua     *luaengine.Engine // nil: a new one; used by one run at a time
	Own     *Own              // for lock=own

	// Stray, if not nil, is called when client code uses its Runtime or Transport from a
	// goroutine that it has started, with the client's name and the stack; that goroutine
	// then ends. It makes a run slower, and may be called at any time by any goroutine.
	Stray func(client, stack string)

	Observe func(*trace.Event, []string)                       // called for each event; the strings are the actors' names
	Tick    func(now time.Duration, events uint64, grants int) // called now and then, for progress; nil: never
}

// Report is what a run found.
type Report struct {
	Scenario *Scenario
	Results  []check.Result // of the expected checks, in their order
	Grants   int            // how often a lock was granted
	Events   uint64         // how many there were
	Hash     trace.Hash
	End      time.Duration // when the run ended, in virtual time
	Draws    []Draw        // with Options.Record
	Names    []string      // of the actors, by trace.Actor
	Steps    []Step        // all that the nemesis did, in order, with their true times
	Struck   []string      // kinds of fault that were drawn and did something
	Idle     []Idle        // lines of the file that did nothing, or less than they say, in their order
}

// AsExpected reports whether every expected verdict came true.
func (r *Report) AsExpected() bool {
	for i, e := range r.Scenario.Expect {
		if r.Results[i].Verdict.String() != e.Verdict {
			return false
		}
	}
	return true
}

// runner is a scenario on its way.
type runner struct {
	w       *World
	s       *Scenario
	clients []*client
	grants  *check.Exclusion
	checks  []check.Checker
	plan    *planner // nil: no faults are drawn
	done    []Step   // what the nemesis has done
	idle    []Idle   // lines that came to nothing
	untimed *Untimed // nil: the run has a clock
}

// Run runs the scenario to its end, or until ctx ends (between two steps). An error means
// that there is no verdict: client code has panicked, or ctx has ended.
func (s *Scenario) Run(ctx context.Context, opt Options) (*Report, error) {
	s = s.with(opt)
	if err := s.checkOwn(opt.Own); err != nil {
		return nil, err
	}
	if len(s.Order) > 0 {
		return s.runOrder(ctx, opt)
	}
	r := &runner{s: s}
	r.build(opt)
	err := r.run(ctx, opt)
	r.w.Stop()
	if err == nil {
		err = r.w.err
	}
	if err != nil {
		return nil, err
	}
	rep := r.report()
	if r.w.err != nil { // of a test's own check
		return nil, r.w.err
	}
	return rep, nil
}

// CheckClients returns an error if the story makes no sense with that many clients, for
// example because it names one that is not there. 0 is as many as the file says.
func (s *Scenario) CheckClients(clients int) error {
	c := s.with(Options{Clients: clients})
	for _, step := range c.Steps {
		if v, err := findVerb(step.Verb); err != nil || v.check(&c.World, step) != nil {
			return fmt.Errorf("with clients=%d, line %d of %s makes no sense", clients, step.Line, s.Name)
		}
	}
	return nil
}

// with returns the scenario with the options' overrides.
func (s *Scenario) with(opt Options) *Scenario {
	c := *s
	c.Seed = opt.Seed
	if opt.Clients > 0 {
		c.World.Clients = opt.Clients
	}
	if opt.For > 0 {
		c.For = opt.For
	}
	return &c
}

func (r *runner) build(opt Options) {
	spec := &r.s.World
	name := func(a trace.Actor) string { return r.w.names[a] }
	r.grants = check.NewSharing(name, r.reads)
	for _, e := range r.s.Expect {
		r.checks = append(r.checks, r.checker(e.Check, name, opt.Own))
	}
	r.w = NewWorld(Config{
		Seed: r.s.Seed, Chooser: opt.Chooser, Record: opt.Record, Details: opt.Details,
		Lines: opt.Lines && opt.Details, Lua: opt.Lua, Stray: opt.Stray,
		Plan: spec.Plan(), Nodes: spec.parameters, Remember: r.s.remembers(), Locks: spec.Locks(),
		Delay: spec.Delay, Lag: spec.Lag, Fence: spec.Fence, Sync: spec.Sync, Pool: spec.Pool, Abort: spec.Abort,
		EverySec:  spec.EverySec,
		Thefts:    slices.ContainsFunc(r.s.Expect, func(e Expectation) bool { return e.Check == "theft" }),
		Observers: r.observers(opt),
	})
	if r.heedsGrants() {
		r.w.grants = newGrants(spec.Locks())
	}
	r.w.addClients(spec.Clients, spec.Locks(), &spec.Load, opt.Own)
	r.clients = r.w.clients
	r.w.provide(&spec.Load)
	if r.untimed != nil {
		return
	}
	r.schedule()
	if len(r.s.Faults.Kinds) > 0 {
		r.plan = newPlanner(r)
		r.plan.start()
	}
}

func (r *runner) observers(opt Options) []func(*trace.Event) {
	list := []func(*trace.Event){r.grants.Observe}
	for _, c := range r.checks {
		if c != r.grants {
			list = append(list, c.Observe)
		}
	}
	if opt.Observe != nil {
		list = append(list, func(e *trace.Event) { opt.Observe(e, r.w.names) })
	}
	switch {
	case r.untimed != nil:
		list = append(list, r.untimed.observe)
	case len(r.s.Faults.Kinds) > 0:
		list = append(list, func(e *trace.Event) { r.plan.observe(e) })
	}
	return list
}

// schedule queues the story. A client that no line starts begins by itself,
// within one hold time; where holds are drawn on the scale of the lease, half of
// them do within the time that they think, so that they meet soon.
func (r *runner) schedule() {
	started := false
	for _, s := range r.s.Steps {
		started = started || s.Verb == "start"
		r.later(s.At, s)
	}
	if started {
		return
	}
	r.w.queue.grow(len(r.clients))
	r.w.starts = func(c *client) {
		r.done = append(r.done, Step{At: r.w.now, Verb: "start", Args: []string{c.name()}})
		c.start()
	}
	for _, c := range r.clients {
		draws := r.w.newDraws("start/" + c.name())
		load, within := &r.s.World.Load, Range{0, r.s.World.Load.Hold.Hi}
		if load.Scales && draws.draw(2) == 0 {
			within.Hi = load.Think.Hi
		}
		r.w.queue.push(time.Duration(draws.span(within)), step{kind: stepStart, on: c})
	}
}

// later queues a step of the nemesis.
func (r *runner) later(at time.Duration, s Step) {
	v, err := findVerb(s.Verb)
	if err != nil {
		panic(err) // the parser let it through
	}
	r.w.at(at, func() {
		if s.Fault != "" && r.w.calm {
			return
		}
		s.At = r.w.now
		r.done = append(r.done, s)
		r.strike(v, s)
	})
}

func (r *runner) run(ctx context.Context, opt Options) error {
	var pace pace
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if done, err = pace.stretch(r.w, r.s.For); err != nil {
			return err
		}
		if opt.Own != nil && opt.Own.Alive != nil {
			opt.Own.Alive()
		}
		if opt.Tick != nil {
			opt.Tick(r.w.now, r.w.events, r.grants.Grants)
		}
	}
	return nil
}

func (r *runner) report() *Report {
	r.missed()
	rep := &Report{Scenario: r.s, Grants: r.grants.Grants, Events: r.w.events, Hash: r.w.hash,
		End: r.w.now, Draws: r.w.drawn, Names: r.w.names, Steps: r.done,
		Struck: r.w.struck, Idle: r.idleLines()}
	for _, c := range r.checks {
		rep.Results = append(rep.Results, c.Result(r.w.now))
	}
	return rep
}

// reads tells whether an actor is a reader of a read-write lock.
func (r *runner) reads(a trace.Actor) bool {
	c := int(a - r.clients[0].actor)
	return c < len(r.clients) && r.clients[c].reads()
}

// process is the present process of a client; nil for other names.
func (r *runner) process(name string) *process {
	for _, c := range r.clients {
		if c.name() == name {
			return c.process()
		}
	}
	return nil
}

// lookUp returns the actor of a name. Those of clients follow all others.
func (r *runner) lookUp(name string) (a trace.Actor, ok bool) {
	first := r.clients[0].actor
	if number, is := strings.CutPrefix(name, "c"); is {
		n, _ := strconv.Atoi(number)
		a = first + trace.Actor(n) - 1
		return a, n >= 1 && n <= len(r.clients) && r.w.names[a] == name
	}
	i := slices.Index(r.w.names[:first], name)
	return trace.Actor(max(i, 0)), i >= 0
}

func (r *runner) actor(name string) trace.Actor {
	a, _ := r.lookUp(name)
	return a
}

func (r *runner) node(name string) *node {
	for _, n := range r.w.nodes {
		if n.name == name {
			return n
		}
	}
	panic("sim: no node is called " + name)
}
