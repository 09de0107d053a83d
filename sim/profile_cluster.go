package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	slots "minikv/internal/slot"
	"minikv/lockclient"
)

// Redisson's client in a cluster. Who serves which slot it asks every five seconds, and
// learns from no redirection: until then each request goes where the slot was, and from
// there where that server points. Repeated it is where it was sent last.

// scanInterval is scanInterval.
const scanInterval = 5 * time.Second

// errRedirects says that a server has sent a request back to itself.
var errRedirects = errors.New("MOVED redirection loop detected")

func (r *redisson) clustered() bool { return r.p.w.cfg.Plan.Cluster }

// connect asks for the slots, and has it done now and then. A client of the world's
// beginning has connected before it, and taken locks, so that chance says when it asks next.
func (r *redisson) connect() {
	s, next := &r.p.ownWays().slots, scanInterval
	s.scanned, r.loaded = true, map[scriptAt]int32{}
	r.replaced, r.lent = map[*node]*node{}, map[*node]int{}
	if r.p.life == 1 {
		s.ranges, next = r.p.w.layout, r.below(scanInterval)
		for _, is := range s.ranges {
			r.replicas[is.master] = int64(r.p.w.cfg.Plan.Replicas)
		}
	} else {
		for !r.learnSlots() {
			r.sleep(time.Second)
		}
	}
	r.scanAfter(next)
}

func (r *redisson) scanAfter(d time.Duration) {
	r.p.after(r.p.clock.Mono()+d, func() {
		r.p.spawn(func() {
			_ = r.learnSlots() // else it knows what it knew
			r.scanAfter(scanInterval)
		})
	})
}

// learnSlots asks one node after the other, the first of them by chance.
func (r *redisson) learnSlots() bool {
	nodes, before := r.p.w.nodes, r.p.ownWays().slots.ranges
	from := int(r.below(time.Duration(len(nodes))))
	for i := range nodes {
		if r.p.learnSlots(r.p.running(), nodes[(from+i)%len(nodes)]) {
			r.follow(before)
			return true
		}
	}
	return false
}

// follow is what new slots bring about. Of a master that has none any more nothing is
// left: its subscriptions are made anew at once. Of one that has others they end, where
// their slots have gone: the client means to make these anew as well, and fails.
// Source: ClusterConnectionManager.shutdownEntry, and PublishSubscribeService.reattachPubSub,
// whose codec is null for such a channel.
func (r *redisson) follow(before []slotRange) {
	for _, is := range r.p.ways.slots.ranges {
		delete(r.replaced, is.master)
		delete(r.lent, is.master)
	}
	for _, was := range before {
		if r.p.ways.slots.has(was.master) {
			continue
		}
		r.replaced[was.master] = r.p.slotOwner(was.last)
		delete(r.replicas, was.master)
	}
	for _, c := range slices.Clone(r.p.conns) {
		if c == nil {
			continue
		}
		for _, s := range slices.Clone(c.subs) {
			to := r.p.server(s.group, s.channel)
			switch {
			case to == c.n:
			case r.replaced[c.n] != nil:
				c.moveSubscription(s, r.p.conn(to))
			case s.call.done: // else the end of its time is awaited first
				s.Close()
			}
		}
	}
}

// slotsNow is who serves which slots, by what a node knows.
func (w *World) slotsNow(n *node) (ranges []slotRange) {
	view := n.member.Topology()
	for number := range slots.Count {
		master := w.nodeAt(view.Slot(number).Owner)
		if last := len(ranges) - 1; last >= 0 && ranges[last].master == master {
			ranges[last].last = number
			continue
		}
		ranges = append(ranges, slotRange{number, number, master})
	}
	return ranges
}

// aim is where a request goes.
type aim struct {
	n             *node         // nil: the server of its key
	moved, asking bool          // what pointed there
	limit         time.Duration // for an answer
}

