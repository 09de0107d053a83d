package java

import (
	"time"

	"github.com/stretchr/testify/assert"
)

// countsPermits: both draw from the same permits, and a release wakes.
func countsPermits(d *duel) {
	h, w := d.holder("t1"), d.waiter("t1")
	h.says("set", "3", "true")
	w.says("set", "5", "false")
	h.ask("acquire", "2")
	h.says("available", "", "1")
	w.says("available", "", "1")
	w.says("tryAcquire", "2", "false")
	w.says("tryAcquire", "1", "true")
	waiting := w.begin("acquire", "2")
	d.parked(1)
	d.wakes(waiting, func() { h.ask("release", "2") })
	h.says("available", "", "0")
	w.ask("release", "2")
	w.ask("release", "1")
	h.says("available", "", "3")
}

// leasesPermits: as countsPermits, with permits that end.
func leasesPermits(d *duel) {
	h, w := d.holder("t1"), d.waiter("t1")
	h.says("set", "1", "true")
	w.says("set", "2", "false")
	permit := h.ask("acquire", lease)
	w.says("available", "", "0")
	w.says("tryAcquire", lease, "null")
	waiting := w.begin("acquire", lease)
	d.parked(1)
	permit = d.wakes(waiting, func() { h.says("release", permit, "true") })
	h.says("tryAcquire", lease, "null")
	w.says("release", permit, "true")
	w.says("release", permit, "false")
	h.says("available", "", "1")
	w.ask("acquire", "100")
	h.says("tryAcquire", lease, "null")
	time.Sleep(150 * time.Millisecond)
	h.says("available", "", "1")
}

// namesPermits: the id of a permit is the same in both languages, so that one can
// give back what the other has taken.
func namesPermits(d *duel) {
	h, gopher := d.holder("t1"), actor{d, d.here, "t1", d.kind, d.key}
	java := actor{d, d.there, "t1", d.kind, d.key}
	permit := gopher.ask("acquire", lease)
	java.says("release", permit, "true")
	gopher.says("release", permit, "false")
	h.says("available", "", "1")
}

// countsDown: both count the same latch down, and the last count opens it.
func countsDown(d *duel) {
	h, w := d.holder("t1"), d.waiter("t1")
	h.says("set", "3", "true")
	w.says("set", "5", "false")
	waits := []*waiting{w.begin("await", ""), d.waiter("t2").begin("await", "")}
	d.parked(1)
	h.ask("countDown", "")
	d.waiter("t3").says("count", "", "2")
	d.waiter("t3").ask("countDown", "")
	h.says("count", "", "1")
	assert.True(d, waits[0].waits() && waits[1].waits(), "the latch opened early")
	d.wakes(waits[0], func() { h.ask("countDown", "") })
	d.wakes(waits[1], func() {})
	h.says("count", "", "0")
}
