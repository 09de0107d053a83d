package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// maxLine is the longest line that Read takes, in bytes: an event with all that a node did.
const maxLine = 64 << 20

// line is an event as AppendJSON writes it.
type line struct {
	N       uint64
	T       int64
	Actor   string
	Kind    string
	Cause   uint64
	Peer    string
	Lock    int32
	A, B    int64
	Key     string
	Text    string
	Details []struct {
		What, Key, Text, Reply string
		Line                   int
	}
}

// reader turns lines into events.
type reader struct {
	events []Event
	names  []string // of the actors; 0 is nobody
	actors map[string]Actor
}

// Read reads a trace as AppendJSON writes it, one event a line, and returns the events
// with the names of their actors. An error names the file and the line: the trace is cut
// short, has a gap, is of another version, or is not a trace.
func Read(file string, in io.Reader) ([]Event, []string, error) {
	r := &reader{names: []string{""}, actors: map[string]Actor{"": 0}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		if err := r.read(lines.Bytes()); err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("not a trace: expected lines of at most %d MiB", maxLine>>20)
		}
		return nil, nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
	}
	if number == 0 {
		return nil, nil, fmt.Errorf("%s:1: not a trace: there is nothing in it", file)
	}
	return r.events, r.names, nil
}

func (r *reader) read(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return r.malformed(text, err)
	}
	before := Event{}
	if len(r.events) > 0 {
		before = r.events[len(r.events)-1]
	}
	switch {
	case l.N == 0 || l.Actor == "" && l.Kind == "":
		return errNoTrace
	case l.N != before.N+1:
		return fmt.Errorf("event %d comes after event %d: a part of the trace is missing", l.N, before.N)
	case l.T < int64(before.At):
		return fmt.Errorf("event %d is earlier than event %d", l.N, before.N)
	case l.Cause >= l.N:
		return fmt.Errorf("event %d follows from event %d, which comes later", l.N, l.Cause)
	}
	kind := slices.Index(kindNames[:], l.Kind)
	if kind < 0 {
		return fmt.Errorf("unknown kind %q: the trace is of another version", l.Kind)
	}
	e := Event{N: l.N, At: time.Duration(l.T), Cause: l.Cause, Actor: r.actor(l.Actor), Peer: r.actor(l.Peer),
		Kind: Kind(kind), Lock: l.Lock, A: l.A, B: l.B, Key: l.Key, Text: l.Text}
	for _, d := range l.Details {
		what := slices.Index(whatNames[:], d.What)
		if what < 0 {
			return fmt.Errorf("unknown detail %q: the trace is of another version", d.What)
		}
		e.Details = append(e.Details, Detail{What(what), d.Key, d.Text, d.Reply, d.Line})
	}
	r.events = append(r.events, e)
	return nil
}

var errNoTrace = errors.New(`not a trace: expected an event, such as {"n":1,"t":0,"actor":"c1","kind":"start"}`)

// malformed says what is wrong with a line that is not JSON.
func (r *reader) malformed(text []byte, err error) error {
	switch {
	case len(r.events) == 0 && (len(text) == 0 || text[0] != '{'):
		return errNoTrace
	case errors.As(err, new(*json.UnmarshalTypeError)):
		return fmt.Errorf("a field has another type: the trace is of another version: %w", err)
	case len(text) == 0 || text[len(text)-1] != '}':
		return errors.New("the trace is cut short in the middle of this event")
	}
	return fmt.Errorf("not an event: %w", err)
}

// actor is the actor of that name, a new one at its first appearance.
func (r *reader) actor(name string) Actor {
	a, known := r.actors[name]
	if !known {
		a = Actor(len(r.names))
		r.names, r.actors[name] = append(r.names, name), a
	}
	return a
}
