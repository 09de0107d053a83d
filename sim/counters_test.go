// A random test of what counts. Several tasks of two clients call at random everything that a semaphore,
// a semaphore of permits that expire, or a latch offers, while requests, replies and messages are lost
// or late, replicas do not confirm, or one of the clients is closed or dies. Each call is told the truth
// about what it has done, and its error is documented; nothing is counted twice; a permit that is relied
// on has a lease on the server; nobody waits in vain, and in the end nothing is left in doubt.

package sim

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/luaengine"
	"minikv/trace"
)

var (
	countersSeed = flag.Uint64("counters.seed", 1, "of the first run of TestCounters")
	countersRuns = flag.Int("counters.runs", 800, "how many runs it makes, each with the seed after the last one's")
	countersKind = flag.String("counters.kind", "", "of the runs that it makes: semaphore, permits, latch, or any")
)

func TestCounters(t *testing.T) {
	lua := NewLua()
	seeds := []uint64{1000640} // an Extend of a permit comes after a renewal that was sent later, and is answered first
	for i := range *countersRuns {
		seeds = append(seeds, *countersSeed+uint64(i))
	}
	for _, seed := range seeds {
		b := newBank(seed, lua)
		if *countersKind != "" && b.kind != *countersKind {
			b.w.Stop()
			continue
		}
		first := b.branches[0]
		b.run(first.party, time.Hour, func() { b.works(first) })
		b.report(t, "counters", seed)
	}
}

// bank is one run.
type bank struct {
	diary
	site     site
	kind     string
	trade    trade
	branches []*branch
	single   bool                // nobody takes more than one permit at a time
	pace     time.Duration       // how long a task pauses at most
	prompt   bool                // waiters trust in messages alone
	denies   bool                // servers refuse what they should not
	closes   bool                // the second branch, at some time
	dies     bool                // it does
	loses    bool                // the server loses what it has, at some time
	open     []*visit            // that are under way
	all      []*visit            // and those that are over
	records  map[string]*visit   // by what their requests leave
	copied   map[string]bool     // those of them that a replica has confirmed
	history  map[string][]figure // by key
}

// trade is what a run deals in.
type trade interface {
	// act does one thing for a task.
	act(t *teller)
	// close gives back what a task has.
	close(t *teller)
	// executed looks at what the server has just executed.
	executed(script string, keys, args []string)
	// hears is told of what happens.
	hears(e lockclient.Event)
	// enough tells whether what a visit waits for can be had, and how long it may take to notice.
	enough(v *visit) (enough bool, patience time.Duration)
	// serve helps those who wait when nobody else does.
	serve(t *teller)
	// look looks at what tasks have.
	look()
	// loses has the server lose something.
	loses()
	// over looks at what is left soon after all is over.
	over()
	// settled looks at what is left when all is over and nothing is lost any more.
	settled()
}

// branch is a client with its tasks.
type branch struct {
	*party
	old  bool // it speaks the protocol of 3.16
	busy int  // tasks under way
	shut bool // it is closed
	gone bool // it is dead
}

// figure is what a count was from some time on.
type figure struct {
	at  time.Duration
	n   int64
	how string // the script
}

// none is the count of a key that does not exist.
const none = -1 << 40

