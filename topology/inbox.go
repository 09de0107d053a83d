package topology

import (
	"container/heap"
	"sync"
	"time"

	"minikv/cluster"
)

// inbox holds what is on its way to one node, ordered by the time of arrival.
type inbox struct {
	mu     sync.Mutex
	queue  arrivals
	pushed uint64
	wake   chan struct{} // something earlier has been queued, or the inbox is closed
	closed bool
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (b *inbox) push(at time.Time, m cluster.Message) {
	b.mu.Lock()
	b.pushed++
	heap.Push(&b.queue, arrival{at, b.pushed, m})
	first := b.queue[0].number == b.pushed
	b.mu.Unlock()
	if first {
		b.nudge()
	}
}

func (b *inbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.nudge()
}

// run hands what arrives to deliver, until close.
func (b *inbox) run(deliver func([]cluster.Message)) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []cluster.Message
	for {
		var wait time.Duration
		var open bool
		batch, wait, open = b.due(batch[:0])
		if !open {
			return
		}
		if len(batch) > 0 {
			deliver(batch)
			continue
		}
		timer.Reset(wait)
		select {
		case <-b.wake:
		case <-timer.C:
		}
	}
}

// due takes out what has arrived; wait is how long until more will.
func (b *inbox) due(batch []cluster.Message) (due []cluster.Message, wait time.Duration, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for len(b.queue) > 0 && !b.queue[0].at.After(now) {
		batch = append(batch, heap.Pop(&b.queue).(arrival).message)
	}
	wait = time.Hour
	if len(b.queue) > 0 {
		wait = b.queue[0].at.Sub(now)
	}
	return batch, wait, !b.closed
}

// arrival is one message and when it comes.
type arrival struct {
	at      time.Time
	number  uint64
	message cluster.Message
}

// arrivals is a heap of them.
type arrivals []arrival

func (a arrivals) Len() int { return len(a) }

func (a arrivals) Less(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].number < a[j].number
}

func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

func (a *arrivals) Push(x any) { *a = append(*a, x.(arrival)) }

func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = arrival{}
	*a = (*a)[:len(*a)-1]
	return last
}
