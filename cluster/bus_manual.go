package cluster

import (
	"minikv/server/engine"
)

// manualFailover is CLUSTER FAILOVER, on the replica that takes over and on its
// master. Times are Unix milliseconds.
type manualFailover struct {
	b        *busNode
	until    int64 // 0: there is none
	replica  *peer // on the master: who takes over
	offset   int64 // on the replica: where the master has stopped; -1: not known yet
	mayStart bool  // on the replica: the election may begin
}

// reset ends a manual failover, whatever has become of it.
func (f *manualFailover) reset() {
	paused := f.replica != nil
	*f = manualFailover{b: f.b, offset: -1}
	if paused {
		f.b.node().Unpause(engine.PausedByFailover)
	}
}

// expire ends one that has taken too long.
func (f *manualFailover) expire() {
	if f.until != 0 && f.until < f.b.now() {
		f.b.log(levelWarning, "Manual failover timed out.")
		f.reset()
	}
}

// begin is CLUSTER FAILOVER on a replica. With force the master is not asked to stop.
func (f *manualFailover) begin(force bool) {
	b := f.b
	f.until = b.now() + manualTimeout
	if force {
		b.log(levelWarning, "Forced failover user request accepted.")
		f.mayStart = true
		return
	}
	b.log(levelWarning, "Manual failover user request accepted.")
	b.sendTo(b.self.master, b.header(manualStartPacket))
}

// requested is the master's part: it stops writes and tells its offset.
func (f *manualFailover) requested(l *busLink, replica *peer) {
	b := f.b
	if replica.master != b.self {
		return
	}
	f.reset()
	f.until, f.replica = b.now()+manualTimeout, replica
	b.node().Pause(engine.PausedByFailover, b.now()+manualTimeout*manualPauseFactor, false)
	b.log(levelWarning, "Manual failover requested by replica "+replica.name+".")
	b.sendGossip(l, pingPacket)
}

// offsetOf notes where the master has stopped.
func (f *manualFailover) offsetOf(sender *peer, msg *packet) {
	if f.until != 0 && f.b.self.isReplica() && f.b.self.master == sender && msg.paused && f.offset == -1 {
		f.offset = msg.offset
		f.b.log(levelWarning, "Received replication offset for paused master manual failover")
	}
}

// check lets the election begin once this replica has all of the master's data.
// Source: clusterHandleManualFailover of Redis 7.0.
func (f *manualFailover) check() {
	if f.until == 0 || f.mayStart || f.offset == -1 || f.offset != f.b.node().Offset() {
		return
	}
	f.mayStart = true
	f.b.log(levelWarning, "All master replication stream processed, manual failover can start.")
	f.b.election.due = true
}