func newBank(seed uint64, lua *luaengine.Engine) *bank {
	b := &bank{records: map[string]*visit{}, copied: map[string]bool{}, history: map[string][]figure{}}
	b.w = NewWorld(Config{Seed: seed, Lua: lua, Plan: cluster.Plan{Masters: 1}, Locks: 1, Details: true,
		Delay: Range{time.Millisecond, 5 * time.Millisecond}, Observers: []func(*trace.Event){b.observe}})
	b.w.addClients(2, 1, &Workload{}, nil)
	b.seed = mix(seed)
	b.kind = []string{"semaphore", "permits", "latch"}[b.draw(3)]
	b.site.fates = []int{0, 4, 12, 30}[b.draw(4)]
	b.single = b.draw(2) == 0
	b.prompt = b.site.fates == 0 && b.draw(2) == 0
	b.sync, b.denies = b.draw(3) == 0, b.draw(8) == 0
	b.pace = []time.Duration{150 * time.Millisecond, time.Second, time.Second}[b.draw(3)]
	if b.draw(3) == 0 {
		b.site.lag = requestTimeout * 9 / 10
	}
	if b.prompt {
		b.site.lag /= 45
		b.site.mild = b.draw(2) == 0
	}
	end := b.draw(6)
	b.closes, b.dies = !b.prompt && end == 0, !b.prompt && end == 1
	b.single, b.loses = b.single || b.prompt, b.draw(8) == 0 && !b.prompt && b.kind != "latch"
	b.site.refusals = []string{"LOADING Redis is loading", "OOM command not allowed", "MISCONF no disk", "TRYAGAIN later"}
	if b.denies {
		b.site.refusals = append(b.site.refusals, "NOPERM this key")
	}
	if b.site.mild {
		b.site.fates, b.site.refusals = 20, []string{"LOADING Redis is loading"}
	}
	b.site.group, b.site.timid, b.site.resets = b.w.groups[0], true, true
	b.site.claims, b.site.confirmed = b.sync, b.confirm
	for n := range 2 {
		b.branches = append(b.branches, &branch{party: b.newParty(n), old: b.draw(4) == 0})
	}
	b.describe()
	for _, name := range lockclient.ShippedNames() {
		b.ask(0, "SCRIPT", "LOAD", lockclient.Shipped(name).Text)
	}
	switch b.kind {
	case "semaphore":
		b.trade = newVault(b)
	case "permits":
		b.trade = newRental(b)
	case "latch":
		b.trade = newGates(b)
	}
	return b
}

// describe notes what sort of a run it is.
func (b *bank) describe() {
	at, old := &b.site, []bool{b.branches[0].old, b.branches[1].old}
	b.note("%s, 3.16: %v, %d%% of all requests meet a fate", b.kind, old, at.fates)
	b.note("one at a time: %v, woken by messages only: %v, those late by %v, mild: %v",
		b.single, b.prompt, at.lag, at.mild)
	b.note("replicas: %v, NOPERM: %v, it is closed: %v, dies: %v, the server forgets: %v",
		b.sync, b.denies, b.closes, b.dies, b.loses)
}

// opens makes the client of a branch.
func (b *bank) opens(br *branch) {
	options := []lockclient.Option{lockclient.WithPoll(b.poll()), lockclient.WithObserver(b.hears)}
	if br.old {
		options = append(options, lockclient.Compat316())
	}
	b.hires(br.party, br.name, &b.site, options...)
}

// works lets everybody work, and looks at what they leave. It is a task of the first branch.
func (b *bank) works(first *branch) {
	for n, br := range b.branches {
		b.opens(br)
		for i := range 4 {
			t := &teller{b: b, br: br, who: string(rune('a'+n*4+i)) + ":"}
			br.busy++
			br.p.spawn(func() {
				t.work()
				br.busy--
			})
		}
	}
	b.w.at(b.w.now+b.within(8*time.Second), func() { b.ends(b.branches[1]) })
	if b.loses {
		b.w.at(b.w.now+b.within(6*time.Second), b.trade.loses)
	}
	banker := &teller{b: b, br: first, who: "banker:"}
	for b.busy() > 0 && b.broken == "" {
		first.sleep(b.within(200*time.Millisecond) + time.Millisecond)
		b.look()
		if n := b.waiting(); n > 0 && n == b.busy() {
			b.trade.serve(banker)
		}
	}
	b.note("all is over")
	b.site.fates = 0
	first.sleep(8 * time.Second)
	b.trade.over()
	first.sleep(time.Minute)
	b.look()
	b.settled()
	first.sleep(12 * time.Minute)
	b.nothingIsLeft("a")
}

// ends closes a branch, or has it die, in such runs.
func (b *bank) ends(br *branch) {
	switch {
	case b.dies:
		b.note("the second branch dies")
		br.gone = true
		br.p.crash()
	case b.closes:
		br.p.spawn(func() {
			b.note("the second branch is closed")
			br.shut = true
			for _, v := range b.open {
				if v.t.br == br {
					v.until = b.limit(v.until, b.w.now+b.grace())
				}
			}
			br.client().Close()
		})
	}
}

