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

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/lockclient"
	"minikv/luaengine"
)

var (
	ownersSeed  = flag.Uint64("owners.seed", 1, "of the first run of TestNamedOwners")
	ownersLines = flag.Int("owners.lines", 80, "how many of the last lines of a run that failed are shown")
	ownersRuns  = flag.Int("owners.runs", 1000, "how many runs it makes, each with the seed after the last one's")
)

// Several tasks that act in the name of one owner, which may be one that was drawn, and others
// beside them, lock, re-enter, extend, unlock and force, while requests and replies are lost or late: a run
// is what its seed says. Never do two owners have what excludes the other; while a hold
// may be relied on the server has a lease of it that lasts as long; and in the end
// nothing is left.
func TestNamedOwners(t *testing.T) {
	lua := NewLua()
	for i := range *ownersRuns {
		seed := *ownersSeed + uint64(i)
		o := newOffice(seed, lua)
		o.run()
		require.NoError(t, o.w.err, "seed %d", seed)
		if o.broken != "" {
			t.Fatalf("go test ./sim -run TestNamedOwners -owners.runs 1 -owners.seed %d\n%s\n%s", seed, o.broken,
				strings.Join(o.log[max(0, len(o.log)-*ownersLines):], "\n"))
		}
	}
}

const (
	ownersTimeout  = time.Second
	ownersWatchdog = 6 * time.Second
	ownersLease    = 12 * time.Second // the longest
)

// office is one run.
type office struct {
	w       *World
	p       *process
	rt      clientRuntime
	root    context.Context
	seed    uint64 // of the draws that follow
	kind    string
	clients []*lockclient.Client
	fates   int  // of a hundred requests so many meet one
	forces  bool // somebody forces locks
	leases  bool // of fixed length are asked for
	old     bool // the protocol of 3.16 is spoken
	busy    int  // tasks under way
	desks   []*desk
	forcing int           // requests under way that force a
	forced  time.Duration // when the last one was over
	log     []string
	broken  string
	ended   bool
}

// desk is where one acquisition is believed in.
type desk struct {
	client  *lockclient.Client
	held    *lockclient.Held
	key     string
	reads   bool
	excused bool // the lock was forced, and its client may not know yet
	given   bool // back
}

func newOffice(seed uint64, lua *luaengine.Engine) *office {
	w := NewWorld(Config{Seed: seed, Lua: lua, Plan: cluster.Plan{Masters: 1}, Locks: 1,
		Delay: Range{time.Millisecond, 5 * time.Millisecond}})
	p := oneClient(w, &Workload{}).p
	o := &office{w: w, p: p, rt: clientRuntime{p}, root: &simCtx{p: p, parent: context.Background()}, seed: mix(seed)}
	kinds := []string{"mutex", "mutex", "fair", "fair", "rw", "rw", "rw", "fenced", "spin", "nonreentrant", "simple",
		"multi"}
	o.kind = kinds[o.draw(len(kinds))]
	o.fates = []int{0, 4, 12, 30}[o.draw(4)]
	o.forces, o.leases = o.draw(5) == 0 && o.kind != "multi", o.draw(3) > 0
	o.old = o.draw(4) == 0
	o.note("%s, 3.16: %v, %d%% of all requests meet a fate, locks are forced: %v, leases are fixed: %v",
		o.kind, o.old, o.fates, o.forces, o.leases)
	return o
}

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

func (o *office) run() {
	o.w.at(0, func() { o.p.spawn(o.open) })
	_ = o.w.Run(10 * time.Minute)
	if o.broken == "" && !o.ended {
		o.breaks("somebody waits for ever")
	}
	o.w.Stop()
}

