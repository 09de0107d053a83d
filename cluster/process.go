package cluster

import (
	"slices"
	"strconv"
	"strings"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// Process is one server process of a topology: a Redis node with its links, or a
// Sentinel. It is a machine that also takes and leaves messages.
//
// After each call of Do, Tick, Close, Receive or Restart a shell lets the sessions go on
// that Unblocked returns, takes first what Dirty has, then what Outbox has, and asks
// NextDeadline. It calls Tick once at the start.
type Process interface {
	engine.Machine
	// Receive takes a message that has arrived.
	Receive(m Message)
	// Outbox returns the messages to send, in order. The slice is valid until
	// the next call of the process.
	Outbox() []Message
	// Restart is a crash and a start: connections and sessions are gone; what a
	// configuration file would say stays. Without keepData the data is gone too.
	Restart(keepData bool)
}

// ID numbers the processes of a topology: 1, 2, 3, … in the order of their
// addresses. 0 is nobody.
type ID int

// Lane is what a connection is for.
type Lane uint8

// The lanes. A process that is asked for one that it does not have closes the
// connection.
const (
	Replication Lane = iota // a replica dials its master
	Bus                     // between the nodes of a cluster
	Client                  // the dialer is a client: Request, Reply
)

// Conn names a connection. Both ends use the same name. Numbers are never reused, not
// even after a restart.
type Conn struct {
	Dialer ID
	Lane   Lane
	Number uint64 // 1, 2, 3, … of all connections of the dialer
}

// Message travels from one process to another over a connection. Messages of one
// connection and direction arrive in order and without a gap, perhaps late, or, once the
// connection has ended, never. As over TCP nobody is told of a silence: a process that
// cannot wait closes the connection and dials again.
type Message struct {
	From, To ID
	Conn     Conn
	Body     any // immutable: Dial, Closed, Request, Reply, or a type of the lane
}

// Dial opens a connection: the dialer sends it first and may go on at once. There is no
// answer to it.
type Dial struct{}

// Closed ends a connection: the other end has closed it, is not there, or does not know
// it. A Closed with the zero Conn ends all connections between the two processes: the
// sender's computer says that the process has died.
type Closed struct{}

// Request is one command over a Client connection. A Reply follows for each, in order;
// between them come Replies with what the session is sent unasked, such as published
// messages.
type Request struct{ Args []string }

// Reply is one value that a session was sent.
type Reply struct{ Value resp.Value }

// Directory has the address of every process of a topology; the first is that of ID 1. It
// does not change.
type Directory []string

// Address returns "host:port" of a process, or "" if there is none with that ID.
func (d Directory) Address(id ID) string {
	if id < 1 || int(id) > len(d) {
		return ""
	}
	return d[id-1]
}

// Endpoint returns host and port of a process, "" and 0 if there is none with that ID.
func (d Directory) Endpoint(id ID) (host string, port int) { return splitAddress(d.Address(id)) }

// Resolve returns the process that listens at an address, or 0. The name localhost stands
// for 127.0.0.1.
func (d Directory) Resolve(host string, port int) ID {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	wanted := joinAddress(host, port)
	for i, address := range d {
		if address == wanted {
			return ID(i + 1)
		}
	}
	return 0
}

func joinAddress(host string, port int) string { return host + ":" + strconv.Itoa(port) }

// splitAddress takes "host:port" apart at its last colon, so that host may be
// an IPv6 address.
func splitAddress(address string) (host string, port int) {
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return address, 0
	}
	port, _ = strconv.Atoi(address[at+1:])
	return address[:at], port
}

// randomID draws the name of a cluster's node, or of a Sentinel: 40 hexadecimal digits.
func randomID(random func() uint64) string {
	const digits = "0123456789abcdef"
	var text [40]byte
	var bits uint64
	for i := range text {
		if i%16 == 0 {
			bits = random()
		}
		text[i] = digits[bits&15]
		bits >>= 4
	}
	return string(text[:])
}

// without takes one out of a list, whose memory it uses.
func without[S ~[]E, E comparable](list S, one E) S {
	return slices.DeleteFunc(list, func(other E) bool { return other == one })
}
