package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenario is a parsed scenario file: a claim, a world, what is expected of it, and a
// story. It may be run by several goroutines at once.
type Scenario struct {
	Name   string // of the file, without its ending
	Claim  string // the file's first comment line
	World  Spec
	Expect []Expectation
	Steps  []Step
	Faults Faults
	Order  []string      // of an untimed run: its actions as words, see Action.Text
	For    time.Duration // how long a run lasts
	Seed   uint64        // seed= of the `run` line; Run takes that of Options

	file       string // that it was read from
	orderLines []int  // of the actions in Order
}

// Spec is the `world` line. Comments give the option that sets each field, with its
// default.
type Spec struct {
	Masters    int           // masters=1
	Replicas   int           // replicas=0, of each master
	Replicated int           // replicated=0: the only master with replicas, counted from 1; 0: each has them
	Cluster    bool          // cluster=3x1: masters that share the slots, with replicas of each
	Watched    int           // sentinels=0: Sentinels that watch the masters
	Quorum     int           // quorum=…: of the Sentinels; default: more than half
	Silence    time.Duration // down-after=…: silence after which Sentinels or nodes of a cluster take a server for dead
	Failover   time.Duration // failover-timeout=…: of Sentinels
	MinGood    int           // min-replicas=0: a master refuses writes unless so many replicas follow it closely
	Clients    int           // clients=2
	PerLock    int           // per-lock=100: how many clients share a lock
	Delay      Range         // delay=1ms..5ms, of a message, one way
	Lag        Range         // lag=1ms..5ms, of replication; default: delay
	Bound      time.Duration // bound=…: how long an acquire may take where progress is checked; default 2·ttl
	Load       Workload      // lock=mutex ttl=30s renew=on hold=… think=… rounds=0
	Fence      bool          // fence=on: the resource checks tokens; default: on for lock=fenced
	Pool       bool          // pool=on: each request of a client goes over a connection of its own
	Abort      bool          // abort=on: such a connection is closed when no answer comes, and drops what has not arrived
	Sync       bool          // sync=on or required: acquisitions are checked with WAIT
	EverySec   bool          // fsync=everysec: what a server has on disk is up to a second old; else fsync=always
	Words      []Option      // the line as it was given
}

// Expectation is one `check=verdict` of the `expect` line.
type Expectation struct {
	Check   string
	Verdict string
}

// Step is one `at` line, or one of its repetitions.
type Step struct {
	At   time.Duration // since the run began
	Verb string
	Args []string
	Opts []Option
	Line int // in the file

	Fault string // the kind of fault that it was drawn as; "" for a line of the file
}

// Option is one name=value of a step or of the `world` line.
type Option struct{ Name, Value string }

// opt returns the option's value, "" when it was not given.
func (s Step) opt(name string) string {
	for _, o := range s.Opts {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// Locks returns how many locks the clients share.
func (s *Spec) Locks() int { return max(1, (s.Clients+s.PerLock-1)/s.PerLock) }

// SyntaxError is an error in a scenario file. It prints as "file:line: reason".
type SyntaxError struct {
	File   string
	Line   int // from 1
	Reason string
}

// Error implements error. It leaves out the middle of a reason that quotes a very long
// line.
func (e *SyntaxError) Error() string {
	reason := e.Reason
	if most := 500; len(reason) > 4*most {
		reason = strings.ToValidUTF8(reason[:most], "") + " … " + strings.ToValidUTF8(reason[len(reason)-most:], "")
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, reason)
}

// parser reads one file.
type parser struct {
	s    *Scenario
	seen map[string]bool
}

// ParseScenario reads the text of a scenario file; file is its name, for errors. What
// follows a line of "----" is not part of it, nor is a byte order mark in front. Errors
// are of type *SyntaxError.
func ParseScenario(file, text string) (*Scenario, error) {
	name := strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".scenario")
	p := &parser{s: &Scenario{Name: name, file: file}, seen: map[string]bool{}}
	last := 0
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "----" {
			break
		}
		last = i + 1
		if err := p.line(line, i+1); err != nil {
			return nil, &SyntaxError{file, i + 1, err.Error()}
		}
	}
	for _, word := range []string{"world", "run"} {
		if !p.seen[word] {
			return nil, &SyntaxError{file, last, fmt.Sprintf("there is no %q line", word)}
		}
	}
	for _, check := range []func() *SyntaxError{p.check, p.checkFaults, p.checkOrder} {
		if err := check(); err != nil {
			return nil, &SyntaxError{file, err.Line, err.Reason}
		}
	}
	return p.s, nil
}

