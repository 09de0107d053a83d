package trace

import "time"

// Kind says what happened. The comment of each gives the meaning of Peer, A and B.
type Kind uint8

// The order of the kinds is part of the trace hash: append, never insert.
const (
	None Kind = iota

	// A client, about a lock. Peer, for a belief: the client itself if it otherwise writes, and only reads in this belief.
	Acquire // calls lock() or tryLock()
	Hold    // lock() returned: belief begins. A: fencing token or 0; B: how long it is valid unless renewed, in ns
	Release // calls unlock(): belief ends
	Freed   // unlock() returned without error
	Lost    // was told that the lock is lost: belief ends
	Refused // lock() returned without the lock
	Failed  // an operation ended with an error; Text says which

	// Messages. Peer: the other end; A: the message's number. Lock: of a write to the resource.
	Send
	Deliver
	Drop // B: 1 if a partition holds it up; it may arrive when that heals
	Duplicate

	// A node.
	Execute   // ran a command or script. Peer: the client; A: the message's number
	Replicate // a replica applied effects. Peer: its master; A: its offset afterwards
	Expire    // active expiry ran and removed something. A: how many keys
	Promote   // a replica became master. A: its offset

	// The protected resource. Peer: the client; A: the token, 0 without one; B: highest token seen before.
	Write  // a write was accepted
	Reject // a write was refused as stale

	// Faults. Peer: the target.
	Crash     // A: for a holder, what is left of its lease on the server, in ns; -1: its lock has lost its TTL
	Restart   // A: 1 with its data, 0 without; B: how much of the latest data is gone, in ns
	Pause     // A: for how long, in ns
	Resume    //
	Partition // A: the number of links cut
	Heal      // Text, if one of several partitions ends: what the network had cut
	Jump      // a clock jumps. A: by how much, in ns
	Rate      // a clock's rate changes. A: parts per billion from true time
	Lag       // replication is held. A: 1 held, 0 released

	// Processes and timers.
	Start // a client process starts
	End   // a client process ends by itself
	Wake  // a timer fired

	// A latch; Lock says which.
	CountDown // a client calls countDown()
	Opened    // a client's await() returned: it believes the latch open

	// Somebody ran a command by hand. Peer: the node; Text: the command, or what several did that
	// moved the slot of Key.
	Command
	// What a server counts is compared with what clients believe.
	// Peer: the client whose holds they are, 0 for all; A: by the server; B: by belief
	Audit

	Slow // a node takes its time for each command. A: how long, in ns; 0: no longer

	Calm  // all faults have ended
	Evict // a node made room: it removed a key. Peer: the node; A: the key's number, by name, from 1; counted round
	Steal // a client's request has ended what another client had on the server. Peer: the other client
	Asks  // a client asks whether a lock is taken
	Told  // a client is told whether a lock is taken. A: 1 taken, 0 free

	Delay // a message takes longer than its link. Peer: the other end; A: the message's number; B: by how much, in ns
)

// Actor is an index into a run's table of names: clients, nodes, the resource, the
// nemesis.
type Actor int32

// Event is one thing that happened in a run. Kind's constants say what Peer, A and B
// mean.
type Event struct {
	N     uint64        // 1, 2, 3, …
	At    time.Duration // true (virtual) time since the run began
	Cause uint64        // number of the event that this one followed from; 0: none
	Actor Actor
	Peer  Actor
	Kind  Kind
	Lock  int32 // which lock of the run it is about: 1, 2, 3, …; 0: none
	A, B  int64

	// For people: filled in only while tracing is on, never part of the hash.
	Key     string   // the lock, key or channel
	Text    string   // anything else a person wants to read
	Details []Detail // what a node did while it executed this event
}

// What says what kind of step a Detail is.
type What uint8

const (
	Called    What = iota // a command ran, by itself or from a script: Text is the command, Reply its reply
	Changed               // a key changed: Key, and Text is its new state ("none" when it is gone)
	Expired               // a key was found expired and removed: Key
	Published             // a message went out: Key is the channel, Text the payload
	Script                // a script begins: Key is its SHA1, Text its source, the first time that the trace has it
	Line                  // a statement of a script begins: Line, and Text is its local variables
)

// Detail is one step inside a node.
type Detail struct {
	What  What
	Key   string
	Text  string
	Reply string
	Line  int // in the source of a script, from 1
}

// Gone reports whether a key went away: it had expired, or something removed it.
func (d Detail) Gone() bool { return d.What == Expired || d.What == Changed && d.Text == "none" }
