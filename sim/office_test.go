package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/lockclient"
)

// office is what a random run of locks is made of: its draws, who has what, and the first
// promise that did not hold.
type office struct {
	w       *World
	p       *process // of who looks, and carries what is late
	rt      clientRuntime
	root    context.Context
	seed    uint64 // of the draws that follow
	busy    int    // tasks under way
	desks   []*desk
	excuses func(*desk) bool // tells of what may be gone although somebody relies on it; may be nil
	log     []string
	broken  string
	ended   bool
}

// desk is where one acquisition is believed in.
type desk struct {
	client  *lockclient.Client
	rt      clientRuntime
	held    *lockclient.Held
	key     string
	shares  []share
	excused bool // the lock was forced, and its client may not know yet
	given   bool // back
}

// share is what an acquisition has on the servers: need of the places.
type share struct {
	places     []int
	need       int
	key, owner string
	reads      bool
	text       bool // it is a string
	quorum     bool // it is a Redlock's
}

func newOffice(w *World, p *process, seed uint64) *office {
	return &office{w: w, p: p, rt: clientRuntime{p}, root: rootOf(p), seed: mix(seed)}
}

// rootOf is a context of a process that has no end.
func rootOf(p *process) context.Context { return &simCtx{p: p, parent: context.Background()} }

// draw is a number below n.
func (o *office) draw(n int) int {
	o.seed = mix(o.seed)
	return int(o.seed >> 33 % uint64(n))
}

func (o *office) within(d time.Duration) time.Duration {
	return time.Duration(o.draw(int(d/time.Millisecond))) * time.Millisecond
}

func (o *office) note(format string, args ...any) {
	if o.broken != "" {
		return
	}
	o.log = append(o.log, fmt.Sprintf("%8.3f ", o.w.now.Seconds())+fmt.Sprintf(format, args...))
}

// breaks notes the first promise that does not hold.
func (o *office) breaks(format string, args ...any) {
	if o.broken == "" {
		o.broken = fmt.Sprintf(format, args...)
	}
}

// run opens the office, and lets it work.
func (o *office) run(open func()) {
	o.w.at(0, func() { o.p.spawn(open) })
	_ = o.w.Run(10 * time.Minute)
	if o.broken == "" && !o.ended {
		o.breaks("somebody waits for ever")
	}
	o.w.Stop()
}

// report fails the test if a promise did not hold, and says how to see that again.
func (o *office) report(t *testing.T, again string) {
	require.NoError(t, o.w.err, again)
	if o.broken != "" {
		t.Fatalf("%s\n%s\n%s", again, o.broken, strings.Join(o.log[max(0, len(o.log)-*ownersLines):], "\n"))
	}
}

func (o *office) sleep(d time.Duration) { _, _ = o.rt.NewGate().Wait(o.root, d) }

// ask asks a server at this instant.
func (o *office) ask(place int, args ...string) resp.Value {
	return o.w.groups[place].master.byHand(args...)
}

// nothingIsLeft demands that a server has no key, but those that begin so.
func (o *office) nothingIsLeft(place int, but ...string) {
	for _, key := range o.ask(place, "KEYS", "*").List {
		begins := func(prefix string) bool { return strings.HasPrefix(key.Str, prefix) }
		if !slices.ContainsFunc(but, begins) {
			o.breaks("%q is left", key.Str)
		}
	}
}

// expects demands that an error is one of those that are documented.
func (o *office) expects(err error, op string, documented ...error) {
	var refused *lockclient.ServerError
	is := func(target error) bool { return errors.Is(err, target) }
	if err != nil && !errors.As(err, &refused) && !slices.ContainsFunc(documented, is) {
		o.breaks("%s returned %v", op, err)
	}
}

// sits enters an acquisition: nobody else may rely on what excludes it.
func (o *office) sits(d *desk) {
	for _, other := range o.desks {
		if o.trusted(d) && o.trusted(other) && d.excludes(other) {
			o.breaks("%s has %s, and so has %s, until %v", d.held.Owner(), d.key, other.held.Owner(), other.held.Until())
		}
	}
	o.desks = append(o.desks, d)
}