func (p *parser) line(line string, number int) error {
	if strings.HasPrefix(line, "#") {
		if p.s.Claim == "" {
			p.s.Claim = strings.TrimSpace(line[1:])
		}
		return nil
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if words[0] != "at" && words[0] != "expect" && words[0] != "order" && p.seen[words[0]] {
		return fmt.Errorf("a second %q line", words[0])
	}
	p.seen[words[0]] = true
	switch words[0] {
	case "world":
		return p.world(words[1:])
	case "expect":
		return p.expect(words[1:])
	case "at":
		return p.at(words[1:], number)
	case "order":
		return p.order(words[1:], number)
	case "faults":
		return p.faults(words[1:], number)
	case "run":
		return p.run(words[1:])
	}
	return fmt.Errorf("unknown word %q: expected world, expect, at, faults, order or run", words[0])
}

// option splits name=value.
func option(word string) (Option, error) {
	name, value, ok := strings.Cut(word, "=")
	if !ok || name == "" || value == "" {
		return Option{}, fmt.Errorf("%q: expected name=value", word)
	}
	return Option{name, value}, nil
}

func (p *parser) world(words []string) error {
	w := &p.s.World
	*w = Spec{Masters: 1, Clients: 2, PerLock: 100, Delay: Range{time.Millisecond, 5 * time.Millisecond}}
	w.Load = Workload{Kind: "mutex", TTL: 30 * time.Second, Renew: true}
	w.Load.Permits, w.Load.Count = 1, 1
	w.Load.Lease = Range{w.Load.TTL, w.Load.TTL}
	w.Load.Hold = Range{100 * time.Millisecond, 100 * time.Millisecond}
	for _, word := range words {
		o, err := option(word)
		if err != nil {
			return formOf(word, err)
		}
		if w.given(o.Name) {
			return fmt.Errorf("%s is given twice", o.Name)
		}
		w.Words = append(w.Words, o)
		if err := w.set(o); err != nil {
			return err
		}
	}
	if !w.given("lag") {
		w.Lag = w.Delay
	}
	if !w.given("fence") {
		w.Fence = findKind(w.Load.Kind).Tokens
	}
	if !w.given("bound") {
		w.Bound = 2 * w.Load.TTL
	}
	return cmp.Or(w.sensible(), w.idle(), w.beyond(), w.Plan().Check())
}

// MaxClients is how many clients a world can have. Each that is at work takes about 8 KB.
const MaxClients = 1_000_000

// sensible checks what the options mean together.
func (w *Spec) sensible() error {
	masters := findKind(w.Load.Kind).masters
	switch {
	case masters == aMajority && w.Replicas > 0:
		return fmt.Errorf("%s runs on independent masters: replicas must be 0", w.Load.Kind)
	case w.Replicated > w.Masters, w.Replicated > 0 && (w.Cluster || w.Replicas == 0):
		return fmt.Errorf("replicated=%d: expected replicas, and one of %d masters, outside of a cluster",
			w.Replicated, w.Masters)
	case w.Cluster && (w.given("masters") || w.given("replicas")):
		return fmt.Errorf("cluster=%dx%d says how many servers there are: expected no masters= and no replicas=",
			w.Masters, w.Replicas)
	case w.Cluster && w.Watched > 0:
		return fmt.Errorf("cluster=%dx%d: expected no sentinels", w.Masters, w.Replicas)
	case w.Cluster && masters == aMajority:
		return fmt.Errorf("lock=%s cannot run in a cluster: expected no cluster=", w.Load.Kind)
	case w.Watched > 0 && w.Load.Redisson:
		return fmt.Errorf("profile=redisson: expected no sentinels")
	case (w.Watched > 0 || w.Cluster) && w.Load.Guards > 0:
		return fmt.Errorf("guards= does not go with sentinels= or cluster=")
	case w.Quorum > w.Watched:
		return fmt.Errorf("quorum=%d: there are %d sentinels", w.Quorum, w.Watched)
	case masters == oneMaster && w.Masters > 1 && !w.Cluster:
		return fmt.Errorf("%s runs on one master: masters must be 1", w.Load.Kind)
	case w.Load.Redisson && !Modelled(w.Load.Kind):
		return fmt.Errorf("there is no model of Redisson's %s: expected lock=%s", w.Load.Kind,
			strings.Join(modelled(), ", "))
	case w.Load.Redisson && (w.Load.Cancel > 0 || w.Load.Compat > 0):
		return fmt.Errorf("profile=redisson: expected no cancel= and no compat316=")
	case w.Load.Redisson && w.Delay.Lo < time.Microsecond:
		return fmt.Errorf("profile=redisson asks without a pause: expected a delay of 1µs or more")
	case w.Load.Wait > 0 && w.Load.Once:
		return fmt.Errorf("once=on is a single attempt: expected no wait=")
	case w.Load.Broken && !w.Load.Redisson:
		return fmt.Errorf("broken=release: expected profile=redisson, which has the model that it breaks")
	case w.Load.Lease.Lo < time.Millisecond:
		return fmt.Errorf("ttl=%v: expected at least 1ms", w.Load.Lease.Lo)
	case w.Load.Lease.Lo < w.Load.Lease.Hi && w.Load.Kind == OwnKind:
		return fmt.Errorf("ttl: a lock=own has one lease: expected no range")
	case w.Load.Lease.Lo < w.Load.Lease.Hi && w.Load.Renew:
		return fmt.Errorf("ttl: only a fixed lease can be a range: expected renew=off, or no range")
	case max(w.Delay.Hi, w.Lag.Hi) > time.Hour:
		return fmt.Errorf("expected a delay and lag of at most 1h")
	case w.Bound <= 0:
		return fmt.Errorf("bound=%v: expected more than 0s", w.Bound)
	case w.Delay.Hi+w.Load.Hold.Hi+w.Load.Think.Hi < time.Microsecond:
		return fmt.Errorf("time would stand still: expected a delay, hold or think of 1µs or more")
	}
	return nil
}

func (p *parser) expect(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("expected: expect CHECK=holds|violated …")
	}
	for _, word := range words {
		o, err := option(word)
		if err != nil {
			return err
		}
		if _, err := oneOf(Option{"check", o.Name}, Checks); err != nil {
			return err
		}
		if _, err := oneOf(o, []string{"holds", "violated"}); err != nil {
			return err
		}
		if slices.ContainsFunc(p.s.Expect, func(e Expectation) bool { return e.Check == o.Name }) {
			return fmt.Errorf("%s is expected twice", o.Name)
		}
		p.s.Expect = append(p.s.Expect, Expectation{o.Name, o.Value})
	}
	return nil
}

