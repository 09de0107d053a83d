package cluster

import (
	"fmt"
	"slices"
	"strings"

	"minikv/internal/resp"
)

// What messages and links are, for people and for who compares states.

// Describe names a message in a word or two, for people.
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

// ReplicationContent describes, for comparing states, what a message about replication
// tells a member that stands at an offset; how many bytes there were before makes no
// difference. ok is false for a copy of the data, which it does not describe, and for
// messages about anything else.
func ReplicationContent(m Message, offset int64) (text string, ok bool) {
	switch body := m.Body.(type) {
	case effects:
		text = string(body.stream)
	case acknowledged:
		text = fmt.Sprint("acknowledges ", offset-body.offset)
	case psync:
		text = fmt.Sprint("asks ", body.id, offset-body.offset, body.failover, body.first)
	case goOn:
		text = "go on " + body.id
	case replicaPing, replicaPong, refused, Dial, Closed:
		text = Describe(m)
	default:
		return "", false
	}
	return fmt.Sprintf("%v %s", m.Conn, text), m.Conn.Lane == Replication
}

// BringsCopy reports whether a message brings a replica a copy of all of its master's
// data.
func BringsCopy(m Message) bool {
	_, ok := m.Body.(fullResync)
	return ok
}

// LinksState describes, for comparing states, how far the member is with its links. All
// offsets are counted back from its own.
func (m *Member) LinksState() string {
	text := fmt.Sprint(m.up.to, m.up.conn, m.up.state, m.up.failover)
	for _, f := range m.down.feeds {
		text += fmt.Sprint(" ", f.conn, f.id, f.fresh)
		if f.id != 0 {
			text += fmt.Sprint(" ", m.node.Offset()-f.sent)
		}
	}
	return text
}

// Heeds reports whether a message about replication, or word of another member's death,
// can make a difference to this member. It cannot over a link that the member has given
// up, or if there is no link.
func (m *Member) Heeds(msg Message) bool {
	switch {
	case msg.Conn == (Conn{}):
		return m.up.to == msg.From || slices.ContainsFunc(m.down.feeds, func(f *feed) bool { return f.to == msg.From })
	case msg.Conn.Dialer == m.ID():
		return msg.Conn == m.up.conn
	}
	return true // its Dial may be on its way
}

// CarriesEffects reports whether a message brings what a master has changed.
func CarriesEffects(m Message) bool {
	e, ok := m.Body.(effects)
	return ok && !e.quiet()
}
