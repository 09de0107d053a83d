package lockclient

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Messages on a latch's channel, in Redisson's numbers.
const (
	latchOpened  = "0"
	latchCounted = "1" // it was set, or deleted
)

// Constant after initialisation.
var (
	latchSet       = embedded("latch_set")
	latchCountDown = embedded("latch_count_down")
	latchDelete    = embedded("latch_delete")
)

// Latch names Redisson's count-down latch (RCountDownLatch): a count at key, which is
// gone when the latch is open. It is safe for concurrent use.
//
// To Redisson a missing key is an open latch, and so it must be to Wait, or a latch could
// not be found open. But then a count that was never set, or that a failover lost, opens
// it too. Where that must not happen, use Strict.
type Latch struct {
	client *Client
	key    string
	strict bool
}

// Latch names a count-down latch. It sends nothing.
func (c *Client) Latch(key string) *Latch { return &Latch{client: c, key: key} }

// Strict returns the same latch with a Wait that returns nil only after the message that
// the latch has opened. So the count must be set before Wait is called, and Wait must be
// called before the latch opens. Where a plain Wait takes a missing count for an open
// latch, a strict one returns ErrNoLatch, even if only the message was lost.
func (l *Latch) Strict() *Latch { return &Latch{client: l.client, key: l.key, strict: true} }

// Key returns the latch's name.
func (l *Latch) Key() string { return l.key }

// TrySetCount sets the count to n, from 1 to 2^53, unless the latch has a count: set is false
// then. Errors are ErrUnknown, ErrReplication (it is set, but no replica has confirmed
// that), one that wraps ErrNotSent, and a *ServerError.
func (l *Latch) TrySetCount(ctx context.Context, n int64) (set bool, err error) {
	if err := inRange(n, 1); err != nil {
		return false, opError("set count", l.key, err)
	}
	done, err := l.change(ctx, latchSet, latchCounted, decimal(n))
	return done == 1, opError("set count", l.key, err)
}

// CountDown counts down by one and returns the count that is left; at 0 the latch opens.
// The error is ErrNoLatch if there was no count; others are those of TrySetCount. After
// ErrUnknown it may have counted; after ErrReplication it has, but no replica has
// confirmed that. In both cases it is repeated in the background for ten minutes, and
// counts once, because each request leaves a record (Redisson's do not).
func (l *Latch) CountDown(ctx context.Context) (left int64, err error) {
	record := l.client.record(l.key)
	left, err = l.countDown(ctx, record)
	switch {
	case err == nil || err == ErrNoLatch:
		l.client.forget(record)
	case err == ErrReplication || errors.Is(err, ErrUnknown):
		l.client.insistWhile(unsettled, l.key, "", countPatience, func(ctx context.Context) error {
			_, err := l.countDown(ctx, record)
			return err
		})
	}
	return left, opError("count down", l.key, err)
}

// countDown asks to count down: with the same record, it counts once. That there is no
// latch is nothing that a replica has to confirm.
func (l *Latch) countDown(ctx context.Context, record string) (left int64, err error) {
	c := l.client
	keys := []string{l.key, latchChannel(l.key), record}
	left, err = c.change(ctx, call{latchCountDown, keys, c.announced(latchOpened, c.recordTTL())})
	if left < 0 && (err == nil || err == ErrReplication) {
		return 0, ErrNoLatch
	}
	return left, err
}

// Count returns the count, 0 if there is none. Errors are those of TrySetCount, except
// ErrReplication.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	n, err := l.client.integer(ctx, l.key, "GET", l.key)
	return n, opError("count", l.key, err)
}

// Delete deletes the latch, which does not open it: those who wait get ErrNoLatch when
// WithTimeout has passed. (In Redisson they wait on.) deleted is false if there was no
// count. Errors are those of TrySetCount.
func (l *Latch) Delete(ctx context.Context) (deleted bool, err error) {
	done, err := l.change(ctx, latchDelete, latchCounted)
	return done == 1, opError("delete", l.key, err)
}

// Wait waits until the latch is open, or ctx ends (its error). It is woken by pub/sub,
// and looks again after WithPoll. The error is ErrNoLatch where Strict says so, and if a
// message says that the latch was deleted meanwhile; if that message is lost, the count
// that is gone is an open latch. A latch that was set again and then opened is told from
// a deleted one by its message, which may take WithTimeout. Other errors are ErrUnknown,
// ErrClosed, one that wraps ErrNotSent, and a *ServerError; after these Wait may be
// called again.
func (l *Latch) Wait(ctx context.Context) error {
	c, w := l.client, &latchWait{latch: l, missed: -1}
	t := &turn{limit: limit{begun: c.rt.Mono(), wait: -1}, client: c, asker: w}
	return opError("wait for", l.key, t.run(ctx))
}

// change runs one of the latch's scripts.
func (l *Latch) change(ctx context.Context, script *Script, args ...string) (int64, error) {
	keys := []string{l.key, latchChannel(l.key)}
	return l.client.changes(ctx, call{script, keys, l.client.announced(args...)})
}

// latchWait is one call of Latch.Wait.
type latchWait struct {
	latch *Latch
	place *place // nil before it has joined
	seen  bool   // with a count

	missed int           // how many messages had come when it was without, and none said that it is open; or -1
	until  time.Duration // Mono time until which the message that says so may come
}

func (w *latchWait) join(ctx context.Context) (waiting, error) {
	var err error
	w.place, err = w.latch.client.joinFor(ctx, latchChannel(w.latch.key), latchWakes, 1)
	return w.place, err
}

// latchWakes has everyone look: what a message says may be outdated.
func latchWakes(string) int64 { return everyone }

// attempt reads the count. A strict waiter joins first, so that it hears of an
// opening that comes after its look.
func (w *latchWait) attempt(ctx context.Context) (open bool, hint time.Duration, err error) {
	c, key := w.latch.client, w.latch.key
	if w.latch.strict && w.place == nil {
		return false, 0, nil
	}
	before := w.hears()
	reply, err := c.do(ctx, c.timeout, key, "GET", key)
	if err != nil {
		return false, 0, err
	}
	if reply.Kind == NilReply {
		return w.missing()
	}
	w.outdate(before)
	count, ok := reply.Integer()
	if !ok {
		return false, 0, fmt.Errorf("count %q is no number", reply.Text)
	}
	w.seen, w.missed = true, -1
	return count <= 0, c.poll, nil
}

// hears is how many messages have come.
func (w *latchWait) hears() int {
	if w.place == nil {
		return 0
	}
	return w.place.hearings()
}

// outdate forgets what messages said, unless more have come than these: there is a
// count again.
func (w *latchWait) outdate(hears int) {
	if w.place != nil {
		w.place.outdate(hears)
	}
}

// missing tells what it means that there is no count. That it was set or deleted is one
// message: the next one, which may be on its way, tells whether it has opened since.
func (w *latchWait) missing() (open bool, hint time.Duration, err error) {
	heard, hears := "", w.hears()
	if w.place != nil {
		heard = w.place.lastHeard()
	}
	switch {
	case heard == latchOpened:
		return true, 0, nil
	case heard == "" && !w.latch.strict:
		return true, 0, nil
	case heard == "" && !w.seen:
		return false, 0, ErrNoLatch
	}
	c := w.latch.client
	now := c.rt.Mono()
	if w.missed != hears {
		w.missed, w.until = hears, now+c.timeout
	}
	if now < w.until {
		return false, w.until - now, nil
	}
	return false, 0, ErrNoLatch
}
