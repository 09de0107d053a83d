package sim

import (
	"errors"
	"time"
)

// multiLock is RedissonMultiLock, and with failures allowed RedissonRedLock.
type multiLock struct {
	members  []*rlock
	failures int  // members that may fail
	split    bool // each member may wait for its share of the wait only
	lenient  bool // unlock asks every member and looks at no error
}

func newMultiLock(members []*rlock) *multiLock { return &multiLock{members: members} }

// newRedLock allows a minority to fail. It measures no validity.
func newRedLock(members []*rlock) *multiLock {
	n := len(members)
	return &multiLock{members: members, failures: n - (n/2 + 1), split: true, lenient: true}
}

// lockForEver is lock(): attempts that wait 1.5 s for each member, or about the lease.
func (m *multiLock) lockForEver(lease time.Duration) (attempt, error) {
	base := time.Duration(len(m.members)) * 1500 * time.Millisecond
	for {
		wait, of := base, m.members[0].of
		switch {
		case lease > base:
			wait = base + of.below(lease-base)
		case lease > 0:
			wait = lease/2 + of.below(lease/2)
		}
		a, err := m.tryLock(wait, lease)
		if err != nil || a.taken {
			return a, err
		}
	}
}

// tryLock takes the members in their order. The wait that is left is looked at
// after each of them, if there is one, and by the date; but not after one that fails
// when enough are taken, and never at the end. An error of what sets the lease there
// leaves them taken.
func (m *multiLock) tryLock(wait, lease time.Duration) (attempt, error) {
	memberLease := lease
	if lease > 0 && wait > 0 {
		memberLease = 2 * wait
	}
	of := m.members[0].of
	limited, left, looked := wait > 0, wait, of.date()
	share := wait
	if m.split {
		share = max(wait/time.Duration(len(m.members)), time.Millisecond)
	}
	var taken []*rlock
	allowed := m.failures
members:
	for i := 0; i < len(m.members); i++ {
		patience := time.Duration(0)
		if limited {
			patience = min(share, left)
		}
		switch {
		case m.members[i].taken(patience, memberLease):
			taken = append(taken, m.members[i])
		case len(m.members)-len(taken) == m.failures:
			break members // enough are taken
		case allowed > 0:
			allowed--
		default:
			unlockEach(taken)
			if !limited {
				return attempt{}, nil
			}
			allowed, taken, i = m.failures, nil, -1
		}
		if limited {
			now := of.date()
			left -= time.Duration(now-looked) * time.Millisecond
			looked = now
			if left <= 0 {
				unlockEach(taken)
				return attempt{}, nil
			}
		}
	}
	if lease > 0 {
		for _, l := range taken {
			if _, err := l.of.command("PEXPIRE", l.name, inMillis(lease)); err != nil {
				return attempt{}, err
			}
		}
	}
	return attempt{taken: true}, nil
}

// taken takes a member. One that does not answer is unlocked, as it may be taken.
func (l *rlock) taken(wait, lease time.Duration) bool {
	a, err := l.tryLock(wait, lease)
	if errors.Is(err, errResponseTimeout) {
		_ = l.unlock()
	}
	return err == nil && a.taken
}

func unlockEach(members []*rlock) {
	for _, l := range members {
		_ = l.unlock()
	}
}

// unlock gives the members back; the first error stops it, but not a RedLock's.
func (m *multiLock) unlock() error {
	if m.lenient {
		unlockEach(m.members)
		return nil
	}
	for _, l := range m.members {
		if err := l.unlock(); err != nil {
			return err
		}
	}
	return nil
}
