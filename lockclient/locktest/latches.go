package locktest

import (
	"time"

	"minikv/lockclient"
)

// latch names the run's latch for a process.
func (p *process) latch(r *run) *lockclient.Latch { return p.clients[0].Latch(r.key) }

// counted starts a process whose latch has a count.
func (r *run) counted(n int64) *process {
	p := r.trusting()
	set, err := p.latch(r).TrySetCount(r.ctx, n)
	r.ok("set the count", err)
	r.that(set, "the latch has a count already")
	return p
}

// looked waits until the waiters of a process have looked at a latch so often:
// each does before it subscribes and once more, a strict one only then.
func (r *run) looked(p *process, times int) {
	r.until("waiters have looked", func() (bool, error) { return p.faults[0].answered() >= times, nil })
}

// gated starts to wait for a latch.
func (r *run) gated(l *lockclient.Latch) *task {
	return r.start(func(*task) error { return l.Wait(r.ctx) })
}

// downTo counts down once.
func (r *run) downTo(p *process, want int64) {
	left, err := p.latch(r).CountDown(r.ctx)
	r.ok("count down", err)
	r.that(left == want, "%d left after counting down, want %d", left, want)
}

func openingForAll(r *run) {
	a, b := r.counted(2), r.trusting()
	set, err := a.latch(r).TrySetCount(r.ctx, 7)
	r.ok("set the count again", err)
	r.that(!set, "a count was set twice")
	waiters := []*task{
		r.gated(a.latch(r)), r.gated(b.latch(r)), r.gated(b.latch(r)), r.gated(b.latch(r).Strict()),
	}
	r.looked(a, 2)
	r.looked(b, 2+2+1) // the strict one has looked once, after subscribing
	r.downTo(b, 1)
	r.sleep(short)
	for _, w := range waiters {
		ended, _ := w.done.Wait(r.ctx, 0)
		r.that(!ended, "a waiter went on at a count of 1")
	}
	opened := r.rt.Mono()
	r.downTo(a, 0)
	for _, w := range waiters {
		r.ok("wait for the latch", r.end(w))
	}
	r.within(prompt, opened, "from the opening to the waiters")
	r.ok("wait for an open latch", b.latch(r).Wait(r.ctx))
	n, err := a.latch(r).Count(r.ctx)
	r.that(err == nil && n == 0, "an open latch has the count %d, error %v", n, err)
	_, err = a.latch(r).CountDown(r.ctx)
	r.is("count down an open latch", err, lockclient.ErrNoLatch)
}

func pollForOpening(r *run) {
	a, b := r.counted(1), r.process(lockclient.WithPoll(short), lockclient.WithTimeout(r.brief))
	b.deafen()
	plain, strict := r.gated(b.latch(r)), r.gated(b.latch(r).Strict())
	r.sleep(short)
	opened := r.rt.Mono()
	r.downTo(a, 0)
	r.ok("wait without messages", r.end(plain))
	r.within(short+r.brief+prompt, opened, "from the opening to a waiter without messages")
	r.is("wait strictly without messages", r.end(strict), lockclient.ErrNoLatch)
}

func missingLatch(r *run) {
	a := r.trusting()
	r.ok("wait for no latch", a.latch(r).Wait(r.ctx))
	r.is("wait strictly for no latch", a.latch(r).Strict().Wait(r.ctx), lockclient.ErrNoLatch)
	_, err := a.latch(r).TrySetCount(r.ctx, 0)
	r.that(err != nil, "a count of 0 was set")
}

func deletedLatch(r *run) {
	a, b := r.counted(1), r.trusting()
	waiter := r.gated(b.latch(r))
	r.looked(b, 2)
	deleted, err := a.latch(r).Delete(r.ctx)
	r.ok("delete the latch", err)
	r.that(deleted, "a latch with a count was not deleted")
	r.is("wait for a deleted latch", r.end(waiter), lockclient.ErrNoLatch)
	deleted, err = a.latch(r).Delete(r.ctx)
	r.that(err == nil && !deleted, "a latch was deleted twice, error %v", err)
}

func unknownCountDown(r *run) {
	a := r.counted(3)
	a.loseReplies(1)
	_, err := a.latch(r).CountDown(r.ctx)
	r.is("count down, the reply lost", err, lockclient.ErrUnknown)
	r.sleep(2 * time.Second) // a repetition would come
	n, err := a.latch(r).Count(r.ctx)
	r.that(err == nil && n == 2, "counted down once from 3, the count is %d, error %v", n, err)
}
