package lockclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// Leases in doubt cut what is sent as much as those do, looked at one by one, that can come
// then, and no date is forgotten.
func TestLeasesInDoubt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d doubts
		var all []lateLease
		few := rapid.SampledFrom([]time.Duration{1, 2, 3, 4, 5, 6, 7, 8})
		now := time.Duration(0)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			now += few.Draw(t, "pause") / 4
			if rapid.Bool().Draw(t, "fails") {
				late := lateLease{lease: few.Draw(t, "lease"), date: few.Draw(t, "date"), by: now + 5}
				d.mayLease(late)
				all = append(all, late)
				continue
			}
			lease, date := time.Duration(9), noEnd
			for _, one := range all {
				if now <= one.by {
					lease, date = min(lease, one.lease), min(date, one.date)
				}
			}
			if rapid.Bool().Draw(t, "has the turn") {
				d.expire(now)
			}
			sure, until := d.sure(now, 9)
			assert.Equal(t, lease, sure)
			assert.LessOrEqual(t, until, date)
		}
	})
}

// Requests that fail again and again leave no more leases in doubt than there are different
// ones.
func TestFewLeasesAreInDoubt(t *testing.T) {
	var d doubts
	for i := range time.Duration(100) {
		d.mayLease(lateLease{lease: 5 + i%3, date: 1000 + i, by: i})
	}
	assert.LessOrEqual(t, len(d.leases), 3)
	_, date := d.sure(0, 9)
	assert.EqualValues(t, 1000, date)
}

// What the server counts beside what is held stays in doubt while an acquisition may come that
// an answer knows nothing of.
func TestSurplusIsSettled(t *testing.T) {
	for sent, left := range map[time.Duration]int32{9: 2, 10: 2, 11: 0} {
		d := doubts{surplus: 2}
		d.mayLease(lateLease{lease: 1, by: 10})
		d.settled(sent)
		assert.Equal(t, left, d.surplus, "sent at %d", sent)
		assert.Equal(t, left > 0, d.open())
	}
}
