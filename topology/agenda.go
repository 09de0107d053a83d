package topology

import (
	"container/heap"
	"time"
)

// agenda is what falls due, in the order of its times; of one time what was entered first.
type agenda[T any] struct {
	entries entries[T]
	entered uint64 // how many there were so far
}

// add enters something. first reports that nothing falls due before it.
func (a *agenda[T]) add(at time.Time, what T) (first bool) {
	a.entered++
	heap.Push(&a.entries, entry[T]{at, a.entered, what})
	return a.entries[0].number == a.entered
}

// next is when the first thing falls due.
func (a *agenda[T]) next() (at time.Time, ok bool) {
	if len(a.entries) == 0 {
		return time.Time{}, false
	}
	return a.entries[0].at, true
}

// take takes out the first thing, if it is due by now.
func (a *agenda[T]) take(now time.Time) (what T, ok bool) {
	if at, some := a.next(); !some || at.After(now) {
		return what, false
	}
	return heap.Pop(&a.entries).(entry[T]).what, true
}

// entry is one thing of an agenda.
type entry[T any] struct {
	at     time.Time
	number uint64
	what   T
}

// entries is a heap of them.
type entries[T any] []entry[T]

func (e entries[T]) Len() int { return len(e) }

func (e entries[T]) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].number < e[j].number
}

func (e entries[T]) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *entries[T]) Push(x any) { *e = append(*e, x.(entry[T])) }

func (e *entries[T]) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = entry[T]{}
	*e = (*e)[:len(*e)-1]
	return last
}