// open lets everybody work, and looks at what they leave.
func (o *office) open() {
	for n := range 2 {
		options := []lockclient.Option{
			lockclient.WithID(string(rune('A' + n))), lockclient.WithTimeout(ownersTimeout), lockclient.WithPoll(time.Second),
			lockclient.WithWatchdog(ownersWatchdog), lockclient.WithFairWait(4 * time.Second),
			lockclient.WithObserver(o.hears),
		}
		if o.old {
			options = append(options, lockclient.Compat316())
		}
		o.clients = append(o.clients, lockclient.New(&mail{o, &transport{p: o.p, group: o.w.groups[0]}}, o.rt, options...))
	}
	for i, name := range []string{"me", "me", "me", "", "you", "you", ""} {
		client := o.clients[i/4]
		o.busy++
		o.rt.Go(func() {
			o.work(fmt.Sprintf("task %d", i), client, name)
			o.busy--
		})
	}
	for o.busy > 0 && o.broken == "" {
		o.sleep(o.within(200*time.Millisecond) + time.Millisecond)
		o.look()
	}
	if o.calm() {
		o.sleep(3 * time.Second)
		o.nothingIsLeft("redisson_lock_token", "redisson_unlock_latch")
	}
	o.fates = 0
	o.sleep(2*ownersLease + 30*time.Second)
	o.nothingIsLeft("redisson_lock_token")
	o.ended = true
}

// calm tells of a run in which no lock can be lost.
func (o *office) calm() bool { return o.fates == 0 && !o.forces && !o.leases }

// nothingIsLeft demands that there is no key, but those that begin so.
func (o *office) nothingIsLeft(but ...string) {
	for _, key := range o.ask("KEYS", "*").List {
		begins := func(prefix string) bool { return strings.HasPrefix(key.Str, prefix) }
		if !slices.ContainsFunc(but, begins) {
			o.breaks("%q is left", key.Str)
		}
	}
}

// hears is told of what happens to locks: where all goes well none is lost.
func (o *office) hears(e lockclient.Event) {
	o.note("%s hears: %s %s %v", e.Owner, e.Kind, e.Key, e.Err)
	if e.Kind == lockclient.Lost && o.calm() && o.kind != "simple" && o.busy > 0 {
		o.breaks("%s has lost %s, and nothing has happened", e.Owner, e.Key)
	}
}

func (o *office) sleep(d time.Duration) { _, _ = o.rt.NewGate().Wait(o.root, d) }

// ask asks the server at this instant.
func (o *office) ask(args ...string) resp.Value { return o.w.groups[0].master.byHand(args...) }

// lock names a lock.
func (o *office) lock(c *lockclient.Client, key string) (l *lockclient.Lock, reads bool) {
	switch o.kind {
	case "fair":
		return c.Fair(key), false
	case "fenced":
		return c.Fenced(key), false
	case "spin":
		return c.Spin(key), false
	case "nonreentrant":
		return c.NonReentrant(key), false
	case "simple":
		return c.Simple(key), false
	case "multi":
		return lockclient.Multi(c.Mutex(key), c.Fair(key+"'")), false
	case "rw":
		if o.draw(2) == 0 {
			return c.RW(key).R(), true
		}
		return c.RW(key).W(), false
	}
	return c.Mutex(key), false
}

// work is what one task does.
func (o *office) work(who string, c *lockclient.Client, name string) {
	var mine []*desk
	for range 4 + o.draw(10) {
		o.sleep(o.within(1500 * time.Millisecond))
		if o.broken != "" {
			return
		}
		switch action := o.draw(20); {
		case action < 8 || len(mine) == 0:
			if d := o.take(who, c, name, mine); d != nil {
				mine = append(mine, d)
			}
		case action < 12:
			d := mine[o.draw(len(mine))]
			lease := o.lease()
			o.note("%s extends %s by %v", who, d.key, lease)
			err := d.held.Extend(o.root, lease)
			o.note("%s extends %s: %v", who, d.key, err)
			o.expects(err, "Extend", lockclient.ErrLost, lockclient.ErrUnknown, lockclient.ErrNotSent)
		case action == 12 && o.forces:
			o.force(who, c)
		default:
			i := o.draw(len(mine))
			o.giveBack(who, mine[i])
			mine = slices.Delete(mine, i, i+1)
		}
		o.look()
	}
	for _, d := range slices.Backward(mine) {
		o.giveBack(who, d)
	}
}

// lease is a fixed lease.
func (o *office) lease() time.Duration {
	return []time.Duration{700 * time.Millisecond, 2 * time.Second, 5 * time.Second, ownersLease}[o.draw(4)]
}

