package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// Kind says what an Event is about.
type Kind string

// The kinds of events.
const (
	Commanded  Kind = "command" // a client's command; Reply is empty while it is blocked, or lost
	Replied    Kind = "reply"   // what a blocked command got in the end
	Pushed     Kind = "push"    // a client was told something unasked: a message, an invalidation
	NodeEvent  Kind = "node"    // something was done to a node, or to the network; Text says what
	ClockMoved Kind = "clock"   // the topology's clock was moved, or jumped
	LockHeld   Kind = "hold"    // a lock is held by Owner, until Until if it is not renewed
	LockFreed  Kind = "free"    // a lock was given back, or taken away by a command
)

// Event is one thing in the timeline of a topology. Of its reply as it was sent, and of
// each argument of its command, it keeps the first 2048 bytes, and of the whole command
// the first arguments, as far as 16 KiB hold them; … stands in place of the rest.
type Event struct {
	Number  uint64        `json:"n"`  // 1, 2, 3, …
	At      time.Duration `json:"at"` // in ns, since the topology began, by its clock
	Kind    Kind          `json:"kind"`
	Node    string        `json:"node,omitempty"`    // a node's name; "" if the event is about no single node
	Client  int64         `json:"client,omitempty"`  // its number at the node
	Name    string        `json:"name,omitempty"`    // the name that the client has given itself
	Command []string      `json:"command,omitempty"` // the name and the arguments
	Reply   string        `json:"reply,omitempty"`   // as redis-cli would show it, on one line
	Fault   string        `json:"fault,omitempty"`   // what a rule did to the command
	Text    string        `json:"text,omitempty"`    // of NodeEvent and ClockMoved: what happened

	// Of LockHeld and LockFreed:

	Key    string        `json:"key,omitempty"`
	DB     int           `json:"db,omitempty"`
	Owner  string        `json:"owner,omitempty"`
	Shared bool          `json:"shared,omitempty"` // others that share it may hold it too
	Until  time.Duration `json:"until,omitempty"`  // on the scale of At; 0: for ever
	// Set is the node from which all copies of the key come. Sets is how many such nodes
	// there are: of independent masters, more than half make a quorum; in a cluster it is 1.
	Set  string `json:"set,omitempty"`
	Sets int    `json:"sets,omitempty"`
}

// Trace keeps the latest events of a topology. It is safe for concurrent use.
type Trace struct {
	began time.Time
	clock *Clock
	told  func(Event) // of each event at once; may be nil

	mu    sync.Mutex
	last  uint64 // number of the latest event
	size  int
	ring  []*record // the latest ones, at most size; record n is at (n-1) % size
	holds ledger
	locks map[string]string // the kinds of those that are held, by key
	hints map[string]string // kinds of locks that can be known by their channels alone, by key
}

// record is an event whose texts are made when somebody reads them.
type record struct {
	Event
	command []byte // encoded
	reply   []byte // encoded
}

const (
	// longest is how many bytes of an argument or a reply are kept, and the longest name that
	// a lock or its holder has.
	longest = 2048
	// longestCommand is how many bytes of a command are kept; each argument counts for
	// argumentBytes more than it has.
	longestCommand = 16 << 10
	argumentBytes  = 16
)

func newTrace(clock *Clock, size int, told func(Event)) *Trace {
	return &Trace{
		began: clock.Now(), clock: clock, told: told,
		size: size, locks: map[string]string{}, hints: map[string]string{},
		holds: ledger{pasts: map[string]*past{}, limit: fewestPasts},
	}
}

// Trace returns the topology's timeline; nil unless Config.Trace, Told or Unsupported is
// set.
func (t *Topology) Trace() *Trace { return t.trace }

// note adds an event about the topology, if there is a trace.
func (t *Topology) note(e Event) {
	if t.trace != nil {
		t.trace.add(&record{Event: e})
	}
}

// noteNode adds an event about the node.
func (n *Node) noteNode(format string, args ...any) {
	if n.topology.trace != nil {
		n.topology.note(Event{Kind: NodeEvent, Node: n.name, Text: fmt.Sprintf(format, args...)})
	}
}

// add numbers an event and keeps it.
func (tr *Trace) add(r *record) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.last++
	r.Number = tr.last
	r.At = tr.clock.Now().Sub(tr.began)
	if r.Kind == LockHeld || r.Kind == LockFreed {
		tr.holds.note(r.Event)
	}
	if at := int((tr.last - 1) % uint64(tr.size)); at == len(tr.ring) {
		tr.ring = append(tr.ring, r)
	} else {
		tr.ring[at] = r
	}
	if tr.told != nil {
		tr.told(r.event())
	}
}

// Last returns the number of the latest event, 0 before the first.
func (tr *Trace) Last() uint64 {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.last
}

