package lockclient_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// A waiter that was told of a long lease looks again before it ends: the lease may have
// been made shorter, of which nobody is told, and its holder have died.
func TestWaiterLooksAgainBeforeALongLeaseEnds(t *testing.T) {
	for name, lock := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex":  func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("a") },
		"fenced": func(c *lockclient.Client) *lockclient.Lock { return c.Fenced("a") },
		"write":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("a").W() },
	} {
		bubble(t, func(t *testing.T) {
			begun := time.Now()
			w := &wire{}
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				left := integer((time.Hour - time.Since(begun)).Milliseconds())
				switch {
				case time.Since(begun) >= time.Second && script == "write-acquire":
					return lockclient.Reply{}, nil
				case time.Since(begun) >= time.Second || script != "fenced-acquire" && script != "mutex-acquire" &&
					script != "write-acquire":
					return free(script, keys)
				case script == "fenced-acquire":
					return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{left, integer(-1)}}, nil
				}
				return left, nil
			}
			c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(20*time.Second))
			defer c.Close()
			h, err := lock(c).Lock(context.WithoutCancel(t.Context()))
			require.NoError(t, err)
			assert.Equal(t, 20*time.Second, time.Since(begun), name)
			_ = h.Unlock(t.Context())
		})
	}
}

// The deadline of a permit is a date, so an Extend that comes late brings one from before:
// what was renewed meanwhile, or while it is under way, may end with that. What was renewed
// when it cannot come any more counts in full.
func TestLateExtendOfAPermitBringsADate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rt := lockclient.System()
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "permit-extend" {
				time.Sleep(time.Second)
				return lockclient.Reply{}, context.DeadlineExceeded
			}
			return counted(script, keys)
		}}
		c := lockclient.New(w, rt, lockclient.WithWatchdog(3*time.Second), lockclient.WithTimeout(time.Second))
		defer c.Close()
		began := rt.Mono()
		h, err := c.PermitSemaphore("a").Permit().Lock(t.Context())
		require.NoError(t, err)
		valid := 3*time.Second - 30*time.Millisecond - 2*time.Millisecond
		until := func(at time.Duration) time.Duration {
			time.Sleep(began + at - rt.Mono())
			return h.Until() - began
		}
		time.Sleep(500 * time.Millisecond)
		extended := make(chan error)
		go func() { extended <- h.Extend(t.Context(), 3*time.Second) }()
		assert.Equal(t, 500*time.Millisecond+valid, until(1100*time.Millisecond), "while it is under way")
		require.ErrorIs(t, <-extended, lockclient.ErrUnknown)
		assert.Equal(t, 500*time.Millisecond+valid, until(2100*time.Millisecond), "it may yet come")
		assert.Equal(t, 3*time.Second+valid, until(3100*time.Millisecond), "it cannot any more")
		require.NoError(t, h.Unlock(t.Context()))
	})
}

// An acquisition whose reply comes when a lease in doubt may have ended it is lost, not granted.
func TestLeaseInDoubtEndsBeforeTheReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		takes := 0 * time.Second
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if takes == 0 {
				return lockclient.Reply{}, context.DeadlineExceeded
			}
			time.Sleep(takes)
			return free(script, keys)
		}}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		lock := c.Mutex("a")
		_, err := lock.Lock(t.Context(), lockclient.As("me"), lockclient.Lease(time.Second))
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		takes = 1500 * time.Millisecond
		_, err = lock.Lock(t.Context(), lockclient.As("me"), lockclient.Lease(time.Minute))
		require.ErrorIs(t, err, lockclient.ErrLost)
	})
}

// A lease in doubt cuts a re-entry that was sent before it came, although a renewal was sent
// after that and answered sooner: renewals take no turn.
func TestRenewalDoesNotEndADoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		takes, known := 0*time.Second, true
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script != "mutex-acquire" {
				return free(script, keys)
			}
			time.Sleep(takes)
			if !known {
				return lockclient.Reply{}, context.DeadlineExceeded
			}
			return free(script, keys)
		}}
		rt := lockclient.System()
		c := lockclient.New(w, rt, lockclient.WithWatchdog(6*time.Second))
		defer c.Close()
		outer, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		takes, known = 3*time.Second, false // then it may come for as long again: until second 6
		_, err = c.Mutex("a").Lock(outer.Context())
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(2500 * time.Millisecond)
		takes, known = 2900*time.Millisecond, true // the renewal of second 8 is answered before
		sent := rt.Mono()
		inner, err := c.Mutex("a").Lock(outer.Context(), lockclient.Lease(time.Hour))
		require.NoError(t, err)
		require.LessOrEqual(t, inner.Until(), sent+6*time.Second)
	})
}

// An Extend whose answer is late does not take back what was renewed meanwhile, when no lease was in doubt
// any more.
func TestLateExtendLeavesWhatWasRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begun := time.Now()
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			switch {
			case script == "mutex-acquire" && time.Since(begun) == 0:
				return lockclient.Reply{}, errReset // so that its short lease may yet come, within a second
			case script == "mutex-extend":
				time.Sleep(900 * time.Millisecond)
			}
			return free(script, keys)
		}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithTimeout(time.Second),
			lockclient.WithWatchdog(900*time.Millisecond))
		defer c.Close()
		_, err := c.Mutex("a").TryLock(t.Context(), lockclient.As("me"), lockclient.Lease(700*time.Millisecond))
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(200 * time.Millisecond)
		h, err := c.Mutex("a").TryLock(t.Context(), lockclient.As("me"))
		require.NoError(t, err)
		time.Sleep(750 * time.Millisecond)
		require.NoError(t, h.Extend(t.Context(), time.Second))
		time.Sleep(time.Minute)
		assert.NoError(t, context.Cause(h.Context()))
	})
}

// What is left of a lock is what is left of its lease, less the drift, of a Multi that of the
// member which ends first.
func TestLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lockclient.New(&wire{reply: free}, lockclient.System())
		defer c.Close()
		one, err := c.Mutex("a").Lock(t.Context(), lockclient.Lease(10*time.Second))
		require.NoError(t, err)
		both, err := lockclient.Multi(c.Mutex("b"), c.Mutex("c")).Lock(t.Context(), lockclient.Lease(20*time.Second))
		require.NoError(t, err)
		time.Sleep(4 * time.Second)
		require.Equal(t, 6*time.Second-102*time.Millisecond, one.Left())
		require.Equal(t, 16*time.Second-202*time.Millisecond, both.Left())
		time.Sleep(6 * time.Second)
		require.Zero(t, one.Left())
		require.NoError(t, both.Unlock(t.Context()))
	})
}
