// The tasks of TestCounters, and their calls. A call ends in time, its error is documented and agrees with
// what the servers have done, at its end and when all is settled.

package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/lockclient"
)

// teller is one task.
type teller struct {
	b   *bank
	br  *branch
	who string
	has []*stock
}

// stock is what a task has taken together.
type stock struct {
	t       *teller
	permits *lockclient.Permits
	held    *lockclient.Held
	fixed   bool // its lease is, and the watchdog leaves it alone
	given   bool // back
	robbed  bool // the server has lost it

	promised  time.Duration // of held: it can be relied on until then, at least
	extending int           // calls under way
	doubtful  bool          // a request for another lease has failed
}

// visit is one call of the API.
type visit struct {
	t     *teller
	what  string
	ctx   context.Context
	begun time.Duration
	until time.Duration // it has to end by then; negative: it waits without a limit
	err   error

	waits bool          // it waits for what enough tells
	need  int64         // for so many
	since time.Duration // when there was enough; negative: there is not

	records    []string         // that its requests leave
	ran        int              // how many of its requests were executed
	seen       time.Duration    // when a count was last seen
	looks      []time.Duration  // when answers came
	reply      lockclient.Reply // the last one
	sent       time.Duration    // when the last script was
	unanswered int              // requests
	deaf       bool             // a subscription was not answered
	holds      bool             // it asks for something to have from now on
	shut       bool             // the client was closed before
	repeated   bool             // what is in doubt is repeated in the background until that is not so
	changes    bool             // its requests are repeated that are refused on their way, for as long as patience
	patience   time.Duration
	zero       bool // a reply of 0 says that nothing was changed
	alone      bool // the master is, with what the last request has written

	check func(final bool) // that the error is true: when the call ends, and when all is settled
}

func (t *teller) work() {
	b := t.b
	for range 4 + b.draw(8) {
		t.br.sleep(t.moment(b.pace))
		if b.broken != "" || t.br.shut && b.draw(2) == 0 {
			break
		}
		b.trade.act(t)
		b.look()
	}
	b.trade.close(t)
}

// moment is in how long something happens, within a limit or soon after that: often about when
// others happen.
func (t *teller) moment(limit time.Duration) time.Duration {
	const tick = 50 * time.Millisecond
	b, d := t.b, t.b.within(limit)
	if b.draw(2) == 0 {
		d += tick - (b.w.now+d)%tick + b.within(12*time.Millisecond)
	}
	return d
}

// terms are options for a call that waits, and its visit. A call may only wait without a limit
// where the task has nothing.
func (t *teller) terms(what string) (*visit, []lockclient.LockOption) {
	b, limit, opts := t.b, time.Duration(0), []lockclient.LockOption(nil)
	switch kind := b.draw(4); {
	case kind == 0 && len(t.has) == 0 && !b.loses:
		limit = -1
	case kind == 1:
		limit = t.moment(2 * time.Second)
		v := t.visit(what, limit)
		v.ctx, _ = t.br.rt.WithDeadline(v.ctx, t.br.rt.Mono()+limit)
		v.what += fmt.Sprintf(" until %v", b.w.now+limit)
		v.patience = min(v.patience, limit)
		return v, nil
	default:
		limit = t.moment(2500*time.Millisecond) * time.Duration(b.draw(3)/2)
		opts = append(opts, lockclient.Wait(limit))
	}
	v := t.visit(fmt.Sprintf("%s, waits %v", what, limit), limit)
	if limit >= 0 {
		v.patience = min(v.patience, limit)
	}
	return v, opts
}

// visit begins a call, which may wait for so long.
func (t *teller) visit(what string, wait time.Duration) *visit {
	b := t.b
	v := &visit{t: t, what: what, begun: b.w.now, until: -1, since: -1, seen: -1, shut: t.br.shut}
	v.patience = requestTimeout
	v.ctx = t.br.rt.WithValue(t.br.root, senderKey{}, v)
	if wait >= 0 {
		v.until = b.w.now + wait + b.grace()
	}
	if t.br.shut {
		v.until = b.limit(v.until, b.w.now+b.grace())
	}
	b.note("%s %s", t.who, what)
	b.open, b.all = append(b.open, v), append(b.all, v)
	return v
}

// hurries has the context of some visits end soon.
func (v *visit) hurries(limit time.Duration) *visit {
	if b := v.t.b; b.draw(6) == 0 {
		v.ctx, _ = v.t.br.rt.WithDeadline(v.ctx, v.t.br.rt.Mono()+b.within(limit))
	}
	return v
}

// waitsFor notes what a visit waits for.
func (v *visit) waitsFor(n int64) *visit {
	v.waits, v.need = true, n
	return v
}

