package explore

import (
	"slices"
	"strings"

	"minikv/trace"
)

// queueOf is the key of a fair lock's queue, a list of owners such as c2:1.
func queueOf(lock string) string { return "redisson_lock_queue:{" + lock + "}" }

// dropped are the clients that lose their place in a fair lock's queue by what another asks
// for, which takes them for dead. Who is granted the lock leaves the queue itself.
func (t *teller) dropped(e *trace.Event, lock string) (clients []string) {
	for _, d := range e.Details {
		owner, is := strings.CutPrefix(d.Reply, `"`)
		client, _, _ := strings.Cut(owner, ":")
		took := is && d.What == trace.Called && d.Text == "lpop "+queueOf(lock)
		if took && client != t.names[e.Peer] && !slices.Contains(clients, client) {
			clients = append(clients, client)
		}
	}
	return clients
}

// tellDropped picks the last event between two in which somebody loses a place in a fair
// lock's queue: who, or if that is "" anybody.
func (t *teller) tellDropped(from, to uint64, lock, who string) {
	n := t.latest(to, func(e *trace.Event) bool {
		clients := t.dropped(e, lock)
		return e.N > from && len(clients) > 0 && (who == "" || slices.Contains(clients, who))
	})
	if n == 0 {
		return
	}
	t.pick(n, helpful)
	clients, loses := t.dropped(t.event(n), lock), "loses its place"
	if len(clients) > 1 {
		loses = "lose their places"
	}
	t.more[n] += "; " + listed(clients) + ", taken for dead, " + loses + " in the queue"
}

// headOf is who is first in a fair lock's queue once an event has changed that; "": nobody is,
// or, as another server is asked from then on, that is not known.
func headOf(e *trace.Event, lock string) (client string, changed bool) {
	if e.Kind == trace.Replicate {
		return "", false
	}
	for _, d := range e.Details {
		if d.Key != queueOf(lock) || d.What != trace.Changed && !d.Gone() {
			continue
		}
		client, changed = "", true
		if owners, is := strings.CutPrefix(d.Text, "list{"); is {
			client, _, _ = strings.Cut(owners, ":")
		}
	}
	return client, changed || e.Kind == trace.Promote || e.Kind == trace.Restart && e.A == 0
}

// firstInQueue says who else is first in a fair lock's queue at event n, and until when, if
// that is a while of the wait that ends with event `end`.
func (t *teller) firstInQueue(asked *trace.Event, n, end uint64) string {
	set := t.latest(n+1, func(e *trace.Event) bool {
		_, changed := headOf(e, asked.Key)
		return changed
	})
	if set == 0 {
		return ""
	}
	who, _ := headOf(t.event(set), asked.Key)
	if who == "" || who == t.names[asked.Actor] {
		return ""
	}
	over := t.next(n, func(e *trace.Event) bool {
		next, changed := headOf(e, asked.Key)
		return changed && next != who
	})
	switch {
	case over == 0 || over >= end:
		return ", and " + who + " is first in its queue"
	case t.event(over).At-t.event(n).At < aWhile:
		return ""
	}
	return ", and " + who + " is first in its queue until " + atTime(t.event(over).At)
}
