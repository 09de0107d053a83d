package lockclient_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Under Compat316 there is no latch, a renewal names one lock, and the argument
// of PUBLISH does not exist.
func TestWireOfMutex316(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: free, topology: lockclient.Topology{Cluster: true, Sharded: true}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"), lockclient.Compat316())
		h, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
		_, err = c.Mutex("a").ForceUnlock(t.Context())
		require.NoError(t, err)
		time.Sleep(20 * time.Millisecond) // nothing more comes
		assert.Equal(t, []string{
			"mutex-acquire a | 30000 uuid:1",
			"mutex-release-316 a redisson_lock__channel:{a} | 0 30000 uuid:1",
			"mutex-force-316 a redisson_lock__channel:{a} | 0",
		}, w.sent(t, 3))
	})
}

// counter is a server with one hash lock, in the protocol of Redisson 3.16.
type counter struct {
	wire
	count int64
	drops int // so many releases do not arrive
	loses int // so many releases are executed, their replies lost
}

func newCounter() *counter {
	s := &counter{}
	s.reply = func(script string, _ []string) (lockclient.Reply, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if script == "mutex-acquire" {
			s.count++
			return lockclient.Reply{}, nil
		}
		return s.release()
	}
	return s
}

// release is what the release script does. The mutex is held.
func (s *counter) release() (lockclient.Reply, error) {
	switch {
	case s.drops > 0:
		s.drops--
		return lockclient.Reply{}, errors.New("connection reset")
	case s.count == 0:
		return lockclient.Reply{}, nil
	}
	s.count--
	switch {
	case s.loses > 0:
		s.loses--
		return lockclient.Reply{}, errors.New("connection reset")
	case s.count > 0:
		return integer(0), nil
	}
	return integer(1), nil
}

func (s *counter) Do(_ context.Context, _ string, args ...string) (lockclient.Reply, error) {
	s.note("%s", strings.Join(args, " "))
	s.mu.Lock()
	defer s.mu.Unlock()
	return integer(s.count), nil // HGET
}

// fail sets what becomes of the next releases.
func (s *counter) fail(drops, loses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops, s.loses = drops, loses
}

// Without latches an inner unlock of unknown outcome is not repeated, as that
// could take the outer hold; the outer one is.
func TestUnknownUnlock316(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newCounter()
		c := lockclient.New(s, lockclient.System(), lockclient.Compat316())
		outer, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		inner, err := c.Mutex("a").Lock(outer.Context())
		require.NoError(t, err)
		s.fail(0, 1)
		require.ErrorIs(t, inner.Unlock(t.Context()), lockclient.ErrUnknown)
		time.Sleep(20 * time.Millisecond)
		assert.Len(t, s.sent(t, 3), 3, "nothing is repeated")
		s.fail(0, 1)
		require.ErrorIs(t, outer.Unlock(t.Context()), lockclient.ErrUnknown)
		assert.Contains(t, s.sent(t, 5)[4], "mutex-release-316", "the last unlock is repeated")
	})
}

// An inner unlock that did not arrive is made up for by the last one, which
// looks first how many holds the server counts.
func TestUnlockThatDidNotArrive316(t *testing.T) {
	s := newCounter()
	c := lockclient.New(s, lockclient.System(), lockclient.Compat316())
	outer, err := c.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	inner, err := c.Mutex("a").Lock(outer.Context())
	require.NoError(t, err)
	s.fail(1, 0)
	require.ErrorIs(t, inner.Unlock(t.Context()), lockclient.ErrUnknown)
	require.NoError(t, outer.Unlock(t.Context()))
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Zero(t, s.count)
}

// A named owner may hold the lock again by the time an unlock would be repeated.
func TestUnknownUnlockOfNamedOwner316(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newCounter()
		s.fail(0, 1)
		c := lockclient.New(s, lockclient.System(), lockclient.Compat316())
		h, err := c.Mutex("a").Lock(t.Context(), lockclient.As("me:1"))
		require.NoError(t, err)
		require.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrUnknown)
		time.Sleep(20 * time.Millisecond)
		assert.Len(t, s.sent(t, 2), 2, "nothing is repeated")
	})
}

