package sim

import (
	"slices"

	slots "minikv/internal/slot"
)

// The two tasks of Redisson's watchdog.
const (
	plainRenewal = iota
	readRenewal
)

// renewals are the locks that one task of the watchdog renews.
type renewals struct {
	list    []*renewed
	running bool // until the list is empty
}

// renewed is a lock of which the process's thread has holds.
type renewed struct {
	lock  *rlock
	holds int
}

// register has the watchdog renew a lock, once more. The first lock starts a timer,
// also where one still runs that an earlier lock has started: its end stops none. A
// timer that finds something to renew goes on for ever, so that who unlocks and locks
// in less than a period has one more each time.
func (r *redisson) register(l *rlock) {
	w := &r.renewals[l.side.task]
	i := w.index(l)
	if i < 0 {
		i = len(w.list)
		w.list = append(w.list, &renewed{lock: l})
		if !w.running {
			w.running = true
			r.schedule(w)
		}
	}
	w.list[i].holds++
}

// unregister follows an attempt to unlock, however it went. A read lock's ends
// the renewal of the write lock, too: both are found by name and thread.
func (r *redisson) unregister(l *rlock) {
	r.renewals[plainRenewal].drop(l)
	if l.side.task == readRenewal {
		r.renewals[readRenewal].drop(l)
	}
}

func (w *renewals) index(l *rlock) int {
	return slices.IndexFunc(w.list, func(o *renewed) bool { return o.lock.name == l.name })
}

func (w *renewals) drop(l *rlock) {
	i := w.index(l)
	if i < 0 {
		return
	}
	if w.list[i].holds--; w.list[i].holds == 0 {
		w.list = slices.Delete(w.list, i, i+1)
	}
	w.running = len(w.list) > 0
}

// schedule starts a timer of the task: for as long as there is something to renew, it
// goes off a third of the watchdog's time after the previous pass. Errors are logged,
// which nobody reads; a lock that the server does not know is dropped without a word.
func (r *redisson) schedule(w *renewals) {
	if !w.running {
		return
	}
	r.p.after(r.p.clock.Mono()+r.watchdog/3, func() {
		if len(w.list) > 0 {
			r.p.spawn(func() { r.pass(w) })
		}
	})
}

func (r *redisson) pass(w *renewals) {
	if len(w.list) > 0 { // still
		for _, batch := range r.batches(w.list) {
			if r.renew(w, batch) != nil {
				break
			}
		}
	}
	r.schedule(w)
}

// batches are the locks that one script of the watchdog names each: in a cluster
// those whose names lie in one slot, in the order of a ConcurrentHashMap of few slots.
func (r *redisson) batches(list []*renewed) (batches [][]*renewed) {
	if !r.Topology().Cluster {
		return [][]*renewed{slices.Clone(list)}
	}
	for _, one := range list {
		inSlot := func(b []*renewed) bool { return slots.OfString(b[0].lock.name) == slots.OfString(one.lock.name) }
		i := slices.IndexFunc(batches, inSlot)
		if i < 0 {
			i = len(batches)
			batches = append(batches, nil)
		}
		batches[i] = append(batches[i], one)
	}
	bin := func(b []*renewed) int { return slots.OfString(b[0].lock.name) % 16 }
	slices.SortStableFunc(batches, func(a, b []*renewed) int { return bin(a) - bin(b) })
	return batches
}

// renew renews those locks of a batch that are still to be renewed when its turn comes. An
// error ends the pass: what comes behind is not renewed in it.
func (r *redisson) renew(w *renewals, batch []*renewed) error {
	batch = slices.DeleteFunc(batch, func(one *renewed) bool { return w.index(one.lock) < 0 })
	if len(batch) == 0 {
		return nil
	}
	q := request{script: batch[0].lock.side.renew, args: []string{inMillis(r.watchdog)}, resend: true}
	for _, one := range batch {
		keys, args := one.lock.renewal()
		q.keys, q.args = append(q.keys, keys...), append(q.args, args...)
	}
	reply, err := r.send(q)
	if err != nil {
		return err
	}
	for i, one := range batch {
		if i < len(reply.List) && reply.List[i].Int == 0 {
			w.drop(one.lock)
		}
	}
	return nil
}
