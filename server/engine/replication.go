package engine

import (
	"fmt"
	"slices"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// replication is the node's place in a replication tree: its role, its log of
// effects, and how far its replicas have come. The shell moves the bytes.
type replication struct {
	id      string // of this history, 40 hexadecimal digits; made when first asked for
	oldID   string // of the history that this one goes on from, up to oldEnd; "" if none
	oldEnd  int64
	offset  int64  // bytes of effects that this history has
	logging bool   // effects are recorded: a replica has been attached, or this node is one
	log     []byte // the latest effects; bytes once written are never written again; see Trim
	first   int64  // offset of log[0]

	replicas []replica
	outside  []*Session // those of them that are clients
	cutOff   bool       // clients have ended links that the shell has not closed yet
	pingAt   int64      // Unix milliseconds: when these are to hear of the master
	asksAcks bool       // a WAIT wants to hear how far the replicas are
	asked    int        // how often the master has asked this replica
	askedAt  int64      // the offset of the latest question

	masterHost string // "": this node is a master
	masterPort int
	link       LinkState
	downSince  int64    // Unix seconds when link was lost; 0: it is there, or never was
	heardAt    int64    // Unix seconds of the latest word from the master
	unsynced   bool     // a replica that has no history yet
	master     *Session // applies the master's effects

	failover string // the state of FAILOVER in INFO; "": none
}

// LinkState is where a replica is on its way to its master, as ROLE shows it.
type LinkState string

// The states of a replica's link.
const (
	LinkConnect    LinkState = "connect" // another attempt will follow soon
	LinkConnecting LinkState = "connecting"
	LinkHandshake  LinkState = "handshake"
	LinkSync       LinkState = "sync" // the copy of the data is on its way
	LinkConnected  LinkState = "connected"
)

// Replica is what a master knows of one of its replicas.
type Replica struct {
	ID      int
	Host    string
	Port    int
	State   ReplicaState
	Offset  int64 // acknowledged
	AckedAt int64 // Unix seconds of the latest acknowledgement
}

// replica is one with the session of its connection.
type replica struct {
	Replica
	session *Session
}

// ReplicaState is how far a master is with a replica, as INFO shows it.
type ReplicaState string

// The states of a replica. Only one that is online counts for WAIT and min-replicas-to-write.
const (
	ReplicaSending ReplicaState = "send_bulk" // the copy of the data is on its way
	ReplicaOnline  ReplicaState = "online"
)

// Snapshot is a node's data at one offset, for a full resynchronisation.
type Snapshot struct {
	keys      *datastore.Snapshot
	libraries []string // of functions: their texts
	id        string
	offset    int64
}

// Offset returns how many bytes of effects the node has recorded or applied.
func (n *Node) Offset() int64 { return n.repl.offset }

// ReplicationID returns the name of the history in which Offset counts, as INFO shows it.
func (n *Node) ReplicationID() string {
	if n.repl.id == "" {
		n.repl.id = n.randomHex()
	}
	return n.repl.id
}

// HasHistory reports whether this node's history agrees, up to offset, with the history
// named id. If so, a replica of that history can go on from there with EffectsSince, if
// that reaches back so far. Otherwise it needs a Snapshot.
func (n *Node) HasHistory(id string, offset int64) bool {
	return strings.EqualFold(id, n.ReplicationID()) || strings.EqualFold(id, n.repl.oldID) && offset <= n.repl.oldEnd
}

// EffectsSince returns the effects recorded after offset, in RESP. The bytes never
// change. ok is false if the log does not reach back so far, or if offset lies in the
// future: the replica then needs a Snapshot.
func (n *Node) EffectsSince(offset int64) (stream []byte, ok bool) {
	r := &n.repl
	if offset < r.first || offset > r.offset || !r.logging {
		return nil, false
	}
	return r.log[offset-r.first : len(r.log) : len(r.log)], true
}

// Apply executes effects of the node's master, whole commands only. An error means that
// stream has something else; what stood before that has been applied.
func (n *Node) Apply(stream []byte) error {
	master := n.masterSession()
	n.repl.record()
	n.keys.SetExpiry(datastore.IgnoreExpiry)
	defer n.applyExpiryPolicy()
	commands := resp.NewCommandReader()
	err := commands.Feed(stream)
	for done := 0; done < len(stream) && err == nil; {
		var cmd [][]byte
		if cmd, err = commands.Next(); err != nil {
			break
		}
		if cmd == nil {
			return fmt.Errorf("engine: effects at offset %d end inside a command", n.repl.offset)
		}
		n.Do(master, cmd)
		end := len(stream) - commands.Buffered()
		n.repl.append(stream[done:end])
		done = end
	}
	if err != nil {
		return fmt.Errorf("engine: effects at offset %d: %w", n.repl.offset, err)
	}
	return nil
}

// BecomeReplica makes the node follow a master. Its log goes on, for replicas
// of its own.
func (n *Node) BecomeReplica(masterHost string, port int) {
	n.repl.masterHost, n.repl.masterPort = masterHost, port
	n.SetMasterLink(LinkConnect)
	n.applyExpiryPolicy()
	n.releaseWaiters()
}

// BecomeMaster makes the node stop following a master: a promotion, or REPLICAOF NO ONE.
func (n *Node) BecomeMaster() {
	if !n.repl.isReplica() {
		return
	}
	n.forgetMaster()
	n.repl.masterHost, n.repl.masterPort = "", 0
	n.repl.link, n.repl.downSince, n.repl.unsynced = "", 0, false
	n.repl.oldID, n.repl.oldEnd = n.ReplicationID(), n.repl.offset
	n.repl.id = ""
	n.effects.db = 0
	n.applyExpiryPolicy()
}

// FollowsMaster reports whether the node follows the master at that address.
func (n *Node) FollowsMaster(host string, port int) bool {
	return n.repl.isReplica() && strings.EqualFold(n.repl.masterHost, host) && n.repl.masterPort == port
}

// IsReplica reports whether the node follows a master.
func (n *Node) IsReplica() bool { return n.repl.isReplica() }

// SetMasterLink sets the state of a replica's link to its master.
func (n *Node) SetMasterLink(state LinkState) {
	r := &n.repl
	switch {
	case state == LinkConnected:
		r.downSince, r.heardAt = 0, n.unixSeconds()
		n.showMaster()
	case r.link == LinkConnected:
		r.downSince = n.unixSeconds()
		n.hideMaster()
	}
	r.link = state
}

// MasterLink returns the state of a replica's link, "" for a master; the Unix second of
// the latest word from the master; and, if the link is lost, the Unix second since when.
// 0 stands for never.
func (n *Node) MasterLink() (state LinkState, heardAt, downSince int64) {
	return n.repl.link, n.repl.heardAt, n.repl.downSince
}

// HeardFromMaster notes that the master was heard from now.
func (n *Node) HeardFromMaster() { n.repl.heardAt = n.unixSeconds() }

// StartUnsynced says that the replica begins without data and without history.
func (n *Node) StartUnsynced() { n.repl.unsynced = true }

// unixSeconds is the node's wall clock in Unix seconds.
func (n *Node) unixSeconds() int64 { return n.cfg.Clock.Wall().Unix() }

// AddReplica attaches a replica, known to the shell as id, at the present
// offset. From now on effects are recorded. It counts as online.
func (n *Node) AddReplica(id int) {
	n.RemoveReplica(id)
	n.attach(id, n.replicaSession())
}

// attach makes what is at the other end of a session a replica.
func (n *Node) attach(id int, s *Session) {
	n.startLog()
	n.repl.replicas = append(n.repl.replicas,
		replica{Replica{ID: id, State: ReplicaOnline, AckedAt: n.unixSeconds()}, s})
}

// SetReplicaState sets how far the master is with a replica.
func (n *Node) SetReplicaState(id int, state ReplicaState) {
	if r := n.repl.find(id); r != nil {
		r.State = state
		n.checkWaiters()
	}
}

// Replicas returns the node's replicas; the one attached for longest comes first.
func (n *Node) Replicas() []Replica {
	list := make([]Replica, len(n.repl.replicas))
	for i, r := range n.repl.replicas {
		list[i] = r.Replica
	}
	return list
}

// ReplicaAddress sets where a replica listens, for ROLE and INFO.
func (n *Node) ReplicaAddress(id int, host string, port int) {
	if r := n.repl.find(id); r != nil {
		r.Host, r.Port = host, port
		if r.session.isLink() {
			r.session.Addr = address(host, port)
		}
	}
}

// Ack reports that a replica has applied all effects up to offset. It may end a WAIT.
func (n *Node) Ack(id int, offset int64) {
	r := n.repl.find(id)
	if r == nil {
		return
	}
	r.Offset = max(r.Offset, offset)
	r.AckedAt = n.unixSeconds()
	n.checkWaiters()
}

// RemoveReplica detaches a replica. Effects are still recorded, so that it can come back.
func (n *Node) RemoveReplica(id int) {
	if r := n.repl.find(id); r != nil {
		if r.session.isLink() {
			n.sessions.remove(r.session)
		}
		n.repl.replicas = slices.DeleteFunc(n.repl.replicas, func(r replica) bool { return r.ID == id })
	}
}

// Snapshot copies the data as it is now. From now on effects are recorded.
func (n *Node) Snapshot() *Snapshot {
	n.startLog()
	return &Snapshot{keys: n.keys.Snapshot(), libraries: n.functions.texts(), id: n.ReplicationID(),
		offset: n.repl.offset}
}

// LoadSnapshot replaces the node's data and history with those of its master.
func (n *Node) LoadSnapshot(s *Snapshot) {
	n.tellEmptied(-1)
	n.keys.Load(s.keys)
	n.functions.loadAll(n, s.libraries)
	n.touchPresent(-1)
	n.repl.id, n.repl.oldID = s.id, ""
	n.repl.offset, n.repl.first, n.repl.log = s.offset, s.offset, nil
	n.repl.logging, n.repl.unsynced = true, false
	n.forgetMaster()
}

// ContinueHistory goes on after the node's offset with the master's history,
// which may have a new name. It reports whether the name is new.
func (n *Node) ContinueHistory(id string) (renamed bool) {
	n.repl.unsynced = false
	n.repl.record()
	if id == n.ReplicationID() {
		return false
	}
	n.repl.oldID, n.repl.oldEnd = n.repl.id, n.repl.offset
	n.repl.id = id
	return true
}

// DropHistory ends the recording of effects and gives the history a new name, as a master
// does some time after its last replica has left.
func (n *Node) DropHistory() {
	n.repl.id, n.repl.oldID = "", ""
	n.repl.logging, n.repl.log, n.repl.first = false, nil, n.repl.offset
}

// Recording reports whether effects are recorded.
func (n *Node) Recording() bool { return n.repl.logging }

// Propagate puts a command that changes no data into the stream of effects, such as PING.
func (n *Node) Propagate(args ...string) {
	if n.repl.logging && !n.repl.isReplica() {
		n.repl.append(resp.AppendCommand(nil, args...))
	}
}

// TakeAckRequest reports whether a WAIT has begun since the last call: the replicas are
// then to say how far they are. During a pause, in which the offset must not change, that
// is put off. Source: beforeSleep of Redis 7.0.
func (n *Node) TakeAckRequest() bool {
	asked := n.repl.asksAcks && !n.Paused()
	n.repl.asksAcks = n.repl.asksAcks && !asked
	return asked
}

// AckAsked returns how many times the master has asked in its stream how far this replica
// is, and the offset that answers the latest question: neither the question itself nor
// what follows it counts. Source: replicationSendAck of Redis 7.0, which REPLCONF GETACK
// calls.
func (n *Node) AckAsked() (times int, offset int64) { return n.repl.asked, n.repl.askedAt }

// SetFailoverState sets what INFO shows as the state of FAILOVER; "" for none.
func (n *Node) SetFailoverState(state string) { n.repl.failover = state }

// Offset returns the offset in the master's history at which the snapshot was taken.
func (s *Snapshot) Offset() int64 { return s.offset }

// startLog records effects from now on. The next one selects its database,
// since a replica that begins here knows of none.
func (n *Node) startLog() {
	n.repl.record()
	n.effects.db = 0
}

// record has effects be kept from now on, if they are not yet.
func (r *replication) record() {
	if !r.logging {
		r.logging, r.first = true, r.offset
	}
}

// applyExpiryPolicy puts expiryPolicy in force.
func (n *Node) applyExpiryPolicy() { n.keys.SetExpiry(n.expiryPolicy()) }

func (r *replication) isReplica() bool { return r.masterHost != "" }

// append records effects.
func (r *replication) append(effects []byte) {
	r.offset += int64(len(effects))
	r.log = append(r.log, effects...)
}

// Trim forgets the oldest effects. About repl-backlog-size of them remain, up to twice as
// many. Attached replicas would miss what they have not been sent yet, so the shell
// decides when; a node that has no replicas but those outside of the process does it
// itself. Memory that was handed out is left alone.
func (n *Node) Trim() {
	r, size := &n.repl, n.conf.backlog
	if excess := len(r.log) - size; excess > size {
		r.log = append(make([]byte, 0, 2*size), r.log[excess:]...)
		r.first += int64(excess)
	}
}

// find returns the replica of an id, or nil.
func (r *replication) find(id int) *replica {
	for i := range r.replicas {
		if r.replicas[i].ID == id {
			return &r.replicas[i]
		}
	}
	return nil
}

// acked counts the replicas that have applied all effects up to offset.
func (r *replication) acked(offset int64) int64 {
	var count int64
	for i := range r.replicas {
		if r.replicas[i].State == ReplicaOnline && r.replicas[i].Offset >= offset {
			count++
		}
	}
	return count
}

// stale reports whether a replica is out of touch with its master and must not
// answer from what it has.
func (n *Node) stale() bool {
	return n.conf.notStale && n.repl.isReplica() && n.repl.link != LinkConnected
}

// refusesWrites is why clients may not write now because of the node's place among others, or "".
func (n *Node) refusesWrites() string {
	switch {
	case n.repl.isReplica() && !n.conf.writable:
		return errReadOnly
	case n.lacksReplicas():
		return errNoReplicas
	}
	return ""
}

// lacksReplicas reports whether a master must refuse writes because fewer than
// min-replicas-to-write replicas follow it closely. A min-replicas-max-lag of 0 is none.
// Source: checkGoodReplicasStatus of Redis 7.0.
func (n *Node) lacksReplicas() bool {
	wanted := n.conf.minGood
	return wanted > 0 && !n.repl.isReplica() && n.Number("min-replicas-max-lag") > 0 && n.goodReplicas() < wanted
}

// goodReplicas counts the replicas heard of within min-replicas-max-lag.
func (n *Node) goodReplicas() int {
	now, lag := n.unixSeconds(), n.Number("min-replicas-max-lag")
	count := 0
	for i := range n.repl.replicas {
		if n.repl.replicas[i].State == ReplicaOnline && now-n.repl.replicas[i].AckedAt <= lag {
			count++
		}
	}
	return count
}

// restart forgets what a process forgets when it ends; the role stays, as in redis.conf.
func (r *replication) restart() {
	*r = replication{masterHost: r.masterHost, masterPort: r.masterPort, unsynced: r.isReplica()}
	if r.isReplica() {
		r.link = LinkConnect
	}
}