// sendInCluster runs a script. Where the server to which it was pointed does not know
// it, it is loaded by the server of its key and sent there again: the two take turns,
// without a pause, until the client has asked for the slots.
func (r *redisson) sendInCluster(q request) (lockclient.Reply, error) {
	for {
		home := r.p.server(r.group, first(q.keys))
		known, err := r.replicasOf(home)
		if err == nil {
			err = r.load(home, q.script)
		}
		if err != nil {
			return lockclient.Reply{}, err
		}
		b, to := batch{known: known}, aim{n: home, limit: batchTimeout(known)}
		reply, err := r.aimed(to, first(q.keys), func(ctx context.Context, l *lane) (lockclient.Reply, error) {
			return b.send(ctx, l, func() (lockclient.Reply, error) {
				return answer(l.run(ctx, "EVALSHA", q.script.SHA, &scriptCall{q.script, q.keys, q.args}))
			})
		})
		var refused *lockclient.ServerError
		switch {
		case errors.As(err, &refused) && strings.HasPrefix(refused.Text, "NOSCRIPT"):
			delete(r.loaded, scriptAt{home, q.script.SHA})
		case err != nil:
			return reply, err
		default:
			return reply, r.checkSynced(home, known, b.confirmed)
		}
	}
}

// replicasOf is how many replicas shall confirm what a master does.
func (r *redisson) replicasOf(n *node) (known int64, err error) {
	if !r.Topology().Replicas {
		return 0, nil
	}
	known, ok := r.replicas[n]
	if ok {
		return known, nil
	}
	_, err = r.aimed(aim{n: n}, "", func(ctx context.Context, l *lane) (reply lockclient.Reply, err error) {
		known, err = l.replicas(ctx)
		return reply, err
	})
	if err == nil {
		r.replicas[n] = known
	}
	return known, err
}

// scriptAt is a script at a server.
type scriptAt struct {
	n   *node
	sha string
}

// load has a server learn a script, unless it did so in this life of the connection.
func (r *redisson) load(n *node, s *lockclient.Script) error {
	at, life := scriptAt{n, s.SHA}, r.p.conn(n).life
	if r.loaded[at] == life {
		return nil
	}
	_, err := r.aimed(aim{n: n}, "", func(ctx context.Context, l *lane) (lockclient.Reply, error) {
		return l.do(ctx, "SCRIPT", "LOAD", s.Text)
	})
	if err == nil {
		r.loaded[at] = r.p.conn(n).life
	}
	return err
}

// aimed sends a request to the server at which it is aimed, and to those to which it is
// pointed, each time over a connection of its own.
func (r *redisson) aimed(
	to aim, key string, ask func(context.Context, *lane) (lockclient.Reply, error),
) (reply lockclient.Reply, err error) {
	to.limit = max(to.limit, responseTimeout)
	err = r.again(true, func() (err error) {
		for {
			reply, err = r.askAt(to, key, ask)
			var refused *lockclient.ServerError
			if errors.Is(err, lockclient.ErrNotSent) && r.replaced[to.n] != nil {
				to.n = r.replaced[to.n]
			}
			if !errors.As(err, &refused) {
				return err
			}
			next, asking := r.p.w.pointed(refused.Text)
			switch {
			case next == nil:
				return err
			case to.moved && to.n == next:
				return errRedirects
			}
			to.n, to.moved, to.asking = next, !asking, asking
		}
	})
	return reply, err
}

func (r *redisson) askAt(
	to aim, key string, ask func(context.Context, *lane) (lockclient.Reply, error),
) (lockclient.Reply, error) {
	if to.n == nil {
		to.n = r.p.server(r.group, key)
	}
	if !r.connects(to) {
		return lockclient.Reply{}, lockclient.ErrNotSent
	}
	c := r.p.conn(to.n)
	l := &lane{transport: r.transport, conn: c, place: c.borrow(), key: key}
	ctx, cancel := r.limited(to.limit)
	defer cancel()
	if to.asking {
		c.sendAsking(l.place)
	}
	reply, err := ask(ctx, l)
	if ctx.Err() == nil {
		c.giveBack(l.place)
	}
	return reply, r.answerError(ctx, err)
}

// connects reports whether there is a connection: not to a master that has no slots any
// more, and to what the client takes for a replica, where it is pointed, only so often:
// those connections never come back to where they are taken from.
// Source: MasterSlaveEntry.releaseWrite, which gives them to the master, where nobody knows them.
func (r *redisson) connects(to aim) bool {
	switch {
	case r.p.ways.slots.has(to.n):
		return true
	case !to.moved && !to.asking || r.lent[to.n] == poolSize:
		return false
	}
	r.lent[to.n]++
	return true
}
