package cluster

import (
	"slices"

	"minikv/server/engine"
)

// downstream is a member's links to its replicas.
// Source: replication.c of Redis 7.0, syncCommand and replicationCron.
type downstream struct {
	m      *Member
	feeds  []*feed   // in the order of their dialing
	number int       // of the latest feed
	loops  int64     // seconds that the cron has counted
	alone  int64     // Unix seconds since when there has been no replica
	held   []Message // of replicas that are not attached yet, from during a CLIENT PAUSE
}

// feed is the link to one replica.
type feed struct {
	conn  Conn
	to    ID
	id    int   // by which the node knows the replica; 0: it has not asked for data yet
	sent  int64 // the node's offset up to which effects were sent
	fresh bool  // it has been sent a copy, and has not said that it has it
}

// receive takes a message of a replica's connection.
func (d *downstream) receive(msg Message) {
	f := d.find(msg.Conn)
	if _, ok := msg.Body.(Dial); ok {
		if d.m.node.Full() != "" { // until it asks for data, a replica is a client like others
			d.m.post.Close(msg.From, msg.Conn)
			return
		}
		d.feeds = append(d.feeds, &feed{conn: msg.Conn, to: msg.From})
		return
	}
	if f == nil {
		if msg.Body != (any)(Closed{}) {
			d.m.post.Close(msg.From, msg.Conn)
		}
		return
	}
	if _, ok := msg.Body.(Closed); !ok && f.id == 0 && d.m.node.PausedForAll() {
		d.held = append(d.held, msg)
		return
	}
	switch body := msg.Body.(type) {
	case Closed:
		d.remove(f)
	case replicaPing:
		d.m.post.Send(f.to, f.conn, replicaPong{})
	case psync:
		d.start(f, body)
	case acknowledged:
		d.acknowledged(f, body.offset)
	}
}

// start answers PSYNC.
func (d *downstream) start(f *feed, ask psync) {
	if bad := d.refusal(ask); bad != "" {
		d.m.post.Send(f.to, f.conn, refused{bad})
		return
	}
	n := d.m.node
	stream, ok := n.EffectsSince(ask.offset)
	ok = ok && n.HasHistory(ask.id, ask.offset)
	var copy *engine.Snapshot
	if !ok {
		copy = n.Snapshot()
	}
	n.CountSync(ok, !ask.first)
	d.number++
	f.id = d.number
	n.AddReplica(f.id)
	n.ReplicaAddress(f.id, ask.host, ask.port)
	if ok {
		f.sent = ask.offset
		d.m.post.Send(f.to, f.conn, goOn{n.ReplicationID()})
		d.feed(f, stream)
		return
	}
	f.sent, f.fresh = copy.Offset(), true
	n.SetReplicaState(f.id, engine.ReplicaSending)
	d.m.post.Send(f.to, f.conn, fullResync{copy})
}

// refusal is why a replica gets nothing, or "". The end of FAILOVER makes this
// member the master first.
func (d *downstream) refusal(ask psync) string {
	m := d.m
	if bad := m.node.RefuseReplica(ask.user, ask.password); bad != "" {
		return bad
	}
	if ask.failover {
		if bad := m.node.RefuseTakeover(ask.id); bad != "" {
			return bad
		}
		m.Promote()
	}
	return m.node.RefuseSync()
}

// acknowledged notes how far a replica is.
func (d *downstream) acknowledged(f *feed, offset int64) {
	if f.id == 0 {
		return
	}
	if f.fresh {
		f.fresh = false
		d.m.node.SetReplicaState(f.id, engine.ReplicaOnline)
	}
	d.m.node.Ack(f.id, offset)
}

// resume takes up what a pause has held back. Until it is attached a replica is a
// client like others.
func (d *downstream) resume() {
	if len(d.held) == 0 || d.m.node.PausedForAll() {
		return
	}
	held := d.held
	d.held = nil
	for _, msg := range held {
		if d.find(msg.Conn) != nil {
			d.receive(msg)
		}
	}
}

// pump sends every replica the effects that it has not been sent.
func (d *downstream) pump() {
	d.resume()
	n := d.m.node
	if n.TakeAckRequest() {
		n.Propagate("REPLCONF", "GETACK", "*")
	}
	for _, f := range d.feeds {
		if f.id == 0 || f.sent == n.Offset() {
			continue
		}
		stream, ok := n.EffectsSince(f.sent)
		if !ok { // another history has begun
			d.drop(f)
			d.pump()
			return
		}
		d.feed(f, stream)
	}
}

func (d *downstream) feed(f *feed, stream []byte) {
	if len(stream) > 0 {
		d.m.post.Send(f.to, f.conn, effects{from: f.sent, stream: stream})
		f.sent += int64(len(stream))
	}
}

// cron is called once a second.
func (d *downstream) cron() {
	n, now := d.m.node, d.m.unixSeconds()
	d.loops++
	replicas := n.Replicas()
	period := n.Number("repl-ping-replica-period")
	if d.loops%period == 0 && len(replicas) > 0 && !d.m.standsStill() {
		n.Propagate("ping")
	}
	for _, r := range replicas {
		if now-r.AckedAt > d.m.node.Number("repl-timeout") {
			d.sendAway(r.ID)
		}
	}
	if len(replicas) > 0 || d.m.up.host != "" || d.alone == 0 {
		d.alone = now
	}
	if keep := d.m.node.Number("repl-backlog-ttl"); keep > 0 && n.Recording() && now-d.alone > keep {
		n.DropHistory()
	}
}

// busy reports whether the cron has something to do here.
func (d *downstream) busy() bool {
	return len(d.feeds) > 0 || d.m.up.host == "" && d.m.node.Recording()
}

// closeAll sends all replicas away; they may come back. Whoever has not asked
// for data yet may stay.
func (d *downstream) closeAll() {
	for i := len(d.feeds) - 1; i >= 0; i-- {
		if d.feeds[i].id != 0 {
			d.drop(d.feeds[i])
		}
	}
	for _, r := range d.m.node.Replicas() {
		d.m.node.CloseOutside(r.ID)
	}
}

// gone forgets the replicas in a process that has died.
func (d *downstream) gone(from ID) {
	for i := len(d.feeds) - 1; i >= 0; i-- {
		if d.feeds[i].to == from {
			d.remove(d.feeds[i])
		}
	}
}

// dropKilled closes the links that clients have ended.
func (d *downstream) dropKilled() {
	known := d.m.node.Replicas()
	for i := len(d.feeds) - 1; i >= 0; i-- {
		f := d.feeds[i]
		if f.id != 0 && !slices.ContainsFunc(known, func(r engine.Replica) bool { return r.ID == f.id }) {
			d.drop(f)
		}
	}
}

func (d *downstream) drop(f *feed) {
	d.m.post.Close(f.to, f.conn)
	d.remove(f)
}

func (d *downstream) remove(f *feed) {
	if f.id != 0 {
		d.m.node.RemoveReplica(f.id)
	}
	d.feeds = without(d.feeds, f)
}

func (d *downstream) find(name Conn) *feed {
	for _, f := range d.feeds {
		if f.conn == name {
			return f
		}
	}
	return nil
}

// sendAway ends the link to a replica, in the topology or outside of the process.
func (d *downstream) sendAway(id int) {
	for _, f := range d.feeds {
		if f.id == id {
			d.drop(f)
			return
		}
	}
	d.m.node.CloseOutside(id)
}