// take asks for a lock, perhaps within what the task has.
func (o *office) take(who string, c *lockclient.Client, name string, mine []*desk) *desk {
	key := []string{"a", "a", "b"}[o.draw(3)]
	l, reads := o.lock(c, key)
	ctx, wait := o.root, o.within(3*time.Second)*time.Duration(o.draw(2))
	opts := []lockclient.LockOption{lockclient.Wait(wait)}
	if o.draw(8) == 0 {
		name = o.anyOwner(c)
	}
	if name != "" && o.draw(8) > 0 {
		opts = append(opts, lockclient.As(name))
	}
	if o.leases && o.draw(2) == 0 {
		opts = append(opts, lockclient.Lease(o.lease()))
	}
	inside := ""
	if len(mine) > 0 && o.draw(3) > 0 {
		outer := mine[o.draw(len(mine))]
		inside, ctx = " inside "+outer.key, outer.held.In(ctx)
	}
	if o.draw(6) == 0 && !o.calm() {
		limited, cancel := o.rt.WithDeadline(ctx, o.rt.Mono()+o.within(2*time.Second))
		defer cancel()
		ctx = limited
	}
	o.note("%s asks for %s as %q (reads: %v)%s, waits %v", who, key, name, reads, inside, wait)
	asked := o.w.now
	held, err := l.Lock(ctx, opts...)
	if err != nil {
		o.note("%s: %v", who, err)
		o.expects(err, "Lock", lockclient.ErrNotAcquired, lockclient.ErrUnknown, lockclient.ErrNotSent, lockclient.ErrLost,
			lockclient.ErrDeadlock, context.DeadlineExceeded)
		return nil
	}
	d := &desk{client: c, held: held, key: key, reads: reads, excused: key == "a" && asked <= o.forced}
	o.note("%s has %s as %s until %v", who, key, held.Owner(), held.Until())
	for _, other := range o.desks {
		if o.trusted(d) && o.trusted(other) && other.key == key && ownerOf(other) != ownerOf(d) && !(reads && other.reads) {
			o.breaks("%s has %s, and so has %s, until %v", held.Owner(), key, other.held.Owner(), other.held.Until())
		}
	}
	o.desks = append(o.desks, d)
	return d
}

// anyOwner is one that a client has, or had, "" if there is none yet: also one whom nobody named.
func (o *office) anyOwner(c *lockclient.Client) string {
	of := slices.DeleteFunc(slices.Clone(o.desks), func(d *desk) bool { return d.client != c })
	if len(of) == 0 {
		return ""
	}
	return ownerOf(of[o.draw(len(of))])
}

// ownerOf is the owner on either side.
func ownerOf(d *desk) string { return strings.TrimSuffix(d.held.Owner(), ":write") }

// expects demands that an error is one of those that are documented.
func (o *office) expects(err error, op string, documented ...error) {
	var refused *lockclient.ServerError
	is := func(target error) bool { return errors.Is(err, target) }
	if err != nil && !errors.As(err, &refused) && !slices.ContainsFunc(documented, is) {
		o.breaks("%s returned %v", op, err)
	}
}

func (o *office) giveBack(who string, d *desk) {
	d.given = true
	o.note("%s gives %s back", who, d.key)
	err := d.held.Unlock(o.root)
	o.note("%s gives %s back: %v", who, d.key, err)
	o.expects(err, "Unlock", lockclient.ErrLost, lockclient.ErrUnknown, lockclient.ErrNotSent)
}

// force forces a lock: holders of other clients learn of it late, and so do all where
// the answer is lost.
func (o *office) force(who string, c *lockclient.Client) {
	l, _ := o.lock(c, "a")
	o.forcing++
	o.note("%s forces a", who)
	freed, err := l.ForceUnlock(o.root)
	o.note("%s forces a: %v %v", who, freed, err)
	if err != nil {
		o.rt.Go(func() { // it may yet arrive
			o.sleep(ownersTimeout)
			o.excuse()
		})
		return
	}
	o.excuse()
}

