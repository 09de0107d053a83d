package cluster

import (
	"bytes"
	"fmt"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// What travels over a Replication connection.
type (
	// replicaPing asks whether the master is there; replicaPong is the answer.
	replicaPing struct{}
	replicaPong struct{}
	// psync asks to go on with history id after offset.
	psync struct {
		id       string
		offset   int64
		host     string // where the replica listens
		port     int
		user     string // "": the default one
		password string
		failover bool // and first to become a master: the end of FAILOVER
		first    bool // there is no history to go on with
	}
	// fullResync brings all data; goOn says that the effects after offset will follow.
	fullResync struct{ copy *engine.Snapshot }
	goOn       struct{ id string }
	// refused is why there will be neither.
	refused struct{ text string }
	// effects are the master's, from an offset on.
	effects struct {
		from   int64
		stream []byte
	}
	// acknowledged says up to where the replica has applied effects.
	acknowledged struct{ offset int64 }
)

func (replicaPing) String() string    { return "ping" }
func (replicaPong) String() string    { return "pong" }
func (p psync) String() string        { return fmt.Sprintf("psync from offset %d", p.offset) }
func (fullResync) String() string     { return "copy of the data" }
func (goOn) String() string           { return "continue" }
func (r refused) String() string      { return r.text }
func (effects) String() string        { return "effects" }
func (a acknowledged) String() string { return fmt.Sprintf("acknowledgement of offset %d", a.offset) }

// quiet reports whether the effects change nothing: the master's regular PING,
// or its question how far the replica is.
func (e effects) quiet() bool {
	return bytes.Equal(e.stream, pingEffect) || bytes.Equal(e.stream, getAckEffect)
}

var (
	pingEffect   = resp.AppendCommand(nil, "ping")
	getAckEffect = resp.AppendCommand(nil, "REPLCONF", "GETACK", "*")
)

// upstream is a member's link to its master, if it has one.
// Source: replication.c of Redis 7.0, syncWithMaster and what it calls.
type upstream struct {
	m        *Member
	host     string // of the master; "": the member is a master itself
	port     int
	to       ID
	conn     Conn
	state    engine.LinkState
	since    int64 // Unix seconds of the latest progress while it connects
	failover bool  // the master must first become one: FAILOVER hands over to it
}

// Follow makes the member a replica of the master at an address, which need not
// be one of the topology's, and connects at once.
func (m *Member) Follow(host string, port int) {
	u := &m.up
	u.hangUp()
	u.host, u.port, u.to, u.failover = host, port, m.dir.Resolve(host, port), false
	m.node.BecomeReplica(host, port)
	u.connect()
}

// Promote makes the member a master. Its replicas must connect again, since the history
// gets another name.
func (m *Member) Promote() {
	u := &m.up
	if u.host == "" {
		return
	}
	u.hangUp()
	*u = upstream{m: m}
	m.node.BecomeMaster()
	m.down.closeAll()
}

func (u *upstream) set(state engine.LinkState) {
	u.state = state
	u.since = u.m.unixSeconds()
	u.m.node.SetMasterLink(state)
}

func (u *upstream) connect() {
	u.conn = u.m.post.Dial(u.to, Replication)
	u.set(engine.LinkConnecting)
	u.m.post.Send(u.to, u.conn, replicaPing{})
}

// hangUp closes the connection, if there is one.
func (u *upstream) hangUp() {
	if u.conn != (Conn{}) {
		u.m.post.Close(u.to, u.conn)
		u.conn = Conn{}
	}
}

// lost follows the end of the connection. A link that worked is tried again at
// once, one that did not when the second is over.
func (u *upstream) lost() {
	worked := u.state == engine.LinkConnected
	u.conn = Conn{}
	u.set(engine.LinkConnect)
	if worked {
		u.connect()
	}
}

// drop is lost, by the member's own decision.
func (u *upstream) drop() {
	u.hangUp()
	u.lost()
}

// receive takes a message of the connection to the master.
func (u *upstream) receive(msg Message) {
	if msg.Conn != u.conn {
		return // of an earlier one
	}
	switch body := msg.Body.(type) {
	case Closed:
		u.lost()
	case replicaPong:
		u.set(engine.LinkHandshake)
		u.ask()
	case goOn:
		if u.m.node.ContinueHistory(body.id) {
			u.m.down.closeAll()
		}
		u.handedOver("")
		u.set(engine.LinkConnected)
	case fullResync:
		u.handedOver("")
		u.m.down.closeAll()
		u.m.node.LoadSnapshot(body.copy)
		u.set(engine.LinkConnected)
		u.acknowledge(u.m.node.Offset())
	case refused:
		if !u.handedOver(body.text) {
			u.drop()
		}
	case effects:
		u.apply(body)
	}
}

// ask sends what PSYNC says.
func (u *upstream) ask() {
	host, port := u.m.announced()
	u.m.post.Send(u.to, u.conn, psync{
		id: u.m.node.ReplicationID(), offset: u.m.node.Offset(), host: host, port: port,
		user: u.m.node.Parameter("masteruser"), password: u.m.node.Parameter("masterauth"), failover: u.failover,
		first: u.m.node.Unsynced(),
	})
}

// handedOver ends a FAILOVER whose target has answered; refusal is why it will
// not take over, and brings the member back as a master. It reports that.
func (u *upstream) handedOver(refusal string) (back bool) {
	if !u.failover {
		return false
	}
	u.failover = false
	if refusal == "" {
		u.m.handover.clear()
		return false
	}
	u.m.handover.abort()
	return true
}

// apply executes effects of the master.
func (u *upstream) apply(e effects) {
	u.m.node.HeardFromMaster()
	if e.from != u.m.node.Offset() {
		panic(fmt.Sprintf("cluster: effects from offset %d, expected %d", e.from, u.m.node.Offset()))
	}
	before, _ := u.m.node.AckAsked()
	if err := u.m.node.Apply(e.stream); err != nil {
		panic("cluster: " + err.Error()) // a master of ours has written it
	}
	if asked, offset := u.m.node.AckAsked(); asked != before {
		u.acknowledge(offset)
	}
}

func (u *upstream) acknowledge(offset int64) { u.m.post.Send(u.to, u.conn, acknowledged{offset}) }

// cron is called once a second.
func (u *upstream) cron() {
	silence := u.m.node.Number("repl-timeout")
	switch u.state {
	case engine.LinkConnect:
		u.connect()
	case engine.LinkConnected:
		if _, heard, _ := u.m.node.MasterLink(); u.m.unixSeconds()-heard > silence {
			u.drop()
			return
		}
		u.acknowledge(u.m.node.Offset())
	case engine.LinkConnecting, engine.LinkHandshake, engine.LinkSync:
		if u.m.unixSeconds()-u.since > silence {
			u.drop()
		}
	}
}

// restart is that of the process.
func (u *upstream) restart() {
	u.conn, u.failover = Conn{}, false
	if u.host != "" {
		u.connect()
	}
}
