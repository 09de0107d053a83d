package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/trace"
)

// check validates the story against the world.
func (p *parser) check() *SyntaxError {
	for _, s := range p.s.Steps {
		if s.At > p.s.For {
			return &SyntaxError{Line: s.Line, Reason: fmt.Sprintf("at %s: the run ends at %s",
				DurationText(s.At), DurationText(p.s.For))}
		}
		v, err := findVerb(s.Verb)
		if err == nil {
			if err = v.check(&p.s.World, s); err != nil {
				err = fmt.Errorf("%w (usage: at TIME %s)", err, v.usage)
			}
		}
		if err != nil {
			return &SyntaxError{Line: s.Line, Reason: err.Error()}
		}
	}
	return nil
}

// kinds of actors that a verb accepts.
const (
	aClient = 1 << iota
	aMaster
	aReplica
	aSentinel
	anybody = aClient | aMaster | aReplica | aSentinel
)

// known reports an error unless name is an actor of the world of those kinds.
func (w *Spec) known(name string, kinds int) error {
	all := []struct {
		kind   int
		letter byte
		word   string
		count  int
	}{
		{aClient, 'c', "client", w.Clients},
		{aMaster, 'm', "master", w.Masters},
		{aReplica, 'r', "replica", w.Plan().AllReplicas()},
		{aSentinel, 's', "sentinel", w.Watched},
	}
	var expected []string
	for _, k := range all {
		if kinds&k.kind != 0 {
			expected = append(expected, k.word)
		}
	}
	for _, k := range all {
		if name == "" || name[0] != k.letter {
			continue
		}
		n, err := strconv.Atoi(name[1:])
		if err != nil || n < 1 || n > k.count || name[1:] != strconv.Itoa(n) {
			return fmt.Errorf("unknown %s %q: the world has %d", k.word, name, k.count)
		}
		if kinds&k.kind == 0 {
			return fmt.Errorf("%s is a %s: expected a %s", name, k.word, strings.Join(expected, " or a "))
		}
		return nil
	}
	return fmt.Errorf("unknown actor %q: expected c1, m1, r1, …", name)
}

// shape checks the number of arguments and that only the named options are given.
func (s Step) shape(args int, options ...string) error {
	if len(s.Args) != args {
		if args == 1 {
			return fmt.Errorf("expected 1 argument, got %d", len(s.Args))
		}
		return fmt.Errorf("expected %d arguments, got %d", args, len(s.Args))
	}
	if len(options) == 0 && len(s.Opts) > 0 {
		return fmt.Errorf("%s: expected no option", s.Opts[0].Name)
	}
	for i, o := range s.Opts {
		if slices.ContainsFunc(s.Opts[:i], func(other Option) bool { return other.Name == o.Name }) {
			return fmt.Errorf("%s is given twice", o.Name)
		}
		if _, err := oneOf(Option{"option", o.Name}, options); err != nil {
			return err
		}
	}
	return nil
}

func checkNothing(_ *Spec, s Step) error { return s.shape(0) }

func checkStart(w *Spec, s Step) error {
	if err := s.shape(1); err != nil || s.Args[0] == "all" {
		return err
	}
	return w.known(s.Args[0], aClient)
}

func applyStart(r *runner, s Step) {
	for _, c := range r.clients {
		if s.Args[0] == "all" || s.Args[0] == c.name() {
			c.start()
		}
	}
}

func checkPause(w *Spec, s Step) error {
	if err := s.shape(1, "for"); err != nil {
		return err
	}
	if _, err := duration(Option{"for", s.opt("for")}); err != nil {
		return err
	}
	return w.known(s.Args[0], anybody)
}

func applyPause(r *runner, s Step) {
	d, _ := duration(Option{"for", s.opt("for")})
	if p := r.process(s.Args[0]); p != nil {
		p.pause(d)
	} else {
		r.node(s.Args[0]).pause(d)
	}
}

// restartData is with what a node may come back: all, nothing, what was on disk.
var restartData = []string{"keep", "lose", "synced"}

func checkRestart(w *Spec, s Step) error {
	if err := s.shape(1, "data", "lose"); err != nil {
		return err
	}
	if s.opt("lose") != "" && s.opt("data") == "" {
		if err := s.timed("lose", true); err != nil {
			return err
		}
		return w.known(s.Args[0], aMaster|aReplica)
	}
	if s.opt("lose") != "" {
		return fmt.Errorf("expected one of data and lose")
	}
	if _, err := oneOf(Option{"data", s.opt("data")}, restartData); err != nil {
		return err
	}
	return w.known(s.Args[0], aMaster|aReplica|aSentinel)
}

