package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/sim"
	"minikv/trace"
)

// meanwhile tells what went on while a client waited: what it was answered last, and who
// had what it asked for.
func (t *teller) meanwhile(asked *trace.Event) []string {
	end := t.waitsUntil(asked)
	who := t.names[asked.Actor]
	answer := t.answer(asked, end)
	if t.pick(answer, helpful); answer > 0 {
		t.more[answer] = ", the latest answer to " + who + " about " + asked.Key
	}
	t.tellDropped(asked.N, end, asked.Key, "")
	if sim.TraitsOf(t.story.World.Load.Kind).Promise == "gate" {
		called := t.counted(asked, end)
		return []string{fmt.Sprintf("Until then countDown() is called %s%s; it takes %d to open %s.",
			times(called), t.ofWhichHas(answer, called), t.story.World.Load.Count, asked.Key)}
	}
	had, names := t.had(asked, end), []string(nil)
	for _, n := range had {
		t.pick(n, spare)
		if name := t.names[t.event(n).Actor]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch by := t.leftTaken(asked); {
	case len(had) > 0:
		return []string{fmt.Sprintf("While %s waits, %s is held by %s, %s in all%s.", who, asked.Key, listed(names),
			times(len(had)), t.thenByNobody(asked, end))}
	case by != nil:
		t.pick(by.N, decisive)
		then := ""
		if freed := t.next(asked.N, func(e *trace.Event) bool { return frees(e, asked.Key) }); freed > 0 && freed < end {
			t.pick(freed, decisive)
			then = " at first, and then as free"
		}
		return []string{fmt.Sprintf("While %s waits, nobody holds %s; %s has it as taken by %s%s.", who, asked.Key,
			t.names[by.Actor], t.names[by.Peer], then)}
	}
	if taken := t.takenByOthers(asked, end); taken != "" {
		return []string{fmt.Sprintf("While %s waits, nobody holds %s; at last %s.", who, asked.Key, taken)}
	}
	return []string{fmt.Sprintf("While %s waits, nobody has %s%s.", who, asked.Key,
		t.firstInQueue(asked, asked.N, end))}
}

// waitsUntil is the number of the event that ends a wait, or one more than there are.
func (t *teller) waitsUntil(asked *trace.Event) uint64 {
	end := t.next(asked.N, func(e *trace.Event) bool {
		switch e.Kind {
		case trace.Crash:
			return e.Peer == asked.Actor
		case trace.End:
			return e.Actor == asked.Actor
		}
		return e.Actor == asked.Actor && e.Lock == asked.Lock && (e.Kind == trace.Hold || e.Kind == trace.Opened)
	})
	if end == 0 {
		end = uint64(len(t.events)) + 1
	}
	return end
}

// answer is the execution about what a client waits for whose reply reached it last; 0: none did.
func (t *teller) answer(asked *trace.Event, end uint64) (answer uint64) {
	for n := asked.N + 1; n < end; n++ {
		if e := t.event(n); e.Kind != trace.Deliver || e.Actor != asked.Actor {
			continue
		}
		by := t.grant(n)
		if by > asked.N && t.event(by).Peer == asked.Actor && isAbout(t.event(by).Text, asked.Key) {
			answer = by
		}
	}
	return answer
}

// isAbout reports whether the text of a request names a lock: lock:1 is not in lock:10.
func isAbout(text, lock string) bool {
	for {
		_, rest, found := strings.Cut(text, lock)
		if !found || rest == "" || rest[0] < '0' || rest[0] > '9' {
			return found
		}
		text = rest
	}
}

func (t *teller) isClient(who trace.Actor) bool { return strings.HasPrefix(t.names[who], "c") }

// counted is how often a latch was counted down until a wait ended.
func (t *teller) counted(asked *trace.Event, end uint64) (n int) {
	for i := range t.events[:end-1] {
		if e := &t.events[i]; e.Kind == trace.CountDown && e.Lock == asked.Lock {
			n++
		}
	}
	return n
}

// ofWhichHas says how many of the calls of countDown() a server had, by its answer of how many
// are left, if it had fewer: a crash or an error took the others; "": it does not tell.
func (t *teller) ofWhichHas(answer uint64, called int) string {
	if answer == 0 {
		return ""
	}
	_, left, _ := strings.Cut(t.event(answer).Text, ` = "`)
	n, err := strconv.Atoi(strings.TrimSuffix(left, `"`))
	has := t.story.World.Load.Count - n
	if err != nil || has < 0 || has >= called {
		return ""
	}
	number := "none"
	if has > 0 {
		number = strconv.Itoa(has)
	}
	return fmt.Sprintf(", of which %s has %s", t.names[t.event(answer).Actor], number)
}

// had are the events with which others got what a client waited for, or had got it before.
func (t *teller) had(asked *trace.Event, end uint64) []uint64 {
	had := sim.HeldByOthers(t.events, asked)
	for n := asked.N + 1; n < end; n++ {
		if e := t.event(n); e.Kind == trace.Hold && e.Lock == asked.Lock && e.Actor != asked.Actor {
			had = append(had, n)
		}
	}
	return had
}

// aWhile is how long nobody has something before that is told of.
const aWhile = time.Second

// thenByNobody says since when nobody has held what a client waits for, if that is a while.
func (t *teller) thenByNobody(asked *trace.Event, end uint64) string {
	until := t.story.For
	at := *asked // as if it had been asked for when the wait ends
	if at.N = end; end <= uint64(len(t.events)) {
		until = t.event(end).At
	}
	if len(sim.HeldByOthers(t.events, &at)) > 0 {
		return ""
	}
	last := t.latest(end, func(e *trace.Event) bool {
		return e.Lock == asked.Lock && e.Actor != asked.Actor && (e.Kind == trace.Release || e.Kind == trace.Lost)
	})
	if last == 0 || until-t.event(last).At < aWhile {
		return ""
	}
	since := "; after " + atTime(t.event(last).At) + " nobody holds it" + t.firstInQueue(asked, last, end)
	if taken := t.takenByOthers(asked, end); taken != "" {
		since += ", and at last " + taken
	}
	return since
}

// takenByOthers says which servers have, when a wait ends, a part of a lock as taken by another
// client; "": none, or what is there does not say it, or keys move between servers.
func (t *teller) takenByOthers(asked *trace.Event, end uint64) string {
	w := &t.story.World
	if traits := sim.TraitsOf(w.Load.Kind); traits.KeyStays || traits.Shared || w.Replicas > 0 || w.Cluster {
		return ""
	}
	type place struct {
		server trace.Actor
		key    string
	}
	seen, list := map[place]bool{}, []string(nil)
	for n := end - 1; n > 0; n-- {
		e := t.event(n)
		if e.Kind == trace.Crash && !t.isClient(e.Peer) {
			return "" // it is down, or what it had may have gone
		}
		for _, d := range slices.Backward(e.Details) {
			at := place{e.Actor, d.Key}
			if !isPartOf(d.Key, asked.Key) || d.What != trace.Changed && !d.Gone() || seen[at] {
				continue
			}
			seen[at] = true
			if e.Kind == trace.Execute && !d.Gone() && e.Peer != asked.Actor && t.isClient(e.Peer) {
				list = append(list, fmt.Sprintf("%s has %s as taken by %s", t.names[e.Actor], d.Key, t.names[e.Peer]))
			}
		}
	}
	slices.Sort(list)
	return listed(list)
}

// leftTaken is the execution that has taken, for another client, what one asks for, if
// that is still taken by then; nil: it is free, or its key stays when it is.
func (t *teller) leftTaken(asked *trace.Event) *trace.Event {
	if sim.TraitsOf(t.story.World.Load.Kind).KeyStays {
		return nil
	}
	for n := asked.N - 1; n > 0; n-- {
		e := t.event(n)
		for _, d := range slices.Backward(e.Details) {
			switch {
			case !isPartOf(d.Key, asked.Key):
			case d.Gone():
				return nil
			case d.What == trace.Changed && e.Kind == trace.Execute && e.Peer != asked.Actor:
				return e
			}
		}
	}
	return nil
}

// frees reports whether a lock's key, or that of a member of it, goes in an event.
func frees(e *trace.Event, lock string) bool {
	return slices.ContainsFunc(e.Details, func(d trace.Detail) bool { return isPartOf(d.Key, lock) && d.Gone() })
}