// limit is the earlier of two times; negative: none.
func (b *bank) limit(a, c time.Duration) time.Duration {
	if a < 0 {
		return c
	}
	return min(a, c)
}

// poll is how long waiters trust in messages.
func (b *bank) poll() time.Duration {
	if b.prompt {
		return time.Hour
	}
	return time.Second
}

// patience is how long it may take to notice that the wait is over.
func (b *bank) patience() time.Duration {
	if b.prompt {
		return 150*time.Millisecond + b.site.lag
	}
	return b.poll() + b.grace()
}

// grace is how much longer than it waits a call may take.
func (b *bank) grace() time.Duration {
	if b.site.fates == 0 {
		return 100 * time.Millisecond
	}
	return 4 * requestTimeout
}

// busy is how many tasks are under way.
func (b *bank) busy() int {
	n := 0
	for _, br := range b.branches {
		if !br.gone {
			n += br.busy
		}
	}
	return n
}

// waiting is how many calls wait without a limit.
func (b *bank) waiting() int {
	n := 0
	for _, v := range b.open {
		if v.until < 0 && !v.t.br.gone {
			n++
		}
	}
	return n
}

// lossy tells whether requests and messages get lost.
func (b *bank) lossy() bool { return b.site.fates > 0 && !b.site.mild }

func (b *bank) hears(e lockclient.Event) {
	b.note("%s hears: %s %s %v", e.Owner, e.Kind, e.Key, e.Err)
	b.trade.hears(e)
}

// confirm notes that a replica has what a request has left.
func (b *bank) confirm(keys, _ []string, _ bool) { b.copied[keys[len(keys)-1]] = true }

// observe looks at what the server has executed.
func (b *bank) observe(e *trace.Event) {
	if e.Kind != trace.Execute {
		return
	}
	script, rest, _ := strings.Cut(e.Text, "(")
	words, _, _ := strings.Cut(rest, ")")
	keys, args, isScript := strings.Cut(words, "; ")
	if !isScript {
		return
	}
	b.trade.executed(script, strings.Split(keys, ", "), strings.Split(args, ", "))
	b.attend()
}

// look looks at everything.
func (b *bank) look() {
	b.attend()
	b.trade.look()
}

// attend demands that calls end in time.
func (b *bank) attend() {
	for _, v := range b.open {
		if v.t.br.gone {
			continue
		}
		if v.until >= 0 && b.w.now > v.until {
			b.breaks("%s %s for too long: since %v", v.t.who, v.what, v.begun)
		}
		enough, patience := false, time.Duration(0)
		if v.waits {
			enough, patience = b.trade.enough(v)
		}
		switch {
		case !enough:
			v.since = -1
		case v.since < 0:
			v.since = b.w.now
		case b.w.now-v.since > patience:
			b.breaks("%s %s in vain: it could go on since %v", v.t.who, v.what, v.since)
		}
	}
}

// settled looks at what every call has done in the end.
func (b *bank) settled() {
	for _, v := range b.all {
		v.settled()
	}
	b.trade.settled()
}

// number is the count at a key now, or none.
func (b *bank) number(key string) int64 {
	text, ok, err := b.w.groups[0].master.engine.Keyspace().DB(0).String([]byte(key))
	if err != nil || !ok {
		return none
	}
	n, _ := lockclient.Reply{Kind: lockclient.TextReply, Text: text}.Integer()
	return n
}

// count notes what the count at a key is now, and returns what it was.
func (b *bank) count(key, how string) (before, now int64) {
	before, now = none, b.number(key)
	list := b.history[key]
	if n := len(list); n > 0 {
		before = list[n-1].n
	}
	if before != now {
		b.note("    %s is %d: %s", key, now, how)
		b.history[key] = append(list, figure{b.w.now, now, how})
	}
	return before, now
}

// was are the figures of a key that were true at some time from since to until.
func (b *bank) was(key string, since, until time.Duration) []figure {
	list := slices.Concat([]figure{{-1, none, ""}}, b.history[key])
	for len(list) > 1 && list[1].at < since {
		list = list[1:]
	}
	for len(list) > 1 && list[len(list)-1].at > until {
		list = list[:len(list)-1]
	}
	return list
}
