package lockclient

import (
	"slices"
	"time"
)

// lateLease is a lease that a request of unknown outcome may yet bring into force.
type lateLease struct {
	lease time.Duration
	date  time.Duration // of a permit, whose deadline is a date: Mono time of that
	by    time.Duration // Mono time until which it may come
}

// lateLeases are those that may cut what is asked for meanwhile, in the order of their times.
type lateLeases []lateLease

// add adds a lease that may come for longer than the others. Those that cut less are of no
// interest any more.
func (l *lateLeases) add(late lateLease) {
	less := func(one lateLease) bool { return one.lease >= late.lease && one.date >= late.date }
	*l = append(slices.DeleteFunc(*l, less), late)
}

// expire forgets those that cannot come any more at the Mono time at.
func (l *lateLeases) expire(at time.Duration) {
	*l = slices.DeleteFunc(*l, func(one lateLease) bool { return at > one.by })
}

// cut returns what of a lease can be counted on, and until which date a permit can.
func (l lateLeases) cut(lease time.Duration) (sure, date time.Duration) {
	sure, date = lease, noEnd
	for _, one := range l {
		sure, date = min(sure, one.lease), min(date, one.date)
	}
	return sure, date
}

// by is the Mono time until which the last one may come.
func (l lateLeases) by() time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].by
}