// ends ends a call. It demands that the error is one of those that are documented, and true.
func (v *visit) ends(err error, documented ...error) {
	b := v.t.b
	v.err = err
	b.open = slices.DeleteFunc(b.open, func(o *visit) bool { return o == v })
	b.note("%s %s: %v", v.t.who, v.what, err)
	var refused *lockclient.ServerError
	is := func(target error) bool { return errors.Is(err, target) }
	b.expects(err, v.t.who+" "+v.what, append(documented, lockclient.ErrUnknown, lockclient.ErrNotSent)...)
	told := is(lockclient.ErrUnknown) || is(lockclient.ErrLost) || is(lockclient.ErrClosed)
	if v.unanswered > 0 && !told || is(lockclient.ErrUnknown) && v.unanswered == 0 && !v.deaf {
		b.breaks("%s %s: %v, and %d requests were not answered", v.t.who, v.what, err, v.unanswered)
	}
	if is(lockclient.ErrReplication) && !v.alone {
		b.breaks("%s %s: %v, and the last request was confirmed", v.t.who, v.what, err)
	}
	if err == nil && v.alone && v.reply.Int != 0 {
		v.lies("no replica has confirmed it")
	}
	if is(lockclient.ErrReplication) && v.zero && v.reply.Int == 0 {
		v.lies("nothing was changed")
	}
	if v.holds && v.shut && !is(lockclient.ErrClosed) && !is(context.DeadlineExceeded) {
		v.lies("the client was closed")
	}
	again := errors.As(err, &refused) && strings.HasPrefix(refused.Text, "TRYAGAIN")
	if v.changes && again && b.w.now-v.begun < v.repeats() {
		v.lies("it was not repeated")
	}
	if v.check != nil {
		v.check(false)
	}
}

// repeats is for how long a request is repeated, at least: the pauses double, and a wait may end before
// the next one does.
func (v *visit) repeats() time.Duration {
	if v.patience < requestTimeout {
		return v.patience/3 - 20*time.Millisecond
	}
	return v.patience / 2
}

// settled looks at what has come of a call.
func (v *visit) settled() {
	if v.check != nil && !slices.Contains(v.t.b.open, v) {
		v.check(true)
		if v.doubtful() && v.settles() && v.t.b.sync && v.repeated && (v.unanswered > 0 || v.alone) {
			v.copied()
		}
	}
}

// copied demands that a replica has what was repeated until that was so.
func (v *visit) copied() {
	if last := v.records[len(v.records)-1]; !v.t.b.copied[last] {
		v.lies("no replica has it")
	}
}

// lies notes that a call has told something that is not true.
func (v *visit) lies(format string, args ...any) {
	v.t.b.breaks("%s %s: %v, but "+format, append([]any{v.t.who, v.what, v.err}, args...)...)
}

// may are the errors of calls that wait.
func (v *visit) may(more ...error) []error {
	if v.t.br.shut {
		more = append(more, lockclient.ErrClosed)
	}
	return append(more, lockclient.ErrNotAcquired, context.DeadlineExceeded)
}

// settles tells whether what failed is put right in the background.
func (v *visit) settles() bool { return !v.t.br.gone && !v.t.br.shut && !v.t.b.denies && !v.t.b.loses }

// doubtful tells whether the outcome is not known, or not sure.
func (v *visit) doubtful() bool {
	return errors.Is(v.err, lockclient.ErrUnknown) || errors.Is(v.err, lockclient.ErrReplication)
}

// once demands that a request that is not repeated was executed as its error says.
func (v *visit) once(bool) {
	least, most := 0, 0
	switch {
	case v.err == nil || errors.Is(v.err, lockclient.ErrReplication):
		least, most = 1, 1
	case errors.Is(v.err, lockclient.ErrUnknown):
		most = 1
	}
	if v.ran < least || v.ran > most {
		v.lies("it was executed %d times", v.ran)
	}
}

// sends implements sender.
func (v *visit) sends(_ *lockclient.Script, keys []string) {
	v.sent = v.t.b.w.now
	record := keys[len(keys)-1]
	if !strings.HasPrefix(record, "redisson_unlock_latch:") {
		return
	}
	if !slices.Contains(v.records, record) {
		v.records = append(v.records, record)
	}
	v.t.b.records[record] = v
}

// executed implements sender.
func (v *visit) executed(r lockclient.Reply) {
	v.ran++
	if r.Kind != lockclient.NilReply {
		v.seen = v.t.b.w.now
	}
}

// hears implements sender.
func (v *visit) hears(r lockclient.Reply, err error, subscribes bool) {
	var refused *lockclient.ServerError
	v.alone = false
	switch {
	case subscribes:
		v.deaf = v.deaf || err != nil
	case err == nil:
		v.reply = r
		v.looks = append(v.looks, v.t.b.w.now)
	case !errors.As(err, &refused) && !errors.Is(err, lockclient.ErrNotSent):
		v.unanswered++
		if v.changes && errors.Is(err, context.DeadlineExceeded) && v.t.b.w.now-v.sent < requestTimeout {
			v.lies("the answer to a request was not awaited")
		}
	}
}

// unconfirmed implements sender.
func (v *visit) unconfirmed() { v.alone = true }