// Since returns the events with a number greater than the given one, as far as they are
// kept. Since(0) returns all that are kept.
func (tr *Trace) Since(number uint64) []Event {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if kept := uint64(tr.size); tr.last > kept {
		number = max(number, tr.last-kept)
	}
	var events []Event
	for next := number + 1; next <= tr.last; next++ {
		events = append(events, tr.ring[(next-1)%uint64(tr.size)].event())
	}
	return events
}

// Overlaps returns the overlaps of one key, as the function Overlaps does, also of events
// that are no longer kept. Of more than a thousand overlaps it may have only the first
// and the latest.
func (tr *Trace) Overlaps(key string) []Overlap {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.holds.overlaps(key)
}

// event fills in the texts.
func (r *record) event() Event {
	e := r.Event
	if r.command != nil {
		if v, _, err := resp.Parse(r.command); err == nil {
			for _, arg := range v.List {
				e.Command = append(e.Command, arg.Str)
			}
		}
	}
	var replies []string
	for rest := r.reply; len(rest) > 0; {
		v, n, err := resp.Parse(rest)
		if err != nil || n == 0 {
			replies = append(replies, "…")
			break
		}
		replies = append(replies, inline(v))
		rest = rest[n:]
	}
	if r.reply != nil {
		e.Reply = strings.Join(replies, "  ")
	}
	return e
}

func inline(v resp.Value) string {
	switch v.Kind {
	case resp.Error:
		return "(error) " + v.Str
	case resp.Integer:
		return "(integer) " + strconv.FormatInt(v.Int, 10)
	case resp.Nil, resp.NilArray:
		return "(nil)"
	}
	return resp.Inline(v)
}

// commandEvent begins the record of a command, which answered completes; nil
// when there is no trace.
func (n *Node) commandEvent(s *engine.Session, cmd [][]byte, fault string) *record {
	if n.topology.trace == nil {
		return nil
	}
	return &record{
		Event:   Event{Kind: Commanded, Node: n.name, Client: s.ID, Name: s.Name, Fault: fault},
		command: resp.AppendCommand(nil, short(cmd)...),
	}
}

// short is what is kept of a command.
func short(cmd [][]byte) [][]byte {
	kept, room := cmd, longestCommand
	for i, arg := range cmd {
		if room -= min(len(arg), longest) + argumentBytes; room < 0 {
			return append(kept[:i:i], []byte("…"))
		}
		if len(arg) > longest {
			if &kept[0] == &cmd[0] {
				kept = slices.Clone(cmd)
			}
			kept[i] = append(arg[:longest:longest], "…"...)
		}
	}
	return kept
}

// answered completes the record of a command and adds it.
func (tr *Trace) answered(r *record, reply []byte) {
	if tr == nil || r == nil {
		return
	}
	r.reply = append([]byte(nil), reply[:min(len(reply), longest)]...)
	tr.add(r)
}

// sent adds what a client was sent besides replies to what it just asked.
func (tr *Trace) sent(n *Node, s *engine.Session, kind Kind, out []byte) {
	tr.add(&record{
		Event: Event{Kind: kind, Node: n.name, Client: s.ID, Name: s.Name},
		reply: append([]byte(nil), out[:min(len(out), longest)]...),
	})
}

// String returns the event as one line.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%9.3fs %-3s ", e.At.Seconds(), e.Node)
	if e.Client != 0 {
		fmt.Fprintf(&b, "client %d", e.Client)
		if e.Name != "" {
			fmt.Fprintf(&b, " (%s)", e.Name)
		}
		b.WriteByte(' ')
	}
	switch e.Kind {
	case Commanded:
		writeCommand(&b, e.Command)
		if e.Reply != "" {
			b.WriteString(" → " + e.Reply)
		} else if e.Fault == "" {
			b.WriteString(" … waits")
		}
	case Replied:
		b.WriteString("… → " + e.Reply)
	case Pushed:
		b.WriteString("is told " + e.Reply)
	case LockHeld:
		fmt.Fprintf(&b, "%s is held by %s", word(e.Key), word(e.Owner))
		if e.Shared {
			b.WriteString(", who shares it,")
		}
		if e.Until > 0 {
			fmt.Fprintf(&b, " until %.3fs", e.Until.Seconds())
		}
	case LockFreed:
		fmt.Fprintf(&b, "%s is held by %s no more", word(e.Key), word(e.Owner))
	default:
		b.WriteString(e.Text)
	}
	if e.Fault != "" {
		b.WriteString("  ! " + e.Fault)
	}
	return b.String()
}

// shown is how much of an argument a line shows.
const shown = 60

func writeCommand(b *strings.Builder, args []string) {
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word(arg))
	}
}

// word is an argument, a key or an owner as a line shows it: as a person would
// type it, and its beginning only if it is long.
func word(arg string) string {
	more := ""
	if len(arg) > shown {
		arg, more = arg[:shown], "…"
	}
	if quoted := resp.Quote(arg); arg == "" || quoted != `"`+arg+`"` || strings.Contains(arg, " ") {
		arg = quoted
	}
	return arg + more
}