// excuse excuses those who had the lock while it was forced.
func (o *office) excuse() {
	o.forcing--
	o.forced = o.w.now
	for _, d := range o.desks {
		d.excused = d.excused || d.key == "a" && o.relies(d)
	}
}

// trusted tells whether a task may rely on what it has, and nobody has forced it.
func (o *office) trusted(d *desk) bool {
	return !d.excused && (d.key != "a" || o.forcing == 0) && o.relies(d)
}

// relies tells whether a task may rely on what it has.
func (o *office) relies(d *desk) bool {
	if d.given || d.held.Until() <= o.rt.Mono() {
		return false
	}
	select {
	case <-d.held.Lost():
		return false
	default:
		return true
	}
}

// look demands that the server has a lease of what somebody relies on.
func (o *office) look() {
	o.desks = slices.DeleteFunc(o.desks, func(d *desk) bool { return !o.relies(d) })
	for _, d := range o.desks {
		if !o.trusted(d) {
			continue
		}
		least := (d.held.Until() - o.rt.Mono()).Milliseconds()
		if left := o.left(d); left < least {
			o.breaks("%s relies on %s for another %d ms, the server has it for %d ms: %v", d.held.Owner(), d.key,
				least, left, resp.Inline(o.ask("HGETALL", d.key)))
		}
	}
}

// left is for how many milliseconds the server has a lease of d.
func (o *office) left(d *desk) int64 {
	left, owner := o.ask("PTTL", d.key).Int, d.held.Owner()
	if o.kind == "simple" {
		if o.ask("GET", d.key).Str != owner {
			return -2
		}
		return left
	}
	count := o.ask("HGET", d.key, owner).Str
	switch {
	case count == "":
		return -2
	case d.reads:
		return min(left, o.ask("PTTL", "{"+d.key+"}:"+owner+":rwlock_timeout:1").Int)
	}
	return left
}

// mail is a Transport of which a run decides what is late or lost.
type mail struct {
	o *office
	*transport
}

var errLost = errors.New("connection reset")

// Eval implements lockclient.Transport.
func (m *mail) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	return m.carry(ctx, s.Name+" "+strings.Join(args, " "), func(ctx context.Context) (lockclient.Reply, error) {
		return m.transport.Eval(ctx, s, keys, args)
	})
}

// Do implements lockclient.Transport.
func (m *mail) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	return m.carry(ctx, strings.Join(args, " "), func(ctx context.Context) (lockclient.Reply, error) {
		return m.transport.Do(ctx, key, args...)
	})
}

// Subscribe implements lockclient.Transport.
func (m *mail) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	return m.transport.Subscribe(ctx, channel, sharded, func(payload string) {
		if m.o.draw(100) >= m.o.fates {
			deliver(payload)
		}
	}, lost)
}

// carry has a request meet its fate. What is late arrives before the time limit of one
// request has passed again since it was given up: what gives back reckons with no more.
func (m *mail) carry(
	ctx context.Context, what string, send func(context.Context) (lockclient.Reply, error),
) (r lockclient.Reply, err error) {
	o := m.o
	if o.draw(100) >= o.fates {
		return send(ctx)
	}
	fate := o.draw(6)
	o.note("  fate %d of %s", fate, what)
	switch fate {
	case 0:
		return r, fmt.Errorf("refused: %w", lockclient.ErrNotSent)
	case 1:
		return r, &lockclient.ServerError{Text: "LOADING Redis is loading the dataset in memory"}
	case 2: // the request is lost
		o.sleep(o.within(ownersTimeout))
		return r, errLost
	case 3: // the reply is
		_, _ = send(ctx)
		return r, errLost
	}
	limit, _ := o.rt.Remaining(ctx)
	before, after := o.within(limit+ownersTimeout*9/10), time.Duration(0)
	if fate == 5 {
		before, after = after, before
	}
	answered := o.rt.NewGate()
	o.rt.Go(func() {
		o.sleep(before)
		o.note("  now: %s", what)
		r, err = send(o.root)
		o.sleep(after)
		answered.Open()
	})
	if _, ended := answered.Wait(ctx, -1); ended != nil {
		return lockclient.Reply{}, ended
	}
	return r, err
}
