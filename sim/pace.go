package sim

import (
	"fmt"
	"time"
)

// stretch is after how many steps a run looks up from its work: less than a millisecond,
// but seconds in the largest clusters.
const stretch = 1 << 8

// standstill is how many stretches there may be at one instant, where clients are few:
// a million that start together take a dozen steps each.
const standstill = 512

// A task of a client that goes on and on and waits for next to nothing, such as 50 ns
// where 50 ms were meant, is looked for in a sample of steps whenever so many stretches
// fall into one second, as they also do where clients are many. Most steps of the sample
// are then wakes, and one task has many, after waits so short on the average as nothing
// needs that works.
const (
	crowd  = 1 << 10
	sample = 1 << 12
	often  = 1 << 7
	hasty  = 500 * time.Nanosecond
)

// pace watches that a run's time goes on.
type pace struct {
	at     time.Duration // of the latest stretch
	still  int           // stretches at that instant
	second time.Duration // of the latest stretch
	many   int           // stretches in that second
}

// stretch lets the world go on for a stretch, or somewhat more; done reports whether the
// time has come, or an error. A client that keeps the time from going on is an error.
func (p *pace) stretch(w *World, until time.Duration) (done bool, err error) {
	done = w.advance(until, stretch)
	p.still++
	p.many++
	if w.now > p.at {
		p.at, p.still = w.now, 0
	}
	if second := w.now / time.Second; second > p.second {
		p.second, p.many = second, 0
	}
	switch {
	case done:
	case p.still > standstill+len(w.clients):
		return true, w.endless()
	case p.many > crowd:
		p.many = 0
		return w.hastes(until)
	}
	return done, w.err
}

// endless says who lets the time stand still. The world must not run afterwards.
func (w *World) endless() error {
	who := "the world"
	if _, ok := w.queue.next(); ok {
		s := w.queue.pop()
		if p, _ := s.owner(); p != nil {
			who = p.name()
		}
	}
	return fmt.Errorf("sim: the time stands still at %v, as %s goes on and on and never waits: "+
		"let it sleep between two attempts", w.now, who)
}

// hastes lets the world go on for a sample of steps. It is an error if one task of a
// client wakes in it all the time.
func (w *World) hastes(until time.Duration) (done bool, err error) {
	began, all, wakes, busiest := w.now, 0, map[*task]int{}, (*task)(nil)
	for range sample {
		if _, ok := w.queue.next(); ok {
			if s := w.queue.peek(); s.kind == stepWake {
				t := s.on.(*task)
				all++
				if wakes[t]++; wakes[t] > wakes[busiest] {
					busiest = t
				}
			}
		}
		if w.advance(until, 1) {
			return true, w.err
		}
	}
	count := wakes[busiest]
	if all < sample/2 || count < often || w.now-began > time.Duration(count)*hasty {
		return false, nil
	}
	return true, fmt.Errorf("sim: the time hardly goes on at %v, as %s goes on and on and waits for only %v each time: "+
		"let it sleep longer between two attempts; a duration without a unit is in nanoseconds",
		w.now, busiest.proc.name(), (w.now-began)/time.Duration(count))
}
