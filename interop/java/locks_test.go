package java

import (
	"strconv"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// excludes: while one holds, the other is refused; a waiter is woken by the
// unlock, and then it is the other way round.
func excludes(d *duel) {
	h, w := d.holder("t1"), d.rivals("t1")
	h.lock()
	w.isRefused()
	waiting := w.beginLock()
	d.parked(1)
	d.wakes(waiting, h.unlock)
	h.isRefused()
	w.unlock()
	h.getsIt()
}

// counts: a thread re-enters, both count the same, and the last unlock frees.
func counts(d *duel) {
	h, w := d.holder("t1"), d.waiter("t1")
	for n := 1; n <= 3; n++ {
		h.lock()
		counted(h, n)
	}
	for n := 2; n >= 0; n-- {
		w.isRefused()
		h.unlock()
		counted(h, n)
	}
	w.getsIt()
}

// counted requires h to count n acquisitions of its own, and Go to count as
// many, whoever h is.
func counted(h actor, n int) {
	h.duel.Helper()
	h.says("holdCount", "", strconv.Itoa(n))
	gopher := h
	gopher.party = h.duel.here
	gopher.says("holdCountOf", h.ask("owner", ""), strconv.Itoa(n))
}

// yieldsToForce: who does not hold can end the hold, which wakes a waiter, and
// the holder is told when it unlocks.
func yieldsToForce(d *duel) {
	h, w := d.holder("t1"), d.rivals("t1")
	h.lock()
	waiting := w.beginLock()
	d.parked(1)
	d.wakes(waiting, func() { d.waiter("t2").says("forceUnlock", "", "true") })
	_, err := h.call("unlock", "")
	assert.Error(d, err)
	w.unlock()
	d.waiter("t2").says("forceUnlock", "", "false")
}

// seesOtherKinds: what is locked as a mutex is refused to who wants to read or write there. Redisson
// grants it, whoever holds it: it looks at the mode only, which a mutex does not have.
func seesOtherKinds(d *duel) {
	h, w := d.holder("t1").of("mutex"), d.waiter("t1")
	h.lock()
	granted := w.party == d.there
	w.says("tryLock", "", strconv.FormatBool(granted))
	h.unlock() // the last of the mutex, which takes the whole key away
	if granted {
		_, _ = w.call("unlock", "") // 4.7.0 throws, 3.16.8 does not
	}
	w.getsIt()
}

// refusesReentry: who holds is told so, and holds on.
func refusesReentry(d *duel) {
	h, w := d.holder("t1"), d.waiter("t1")
	h.lock()
	_, err := h.call("tryLock", "")
	assert.Error(d, err)
	counted(h, 1)
	w.isRefused()
	h.unlock()
	w.getsIt()
}

// fences: every acquisition, whoever's, has a larger token than the last.
func fences(d *duel) {
	last := 0
	for _, a := range []actor{d.holder("t1"), d.waiter("t1"), d.waiter("t1"), d.holder("t1")} {
		token, err := strconv.Atoi(a.lock())
		require.NoError(d, err)
		assert.Greater(d, token, last)
		last = token
		a.unlock()
	}
}

// queues: waiters of both parties get the lock in the order in which they came.
func queues(d *duel) {
	last := d.holder("t1")
	last.lock()
	queue := []actor{d.waiter("t1"), d.holder("t2"), d.waiter("t2"), d.holder("t3"), d.waiter("t3")}
	var waits []*waiting
	for i, a := range queue {
		waits = append(waits, a.beginLock())
		d.parked(i + 1)
	}
	for i, a := range queue {
		d.wakes(waits[i], last.unlock)
		for _, later := range waits[i+1:] {
			assert.True(d, later.waits(), "%s overtook", later.who)
		}
		last = a
	}
	last.unlock()
}

// shares: readers of both parties hold together, and a writer waits for the
// last of them.
func shares(d *duel) {
	h, w, other, writer := d.holder("t1"), d.waiter("t1"), d.waiter("t2"), d.waiter("t1").of("write")
	h.lock()
	h.lock()
	counted(h, 2)
	w.getsIt()
	other.lock()
	counted(other, 1)
	writer.isRefused()
	waiting := writer.beginLock()
	d.parked(1)
	other.unlock()
	h.unlock()
	counted(h, 1)
	assert.True(d, waiting.waits(), "the writer did not wait for the last reader")
	d.wakes(waiting, h.unlock)
	h.isRefused()
	writer.unlock()
	h.getsIt()
}

// admitsReaders: the end of writing wakes all readers that wait.
func admitsReaders(d *duel) {
	h, readers := d.holder("t1"), []actor{d.waiter("t1").of("read"), d.waiter("t2").of("read")}
	h.lock()
	var waits []*waiting
	for _, r := range readers {
		r.isRefused()
		waits = append(waits, r.beginLock())
	}
	d.parked(1)
	d.wakes(waits[0], h.unlock)
	d.wakes(waits[1], func() {})
	h.isRefused()
	for _, r := range readers {
		r.unlock()
	}
	h.getsIt()
}

// takesAllOrNone: a part that another has keeps the whole from being taken, and
// a failed attempt leaves no part taken.
func takesAllOrNone(d *duel) {
	h := d.holder("t1")
	first, second := d.waiter("t1").of("mutex"), d.waiter("t1").of("mutex")
	first.key, second.key = d.key+":a", d.key+":b"
	second.lock()
	h.isRefused()
	first.getsIt()
	second.unlock()
	h.lock()
	first.isRefused()
	second.isRefused()
	h.unlock()
	first.getsIt()
	second.getsIt()
}

// needsMajority: a master where somebody else holds the lock is outvoted, and
// the majority excludes.
func needsMajority(d *duel) {
	h, w := d.holder("t1"), d.waiter("t1")
	d.freeEverywhere()
	require.NoError(d, d.server.HSet(d.Context(), d.key, "somebody else", 1).Err())
	h.says("tryLock", "", "true") // Redisson's lock would wait for that master first
	w.isRefused()
	h.unlock()
	require.NoError(d, d.server.Del(d.Context(), d.key).Err())
	w.getsIt()
}