// applyRestart starts a node with its data, without, or without the latest of it.
func applyRestart(r *runner, s Step) {
	if s.opt("lose") != "" {
		r.node(s.Args[0]).restartLosing(s.length("lose", 0))
		return
	}
	r.node(s.Args[0]).restart(s.opt("data"))
}

// remembers reports whether a step goes back in a node's past.
func (s *Scenario) remembers() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Verb == "restart" && step.opt("lose") != "" })
}

func checkReplica(w *Spec, s Step) error {
	if err := s.shape(1); err != nil {
		return err
	}
	return w.known(s.Args[0], aReplica)
}

// checkPromote refuses where Sentinels decide who is master.
func checkPromote(w *Spec, s Step) error {
	if w.Watched > 0 {
		return errGoverned
	}
	return checkReplica(w, s)
}

var errGoverned = errors.New("the servers of this world fail over by themselves: crash a master instead")

// applyPromote makes a replica master. In a cluster it is told to take over, whatever the
// others say.
func applyPromote(r *runner, s Step) {
	n := r.node(s.Args[0])
	if !r.w.cfg.Plan.Cluster {
		n.promote()
		return
	}
	if !n.down {
		takeOver := []string{"CLUSTER", "FAILOVER", "TAKEOVER"}
		n.meddle(trace.Event{Kind: trace.Command, Actor: r.w.nemesis, Peer: n.actor,
			Text: strings.Join(takeOver, " ")}, takeOver...)
	}
}

func applyRelease(r *runner, s Step) {
	if n := r.node(s.Args[0]); n.held > 0 {
		n.releaseReplication()
	}
}

func checkPartition(w *Spec, s Step) error {
	if err := s.shape(2, "way", "for"); err != nil {
		return err
	}
	if err := s.lasts(false); err != nil {
		return err
	}
	if s.opt("way") != "" {
		if _, err := oneOf(Option{"way", s.opt("way")}, []string{"both", "one"}); err != nil {
			return err
		}
	}
	names := func(side string) int { return strings.Count(side, ",") + 1 }
	if names(s.Args[0])*names(s.Args[1]) > maxLinks {
		return fmt.Errorf("expected at most %d links", maxLinks)
	}
	for _, side := range s.Args {
		for _, name := range strings.Split(side, ",") {
			if err := w.known(name, anybody); err != nil {
				return err
			}
		}
	}
	for _, a := range strings.Split(s.Args[0], ",") {
		for _, b := range strings.Split(s.Args[1], ",") {
			if w.talk(a, b) {
				return nil
			}
		}
	}
	return errSilent(s.Args[0], s.Args[1])
}

// talk reports whether two actors send each other messages.
func (w *Spec) talk(a, b string) bool {
	switch fromClient, toClient := a[0] == 'c', b[0] == 'c'; {
	case a == b, fromClient && toClient:
		return false
	case fromClient || toClient:
		return true
	}
	return w.Replicas > 0 || w.Cluster || w.Watched > 0
}

func errSilent(a, b string) error {
	return fmt.Errorf("%s and %s send each other nothing: expected a client and a server, or servers of which some "+
		"replicate or watch others", a, b)
}

// maxLinks is how many links one partition may cut, of both directions each.
const maxLinks = 1_000_000

func applyHeal(r *runner, _ Step) { r.heal() }

func checkDrop(w *Spec, s Step) error {
	if err := s.shape(2, "next", "after", "what"); err != nil {
		return err
	}
	return checkWhat(w, s)
}

// checkRule checks a step about messages: which ones it means.
func checkRule(w *Spec, s Step) error {
	if _, err := number(Option{"next", s.opt("next")}, 1, 1_000_000); err != nil {
		return err
	}
	if s.opt("after") != "" {
		if _, err := number(Option{"after", s.opt("after")}, 0, 1_000_000); err != nil {
			return err
		}
	}
	for _, name := range s.Args {
		if err := w.known(name, anybody); err != nil {
			return err
		}
	}
	from, to := s.Args[0], s.Args[1]
	asks, answers := s.Verb == "duplicate" || s.opt("what") == "request", slices.Contains(fromServers, s.opt("what"))
	switch {
	case !w.talk(from, to):
		return errSilent(from, to)
	case asks && from[0] != 'c':
		return fmt.Errorf("%s sends no requests: expected one from a client to a server", from)
	case answers && to[0] != 'c':
		return fmt.Errorf("%s gets no what=%s: expected one from a server to a client", to, s.opt("what"))
	}
	return nil
}