// A holder that asks again is refused: by the client if it knows, otherwise by
// the server's error.
func TestNonReentrant(t *testing.T) {
	w := &wire{reply: free}
	c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"))
	h, err := c.NonReentrant("a").Lock(t.Context(), lockclient.As("me:1"))
	require.NoError(t, err)
	_, err = c.NonReentrant("a").Lock(h.Context())
	assert.ErrorIs(t, err, lockclient.ErrDeadlock)
	_, err = c.NonReentrant("a").TryLock(t.Context(), lockclient.As("me:1"))
	assert.ErrorIs(t, err, lockclient.ErrDeadlock)
	assert.Equal(t, []string{"nonreentrant-acquire a | 30000 me:1 NON_REENTRANT_REACQUIRE"}, w.sent(t, 1))

	w = &wire{reply: func(string, []string) (lockclient.Reply, error) {
		return lockclient.Reply{}, &lockclient.ServerError{Text: "ERR NON_REENTRANT_REACQUIRE"}
	}}
	_, err = lockclient.New(w, lockclient.System()).NonReentrantFair("a").TryLock(t.Context(), lockclient.As("me:1"))
	assert.ErrorIs(t, err, lockclient.ErrDeadlock)
	assert.True(t, strings.HasSuffix(w.sent(t, 1)[0], " 300000 NON_REENTRANT_REACQUIRE"))
}

// Who asks in the context of its own hold for what that excludes, would wait for itself.
func TestKindsThatExcludeTheirOwnHolder(t *testing.T) {
	kinds := map[string]func(c *lockclient.Client) *lockclient.Lock{
		"Mutex":  func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("a") },
		"Fair":   func(c *lockclient.Client) *lockclient.Lock { return c.Fair("a") },
		"Simple": func(c *lockclient.Client) *lockclient.Lock { return c.Simple("a") },
		"R":      func(c *lockclient.Client) *lockclient.Lock { return c.RW("a").R() },
		"W":      func(c *lockclient.Client) *lockclient.Lock { return c.RW("a").W() },
	}
	granted := func(string, []string) (lockclient.Reply, error) { return lockclient.Reply{}, nil }
	beside := []string{"Mutex in Mutex", "Fair in Mutex", "Mutex in Fair", "Fair in Fair", "R in R", "W in W", "R in W"}
	for held, outer := range kinds { //tidy:unordered each by itself
		for asked, inner := range kinds { //tidy:unordered each by itself
			c := lockclient.New(&forced{&wire{reply: granted}}, lockclient.System())
			h, err := outer(c).TryLock(t.Context())
			require.NoError(t, err)
			_, err = inner(c).Lock(h.Context())
			if what := asked + " in " + held; slices.Contains(beside, what) {
				assert.NoError(t, err, what)
			} else {
				assert.ErrorIs(t, err, lockclient.ErrDeadlock, what)
			}
			_, err = inner(c).TryLock(t.Context())
			assert.NoError(t, err, "another caller does not hold it")
			c.Close()
		}
	}
}

// Where an owner has nothing but what the server still counts of a lost hold of its, or of one whose Unlock
// failed, it holds nothing: it waits for the end of that.
func TestNonReentrantThatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var ends time.Time
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			switch {
			case strings.Contains(script, "release"):
				return lockclient.Reply{}, errLoading
			case script == "fair-withdraw":
				return lockclient.Reply{}, nil
			case time.Now().Before(ends):
				return lockclient.Reply{}, &lockclient.ServerError{Text: "ERR NON_REENTRANT_REACQUIRE"}
			}
			ends = time.Now().Add(10 * time.Second)
			return lockclient.Reply{}, nil
		}}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		opts := []lockclient.LockOption{lockclient.As("me"), lockclient.Lease(10 * time.Second)}
		for _, lock := range []*lockclient.Lock{c.NonReentrant("a"), c.NonReentrantFair("a")} {
			for _, isLost := range []bool{false, true} {
				h, err := lock.Lock(t.Context(), opts...)
				require.NoError(t, err)
				_, err = lock.TryLock(t.Context(), opts...)
				require.ErrorIs(t, err, lockclient.ErrDeadlock)
				if isLost {
					<-h.Lost()
				}
				require.Error(t, h.Unlock(t.Context()))
				_, err = lock.TryLock(t.Context(), opts...)
				require.ErrorIs(t, err, lockclient.ErrNotAcquired)
			}
			time.Sleep(10 * time.Second)
			h, err := lock.Lock(t.Context(), lockclient.Lease(10*time.Second))
			require.NoError(t, err)
			<-h.Lost()
			_, err = lock.TryLock(t.Context(), lockclient.As(h.Owner()))
			require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		}
	})
}