func (p *parser) run(words []string) error {
	for i, word := range words {
		o, err := option(word)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(words[:i], func(other string) bool { return strings.HasPrefix(other, o.Name+"=") }) {
			return fmt.Errorf("%s is given twice", o.Name)
		}
		switch o.Name {
		case "for":
			p.s.For, err = duration(o)
		case "seed":
			p.s.Seed, err = strconv.ParseUint(o.Value, 10, 64)
			if err != nil {
				err = fmt.Errorf("seed=%s: expected a number from 0 to 2^64-1", o.Value)
			}
		default:
			err = fmt.Errorf("unknown run option %q: expected for or seed", o.Name)
		}
		if err != nil {
			return err
		}
	}
	if p.s.For <= 0 {
		return fmt.Errorf("run needs for=DURATION, above 0s")
	}
	return nil
}

func (p *parser) at(words []string, line int) error {
	if len(words) < 2 {
		return fmt.Errorf("expected: at TIME VERB …")
	}
	at, err := duration(Option{"time", words[0]})
	if err != nil {
		return err
	}
	s := Step{At: at, Verb: words[1], Line: line}
	for _, word := range words[2:] {
		if s.Verb == "run" || !strings.Contains(word, "=") { // a command's arguments may be anything
			s.Args = append(s.Args, word)
			continue
		}
		o, err := option(word)
		if err != nil {
			return err
		}
		s.Opts = append(s.Opts, o)
	}
	p.s.Steps = append(p.s.Steps, s)
	return nil
}
