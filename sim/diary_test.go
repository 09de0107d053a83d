// What the random tests of lockclient have in common. A run is what its seed says: it draws whatever
// happens from that, notes what does, and remembers the first promise that did not hold. A test that
// fails shows that, with the end of the notes and the command that runs the same again.

package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/lockclient"
)

var diaryLines = flag.Int("lines", 80, "how many of the last lines are shown of a run of a random test that failed")

// The settings of the clients, and the longest lease that a task asks for.
const (
	requestTimeout = time.Second
	watchdogLease  = 6 * time.Second
	fairPatience   = 4 * time.Second
	longestLease   = 12 * time.Second
)

// diary is what a run draws from, and what it notes.
type diary struct {
	w      *World
	seed   uint64 // of the draws that follow
	sync   bool   // replicas are asked to confirm what clients acquire
	closed bool   // a client was closed
	log    []string
	broken string
	ended  bool
}

// party is a process with its clients, one for each server that it uses.
type party struct {
	name    string
	p       *process
	rt      clientRuntime
	root    context.Context // which has no end
	clients []*lockclient.Client
	ahead   []time.Duration // by which the clock of each is ahead of rt's
	woken   time.Duration   // true time at which it last went on, or will
}

// newParty is a client of the world as a party.
func (d *diary) newParty(n int) *party {
	p := d.w.clients[n].process()
	root := &simCtx{p: p, parent: context.Background()}
	return &party{name: string(rune('A' + n)), p: p, rt: clientRuntime{p}, root: root}
}

func (pt *party) sleep(d time.Duration) { _, _ = pt.rt.NewGate().Wait(pt.root, d) }

// client is the first one of a party.
func (pt *party) client() *lockclient.Client { return pt.clients[0] }

// hires makes a client of a party for a server.
func (d *diary) hires(pt *party, id string, at *site, options ...lockclient.Option) {
	d.hiresAhead(0, pt, id, at, options...)
}

// hiresAhead makes one whose clock has another origin, by which it is ahead of the party's.
func (d *diary) hiresAhead(by time.Duration, pt *party, id string, at *site, options ...lockclient.Option) {
	usual := []lockclient.Option{
		lockclient.WithID(id), lockclient.WithTimeout(requestTimeout), lockclient.WithPoll(time.Second),
		lockclient.WithWatchdog(watchdogLease), lockclient.WithFairWait(fairPatience),
	}
	m := &mail{diary: d, transport: &transport{p: pt.p, group: at.group}, from: pt, site: at}
	pt.clients = append(pt.clients, lockclient.New(m, ahead{pt.rt, by}, append(usual, options...)...))
	pt.ahead = append(pt.ahead, by)
}

// ahead is a Runtime whose clock has another origin.
type ahead struct {
	clientRuntime
	by time.Duration
}

// Mono implements lockclient.Runtime.
func (a ahead) Mono() time.Duration { return a.clientRuntime.Mono() + a.by }

// WithDeadline implements lockclient.Runtime.
func (a ahead) WithDeadline(parent context.Context, at time.Duration) (context.Context, context.CancelFunc) {
	return a.clientRuntime.WithDeadline(parent, at-a.by)
}

// NewTimer implements lockclient.Runtime.
func (a ahead) NewTimer(f func()) lockclient.Timer {
	return aheadTimer{a.clientRuntime.NewTimer(f), a.by}
}

// aheadTimer is a Timer by such a clock.
type aheadTimer struct {
	lockclient.Timer
	by time.Duration
}

// Set implements lockclient.Timer.
func (t aheadTimer) Set(at time.Duration) { t.Timer.Set(at - t.by) }

// draw is a number below n.
func (d *diary) draw(n int) int {
	d.seed = mix(d.seed)
	return int(d.seed >> 33 % uint64(n))
}

func (d *diary) within(limit time.Duration) time.Duration {
	return time.Duration(d.draw(int(limit/time.Millisecond))) * time.Millisecond
}

// lease is a fixed one.
func (d *diary) lease() time.Duration {
	return []time.Duration{700 * time.Millisecond, 2 * time.Second, 5 * time.Second, longestLease}[d.draw(4)]
}

func (d *diary) note(format string, args ...any) {
	if d.broken != "" {
		return
	}
	d.log = append(d.log, fmt.Sprintf("%8.3f ", d.w.now.Seconds())+fmt.Sprintf(format, args...))
}

// breaks notes the first promise that does not hold.
func (d *diary) breaks(format string, args ...any) {
	if d.broken == "" {
		d.broken = fmt.Sprintf(format, args...)
	}
}

// run has a party do what a run consists of, which ends by itself before the limit.
func (d *diary) run(pt *party, limit time.Duration, open func()) {
	d.w.at(0, func() {
		pt.p.spawn(func() {
			open()
			d.ended = true
		})
	})
	_ = d.w.Run(limit)
	if d.broken == "" && !d.ended {
		d.breaks("somebody waits for ever")
	}
	d.w.Stop()
}

// report fails the test if a promise did not hold, and says how to see that again: flags is the
// first part of the names of the test's flags.
func (d *diary) report(t *testing.T, flags string, seed uint64, more ...string) {
	t.Helper()
	again := fmt.Sprintf("go test ./sim -run %s -%s.runs 1 -%s.seed %d %s", t.Name(), flags, flags, seed,
		strings.Join(more, " "))
	require.NoError(t, d.w.err, again)
	if d.broken != "" {
		t.Fatalf("%s\n%s\n%s", again, d.broken, strings.Join(d.log[max(0, len(d.log)-*diaryLines):], "\n"))
	}
}

// expects demands that an error is one of those that are documented.
func (d *diary) expects(err error, op string, documented ...error) {
	var refused *lockclient.ServerError
	if d.closed {
		documented = append(documented, lockclient.ErrClosed)
	}
	if d.sync {
		documented = append(documented, lockclient.ErrReplication)
	}
	if err != nil && !errors.As(err, &refused) && !isAny(err, documented...) {
		d.breaks("%s returned %v", op, err)
	}
}

// isAny tells whether an error is one of those.
func isAny(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(target error) bool { return errors.Is(err, target) })
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

// ask asks a server at this instant.
func (d *diary) ask(place int, args ...string) resp.Value {
	return d.w.groups[place].master.byHand(args...)
}

// nothingIsLeft demands that there is no key, but those, and those that begin so before a colon.
func (d *diary) nothingIsLeft(but ...string) {
	if key := d.leftover(but...); key != "" {
		d.breaks("%s is left", key)
	}
}

// leftover is a key that nothingIsLeft would find, "" if there is none.
func (d *diary) leftover(but ...string) string {
	for _, n := range d.w.nodes {
		if n.down || n.engine == nil || n.engine.IsReplica() {
			continue
		}
		for _, key := range n.data().Keys() {
			begins := func(prefix string) bool { return key == prefix || strings.HasPrefix(key, prefix+":") }
			if living(n.data(), []byte(key)) != datastore.None && !slices.ContainsFunc(but, begins) {
				return fmt.Sprintf("%q at %s", key, n.name)
			}
		}
	}
	return ""
}

// data is what a node keeps, as nobody's command sees it.
func (n *node) data() *datastore.DB { return n.engine.Keyspace().DB(0) }

// ttl is PTTL of a key.
func (n *node) ttl(key string) int64 {
	db := n.data()
	if living(db, []byte(key)) == datastore.None {
		return -2
	}
	deadline, ok := db.Deadline([]byte(key))
	if !ok {
		return -1
	}
	return deadline - n.clock.Wall().UnixMilli()
}
