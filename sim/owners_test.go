package sim

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"minikv/cluster"
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
		o := newNamedRun(seed, lua)
		o.run(o.open)
		o.report(t, fmt.Sprintf("go test ./sim -run TestNamedOwners -owners.runs 1 -owners.seed %d", seed))
	}
}

const (
	ownersTimeout  = time.Second
	ownersWatchdog = 6 * time.Second
	ownersLease    = 12 * time.Second // the longest
)

// namedRun is one run.
type namedRun struct {
	*office
	site    site
	kind    string
	clients []*lockclient.Client
	forces  bool          // somebody forces locks
	leases  bool          // of fixed length are asked for
	old     bool          // the protocol of 3.16 is spoken
	forcing int           // requests under way that force a
	forced  time.Duration // when the last one was over
}

func newNamedRun(seed uint64, lua *luaengine.Engine) *namedRun {
	w := NewWorld(Config{Seed: seed, Lua: lua, Plan: cluster.Plan{Masters: 1}, Locks: 1,
		Delay: Range{time.Millisecond, 5 * time.Millisecond}})
	o := &namedRun{office: newOffice(w, oneClient(w, &Workload{}).p, seed)}
	o.excuses = func(d *desk) bool { return d.key == "a" && o.forcing > 0 }
	kinds := []string{"mutex", "mutex", "fair", "fair", "rw", "rw", "rw", "fenced", "spin", "nonreentrant", "simple",
		"multi"}
	o.kind = kinds[o.draw(len(kinds))]
	o.site.fates = []int{0, 4, 12, 30}[o.draw(4)]
	o.forces, o.leases = o.draw(5) == 0 && o.kind != "multi", o.draw(3) > 0
	o.old = o.draw(4) == 0
	o.note("%s, 3.16: %v, %d%% of all requests meet a fate, locks are forced: %v, leases are fixed: %v",
		o.kind, o.old, o.site.fates, o.forces, o.leases)
	return o
}

// open lets everybody work, and looks at what they leave.
func (o *namedRun) open() {
	for n := range 2 {
		options := []lockclient.Option{
			lockclient.WithID(string(rune('A' + n))), lockclient.WithTimeout(ownersTimeout), lockclient.WithPoll(time.Second),
			lockclient.WithWatchdog(ownersWatchdog), lockclient.WithFairWait(4 * time.Second),
			lockclient.WithObserver(o.hears),
		}
		if o.old {
			options = append(options, lockclient.Compat316())
		}
		m := &mail{&transport{p: o.p, group: o.w.groups[0]}, o.office, o.rt, &o.site}
		o.clients = append(o.clients, lockclient.New(m, o.rt, options...))
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
		o.nothingIsLeft(0, "redisson_lock_token", "redisson_unlock_latch")
	}
	o.site.fates = 0
	o.sleep(2*ownersLease + 30*time.Second)
	o.nothingIsLeft(0, "redisson_lock_token")
	o.ended = true
}

// calm tells of a run in which no lock can be lost.
func (o *namedRun) calm() bool { return o.site.fates == 0 && !o.forces && !o.leases }

// hears is told of what happens to locks: where all goes well none is lost.
func (o *namedRun) hears(e lockclient.Event) {
	o.note("%s hears: %s %s %v", e.Owner, e.Kind, e.Key, e.Err)
	if e.Kind == lockclient.Lost && o.calm() && o.kind != "simple" && o.busy > 0 {
		o.breaks("%s has lost %s, and nothing has happened", e.Owner, e.Key)
	}
}

// lock names a lock.
func (o *namedRun) lock(c *lockclient.Client, key string) (l *lockclient.Lock, reads bool) {
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
func (o *namedRun) work(who string, c *lockclient.Client, name string) {
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
func (o *namedRun) lease() time.Duration {
	return []time.Duration{700 * time.Millisecond, 2 * time.Second, 5 * time.Second, ownersLease}[o.draw(4)]
}

// take asks for a lock, perhaps within what the task has.
func (o *namedRun) take(who string, c *lockclient.Client, name string, mine []*desk) *desk {
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
	o.note("%s has %s as %s until %v", who, key, held.Owner(), held.Until())
	has := share{places: []int{0}, need: 1, key: key, owner: held.Owner(), reads: reads, text: o.kind == "simple"}
	d := &desk{client: c, rt: o.rt, held: held, key: key, shares: []share{has}, excused: key == "a" && asked <= o.forced}
	o.sits(d)
	return d
}

func (o *namedRun) giveBack(who string, d *desk) {
	d.given = true
	o.note("%s gives %s back", who, d.key)
	err := d.held.Unlock(o.root)
	o.note("%s gives %s back: %v", who, d.key, err)
	o.expects(err, "Unlock", lockclient.ErrLost, lockclient.ErrUnknown, lockclient.ErrNotSent)
}

// force forces a lock: holders of other clients learn of it late, and so do all where
// the answer is lost.
func (o *namedRun) force(who string, c *lockclient.Client) {
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
func (o *namedRun) excuse() {
	o.forcing--
	o.forced = o.w.now
	for _, d := range o.desks {
		d.excused = d.excused || d.key == "a" && d.relies()
	}
}