// A spin lock asks after pauses that grow, and never subscribes.
func TestSpin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-acquire" {
				return integer(60000), nil
			}
			return integer(1), nil
		}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"))
		_, err := c.Spin("a").TryLock(t.Context(), lockclient.Wait(200*time.Millisecond))
		assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		sent := w.sent(t, 0) // after 0, 0, 1, 3, 7… ms, or a little later
		assert.Less(t, len(sent), 12)
		assert.Greater(t, len(sent), 3)
		for _, line := range sent {
			assert.Equal(t, "mutex-acquire a | 30000 uuid:1", line)
		}
	})
}

func TestWireOfSpin(t *testing.T) {
	for _, compat := range []bool{false, true} {
		w := &wire{reply: free}
		options := []lockclient.Option{lockclient.WithID("uuid")}
		want := []string{
			"mutex-acquire a | 30000 uuid:1",
			"spin-release a redisson_unlock_latch:{a}:ID | 30000 uuid:1 20000",
		}
		if compat {
			options = append(options, lockclient.Compat316())
			want[1] = "spin-release-316 a | 30000 uuid:1"
		}
		h, err := lockclient.New(w, lockclient.System(), options...).Spin("a").Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
		assert.Equal(t, want, masked(w.sent(t, 2)[:2]))
	}
}

// The pause of a spin lock is the caller's to set.
func TestBackoffCanBeConstant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(60000), nil }}
		c := lockclient.New(w, lockclient.System(), lockclient.WithBackoff(
			lockclient.Backoff{Initial: time.Hour, Max: time.Hour, Multiplier: 1}))
		_, err := c.Spin("a").TryLock(t.Context(), lockclient.Wait(30*time.Millisecond))
		assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		assert.Len(t, w.sent(t, 0), 3, "at once, as a waiter, and when the wait is over")
	})
}

// Each pause of a spin lock is longer than the one before, up to the longest.
func TestBackoffGrows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asked []time.Time
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) {
			asked = append(asked, time.Now())
			return integer(60000), nil
		}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithBackoff(
			lockclient.Backoff{Initial: 10 * time.Millisecond, Max: 500 * time.Millisecond, Multiplier: 5}))
		_, err := c.Spin("a").TryLock(t.Context(), lockclient.Wait(3*time.Second))
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		require.Greater(t, len(asked), 6)
		pause := func(i int) time.Duration { return asked[i+2].Sub(asked[i+1]) } // it asks twice at once
		assert.Equal(t, 10*time.Millisecond, pause(0))
		for i, before := range []time.Duration{10 * time.Millisecond, pause(1)} {
			assert.GreaterOrEqual(t, pause(i+1), 5*before)
			assert.Less(t, pause(i+1), 7*before)
		}
		assert.Equal(t, 500*time.Millisecond, pause(3))
		assert.Equal(t, 500*time.Millisecond, pause(4))
	})
}

// A back-off that leaves things out, or in which they are huge, neither keeps Redis
// busy nor waits for ever.
func TestBackoffHasBounds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, b := range []lockclient.Backoff{
			{}, {Initial: -1, Max: -1, Multiplier: -1}, {Initial: time.Millisecond, Max: forEver, Multiplier: math.MaxInt},
		} {
			w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(60000), nil }}
			c := lockclient.New(w, lockclient.System(), lockclient.WithBackoff(b))
			_, err := c.Spin("a").TryLock(t.Context(), lockclient.Wait(30*time.Millisecond))
			assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
			assert.LessOrEqual(t, len(w.sent(t, 0)), 32)
		}
	})
}

// Simple is SET NX PX, and a deletion that compares.
func TestSimple(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &master{}
		c := lockclient.New(m, lockclient.System(), lockclient.WithID("uuid"))
		lock := c.Simple("job")
		h, err := lock.Lock(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "SET job uuid:1 NX PX 10000", m.sent(t, 1)[0])
		_, err = lock.TryLock(t.Context())
		assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		require.NoError(t, h.Extend(t.Context(), time.Minute))
		require.NoError(t, h.Unlock(t.Context()))
		assert.Empty(t, m.holds())

		h, err = lock.Lock(t.Context())
		require.NoError(t, err)
		m.mu.Lock()
		m.value = "other"
		m.mu.Unlock()
		assert.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrLost)
		assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)
		assert.Equal(t, "other", m.holds())
	})
}