// fromServers is what servers send to clients.
var fromServers = []string{"reply", "message"}

func applyDrop(r *runner, s Step) {
	r.w.losses = append(r.w.losses, r.rule(s, s.opt("what")))
}

func (r *runner) rule(s Step, what string) *rule {
	l := &rule{step: s, link: link{r.actor(s.Args[0]), r.actor(s.Args[1])}, what: what}
	l.left, _ = strconv.Atoi(s.opt("next"))
	l.next = l.left
	l.after, _ = strconv.Atoi(s.opt("after"))
	return l
}

func checkDuplicate(w *Spec, s Step) error {
	if err := s.shape(2, "next", "after", "late"); err != nil {
		return err
	}
	if s.opt("late") != "" {
		if _, err := duration(Option{"late", s.opt("late")}); err != nil {
			return err
		}
	}
	return checkRule(w, s)
}

func applyDuplicate(r *runner, s Step) {
	l := r.rule(s, "request")
	if s.opt("late") != "" {
		l.late, _ = duration(Option{"late", s.opt("late")})
	}
	r.w.doubles = append(r.w.doubles, l)
}

func checkRun(w *Spec, s Step) error {
	if len(s.Args) < 2 || len(s.Args) < 3 && s.Args[1] != "FLUSHALL" {
		return fmt.Errorf("expected a master or replica, and a command with its arguments")
	}
	known := []string{"DEL", "FLUSHALL", "PERSIST", "PEXPIRE", "PUBLISH", "REPLICAOF", "SCRIPT", "SET", "SPUBLISH"}
	if _, err := oneOf(Option{"command", s.Args[1]}, known); err != nil {
		return err
	}
	return w.known(s.Args[0], aMaster|aReplica)
}

// applyRun runs a command.
func applyRun(r *runner, s Step) {
	n := r.node(s.Args[0])
	if n.down {
		return
	}
	args := s.Args[1:]
	e := trace.Event{Kind: trace.Command, Actor: r.w.nemesis, Peer: n.actor, Text: strings.Join(args, " ")}
	if e.Text == "SCRIPT LOAD all" {
		for _, script := range allScripts() {
			args = []string{"SCRIPT", "LOAD", script.Text}
			n.byHand(args...)
		}
	}
	n.meddle(e, args...)
}

func checkClock(w *Spec, s Step) error {
	if err := s.shape(1, "jump", "offset", "rate"); err != nil {
		return err
	}
	if len(s.Opts) != 1 {
		return fmt.Errorf("expected one of jump, offset and rate")
	}
	if err := w.known(s.Args[0], anybody); err != nil {
		return err
	}
	_, _, err := s.clock()
	return err
}

// clock reads the step's jump or offset, or its rate.
func (s Step) clock() (d time.Duration, ppb int64, err error) {
	o := s.Opts[0]
	if o.Name == "rate" {
		ppb, err = rate(o)
		return 0, ppb, err
	}
	d, err = signedDuration(Option{o.Name, strings.TrimPrefix(o.Value, "+")})
	return d, 0, err
}

func applyClock(r *runner, s Step) {
	jump, ppb, _ := s.clock()
	p := r.process(s.Args[0])
	if s.Opts[0].Name == "rate" {
		cause := r.w.emit(trace.Event{Kind: trace.Rate, Actor: r.w.nemesis, Peer: r.actor(s.Args[0]), A: ppb})
		if p != nil {
			p.setRate(ppb)
		} else {
			n := r.node(s.Args[0])
			n.clock.setRate(ppb)
			r.w.following(cause, n.reschedule)
		}
		return
	}
	c := r.clock(s.Args[0])
	if s.Opts[0].Name == "offset" {
		jump -= c.ahead()
	}
	cause := r.w.emit(trace.Event{Kind: trace.Jump, Actor: r.w.nemesis, Peer: r.actor(s.Args[0]), A: int64(jump)})
	c.jump(jump)
	if p == nil {
		r.w.following(cause, r.node(s.Args[0]).reschedule)
	}
}

// clock is the clock of a client or a node.
func (r *runner) clock(name string) *Clock {
	if p := r.process(name); p != nil {
		return p.ownClock()
	}
	return &r.node(name).clock
}