// anyOwner is one that a client has, or had, "" if there is none yet: also one whom nobody named.
// That of a Redlock is nobody else's.
func (o *office) anyOwner(c *lockclient.Client) string {
	of := slices.DeleteFunc(slices.Clone(o.desks), func(d *desk) bool {
		return d.client != c || slices.ContainsFunc(d.shares, func(s share) bool { return s.quorum })
	})
	if len(of) == 0 {
		return ""
	}
	return ownerOf(of[o.draw(len(of))].held.Owner())
}

// ownerOf is an owner on either side.
func ownerOf(owner string) string { return strings.TrimSuffix(owner, ":write") }

// excludes tells whether two acquisitions exclude each other.
func (d *desk) excludes(other *desk) bool {
	for _, a := range d.shares {
		for _, b := range other.shares {
			if a.excludes(b) || a.outnumbers(other) || b.outnumbers(d) {
				return true
			}
		}
	}
	return false
}

// excludes tells whether two shares cannot both be met.
func (c share) excludes(other share) bool {
	if c.key != other.key || c.reads && other.reads || ownerOf(c.owner) == ownerOf(other.owner) {
		return false
	}
	all := slices.Clone(c.places)
	for _, place := range other.places {
		if !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return c.need+other.need > len(all)
}

// outnumbers tells whether somebody has, one by one, so many places that no quorum is left.
func (c share) outnumbers(d *desk) bool {
	free := len(c.places)
	for i, place := range c.places {
		has := func(one share) bool {
			return one.key == c.key && !one.quorum && slices.Contains(one.places, place)
		}
		if slices.ContainsFunc(d.shares, has) && !slices.Contains(c.places[:i], place) {
			free--
		}
	}
	return c.quorum && free < c.need
}

// trusted tells whether a task may rely on what it has, and nothing excuses its loss.
func (o *office) trusted(d *desk) bool {
	return !d.excused && (o.excuses == nil || !o.excuses(d)) && d.relies()
}

// relies tells whether a task may rely on what it has.
func (d *desk) relies() bool {
	return !d.given && d.held.Until() > d.rt.Mono() && !isClosed(d.held.Lost())
}

// isClosed tells whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// look demands that the servers have a lease of what somebody relies on.
func (o *office) look() {
	o.desks = slices.DeleteFunc(o.desks, func(d *desk) bool { return d.given || isClosed(d.held.Lost()) })
	for _, d := range o.desks {
		if !o.trusted(d) {
			continue
		}
		least := d.rt.p.clock.until(d.held.Until()) - o.w.now
		for _, c := range d.shares {
			o.backs(d, c, least)
		}
	}
}

// backs demands that enough servers have what a share says for another while.
func (o *office) backs(d *desk, c share, least time.Duration) {
	met := 0
	for _, place := range c.places {
		if o.left(place, c) >= least.Truncate(time.Millisecond) {
			met++
		}
	}
	if met >= c.need {
		return
	}
	has := ""
	for _, place := range c.places {
		has += fmt.Sprintf("; %d for %v: %s", place, o.left(place, c), resp.Inline(o.ask(place, c.state(), c.key)))
	}
	o.breaks("%s relies on %s for another %v, of %s the servers have%s", d.held.Owner(), d.key, least, c.key, has)
}

// state is the command that shows what a share is about.
func (c share) state() string {
	if c.text {
		return "GET"
	}
	return "HGETALL"
}

// left is for how long a server has the lease of a share, negative if it has none.
func (o *office) left(place int, c share) time.Duration {
	left := o.ask(place, "PTTL", c.key).Int
	switch {
	case c.text:
		if o.ask(place, "GET", c.key).Str != c.owner {
			return -2
		}
	case o.ask(place, "HGET", c.key, c.owner).Str == "":
		return -2
	case c.reads:
		left = min(left, o.ask(place, "PTTL", "{"+c.key+"}:"+c.owner+":rwlock_timeout:1").Int)
	}
	clock := &o.w.groups[place].master.clock
	return clock.until(clock.Mono()+time.Duration(left)*time.Millisecond) - o.w.now
}