// silent is a master that executes everything and answers nothing.
type silent struct{ master }

func (s *silent) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	_, _ = s.master.Do(ctx, key, args...)
	return lockclient.Reply{}, errors.New("connection reset")
}

// A SET whose reply is lost is undone.
func TestSimpleOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &silent{}
		_, err := lockclient.New(s, lockclient.System()).Simple("job").TryLock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		require.Eventually(t, func() bool { return s.holds() == "" }, 5*time.Second, time.Millisecond)
	})
}

// Of a named owner it stays: the value may be an older hold's.
func TestSimpleOfUnknownOutcomeInAName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &silent{}
		_, err := lockclient.New(s, lockclient.System()).Simple("job").TryLock(t.Context(), lockclient.As("me"))
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(time.Minute)
		assert.Equal(t, "me", s.holds())
	})
}

// tardy is a master that a SET reaches a second after its client gave up waiting.
type tardy struct{ master }

func (m *tardy) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	time.AfterFunc(time.Second, func() { _, _ = m.master.Do(ctx, key, args...) })
	return lockclient.Reply{}, errors.New("connection reset")
}

// A SET that the deletion has overtaken is undone as well: nobody would have the lock,
// and nobody could get it, for as long as the lease is.
func TestSimpleThatTheDeletionOvertakes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &tardy{}
		_, err := lockclient.New(m, lockclient.System()).Simple("job").TryLock(t.Context(), lockclient.Lease(time.Hour))
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(time.Minute)
		assert.Empty(t, m.holds())
	})
}

// moved is a master of a cluster in which a slot is on its way: it refuses two requests in three.
type moved struct {
	master
	asked int
}

func (m *moved) refuses() error {
	if m.asked++; m.asked%3 != 0 {
		return &lockclient.ServerError{Text: "CLUSTERDOWN The cluster is down"}
	}
	return nil
}

func (m *moved) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	if err := m.refuses(); err != nil {
		return lockclient.Reply{}, err
	}
	return m.master.Do(ctx, key, args...)
}

func (m *moved) Eval(
	ctx context.Context, s *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	if err := m.refuses(); err != nil {
		return lockclient.Reply{}, err
	}
	return m.master.Eval(ctx, s, keys, args)
}

// What a cluster refuses is repeated, as for the other locks, but not by who makes one attempt.
func TestSimpleInACluster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &moved{}
		lock := lockclient.New(m, lockclient.System()).Simple("job")
		_, err := lock.TryLock(t.Context())
		var refused *lockclient.ServerError
		require.ErrorAs(t, err, &refused)
		m.asked = 0
		h, err := lock.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
		require.Empty(t, m.holds())
	})
}

// What cannot be asked of a lock on several servers says so.
func TestInspectionOfRedlockIsUnsupported(t *testing.T) {
	_, err := redlock(&master{}).IsLocked(t.Context())
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

// Names whose helper keys are on other slots are refused before anything is locked, where there are slots.
func TestNamesFitACluster(t *testing.T) {
	for _, name := range []string{"", "a}b", "a{b", "{}x", "}{", "x{}y{z}", "{a}b", "x{a}", "plain"} {
		fits := strings.Contains(name, "{a}") || name == "plain"
		for _, cluster := range []bool{false, true} {
			w := &wire{reply: free, topology: lockclient.Topology{Cluster: cluster}}
			c := lockclient.New(w, lockclient.System())
			for _, l := range []*lockclient.Lock{c.Mutex(name), c.Spin(name), c.Fenced(name)} {
				_, err := l.TryLock(t.Context())
				if cluster && !fits {
					assert.ErrorContains(t, err, "several slots", name)
				} else {
					assert.NoError(t, err, name)
				}
			}
			if cluster && !fits {
				_, err := c.RW(name).W().TryLock(t.Context())
				assert.ErrorContains(t, err, "several slots", name)
				assert.Empty(t, w.sent(t, 0))
			}
			c.Close()
		}
	}
}
