package topology

import (
	"sync"
	"time"

	"minikv/cluster"
)

// inbox holds what is on its way to one node, ordered by the time of arrival.
type inbox struct {
	clock *Clock
	start func() // a goroutine that calls run; it is called once, when there is something to do

	delivering sync.Mutex // held while what has arrived is handed over, so that it stays in order

	mu     sync.Mutex
	queue  agenda[cluster.Message]
	wake   chan struct{} // something earlier has been queued, or there is something else to do
	begun  bool          // start was called
	closed bool
}

func newInbox(clock *Clock, start func()) *inbox {
	return &inbox{clock: clock, start: start, wake: make(chan struct{}, 1)}
}

func (b *inbox) push(at time.Time, m cluster.Message) {
	b.mu.Lock()
	first := b.queue.add(at, m)
	b.mu.Unlock()
	if first {
		b.nudge()
	}
}

func (b *inbox) nudge() {
	b.mu.Lock()
	if !b.begun && !b.closed {
		b.begun = true
		b.start()
	}
	b.mu.Unlock()
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

// run hands what arrives to deliver, until close. It calls woken before it waits.
func (b *inbox) run(deliver func([]cluster.Message), woken func()) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		if b.pump(deliver) {
			continue
		}
		woken()
		var due <-chan time.Time
		b.mu.Lock()
		closed := b.closed
		if at, some := b.queue.next(); some && !b.clock.virtual {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		b.mu.Unlock()
		if closed {
			return
		}
		select {
		case <-b.wake:
		case <-due:
		}
	}
}

// pump hands over what has arrived, and reports whether there was anything.
func (b *inbox) pump(deliver func([]cluster.Message)) (some bool) {
	b.delivering.Lock()
	defer b.delivering.Unlock()
	batch := b.due()
	if len(batch) > 0 {
		deliver(batch)
	}
	return len(batch) > 0
}

// due takes out what has arrived.
func (b *inbox) due() (batch []cluster.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	now := b.clock.Now()
	for m, some := b.queue.take(now); some; m, some = b.queue.take(now) {
		batch = append(batch, m)
	}
	return batch
}

// next is when the first message arrives.
func (b *inbox) next() (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return time.Time{}, false
	}
	return b.queue.next()
}
