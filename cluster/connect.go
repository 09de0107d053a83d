package cluster

import (
	"fmt"
	"strings"

	"minikv/internal/resp"
)

// Connect lets processes that have just been made exchange their messages
// without any delay until they are quiet, so that a topology starts connected:
// replicas follow their masters, nodes know each other. process[i] has the ID
// i+1. What they then have to say to clients is lost; there are none yet.
func Connect(processes []Process) {
	for _, p := range processes {
		p.Tick()
	}
	const rounds = 100 // far more than any handshake takes
	for range rounds {
		if !exchange(processes) {
			return
		}
	}
}

// exchange delivers what every process has to send now; it reports whether there was anything.
func exchange(processes []Process) (any bool) {
	for _, p := range processes {
		p.Dirty()
		for _, m := range append([]Message(nil), p.Outbox()...) {
			any = true
			switch {
			case m.To >= 1 && int(m.To) <= len(processes):
				processes[m.To-1].Receive(m)
			default:
				p.Receive(Nobody(m))
			}
		}
	}
	return any
}

// Nobody is what comes back of a message to a process that is not there: its
// connection is refused.
func Nobody(m Message) Message { return Message{From: m.To, To: m.From, Conn: m.Conn, Body: Closed{}} }

// Describe names a message for people, in a word or two.
func Describe(m Message) string {
	switch body := m.Body.(type) {
	case Dial:
		return "connect"
	case Closed:
		return "connection closed"
	case Request:
		return strings.Join(body.Args, " ")
	case Reply:
		return resp.Inline(body.Value)
	case interface{ String() string }:
		return body.String()
	}
	return "message"
}

// ReplicationContent is what a message about replication tells a member that stands at
// an offset, for who compares states: how many bytes there were before is left out. ok
// is false for messages that are exchanged before, or about other things.
func ReplicationContent(m Message, offset int64) (text string, ok bool) {
	switch body := m.Body.(type) {
	case effects:
		return fmt.Sprintf("%v %s", m.Conn, body.stream), true
	case acknowledged:
		return fmt.Sprintf("%v acknowledges %d", m.Conn, offset-body.offset), true
	}
	return "", false
}

// CarriesEffects reports whether a message brings what a master has changed.
func CarriesEffects(m Message) bool {
	e, ok := m.Body.(effects)
	return ok && !e.quiet()
}
