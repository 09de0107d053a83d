package goredis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Whose owner nobody had named may still be given back in the background: until that is over
// its name takes nothing, as this would be given back instead.
func TestNameOfAnOwnerThatIsGivenBack(t *testing.T) {
	kinds := map[string]struct {
		release string
		lock    func(c *lockclient.Client) *lockclient.Lock
	}{
		"mutex":  {"mutex-release", func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") }},
		"fair":   {"fair-release", func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") }},
		"simple": {"plain-release", func(c *lockclient.Client) *lockclient.Lock { return c.Simple("k") }},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				h := s.lock(kind.lock(c), s.Context(), lockclient.Lease(10*time.Second))
				named := lockclient.As(h.Owner())
				f.has(only(kind.release, fate{err: lockclient.ErrNotSent}))
				require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
				time.Sleep(11 * time.Second)
				assert.False(s, s.server.Exists("k"), "its lease has ended")
				_, err := kind.lock(c).Lock(s.Context(), named)
				require.ErrorIs(s, err, lockclient.ErrLost)
				f.has(nil)
				time.Sleep(2 * time.Second)
				next := s.lock(kind.lock(c), s.Context(), named, hour)
				for range 4 {
					time.Sleep(10 * time.Second)
					assert.False(s, isLost(next))
					assert.True(s, s.server.Exists("k"))
				}
				require.NoError(s, next.Unlock(s.Context()))
				assert.False(s, s.server.Exists("k"))
				s.lock(kind.lock(c), s.Context(), named)
			})
		})
	}
}

// Who asks in the name of an owner while its Unlock fails is not ended by that.
func TestNameOfAnOwnerWhoseUnlockIsUnderWay(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		staged(t, func(s stage) {
			c, f := s.client()
			if earlier {
				s.lock(c.Mutex("other"), s.Context(), me) // from then on lines are kept
			}
			h := s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(10*time.Second))
			f.has(only("mutex-release", fate{before: 2 * time.Second, err: lockclient.ErrNotSent}))
			time.Sleep(9 * time.Second)
			go func() { assert.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent) }()
			time.Sleep(1100 * time.Millisecond)
			next := s.lock(c.Mutex("k"), s.Context(), lockclient.As(h.Owner()), hour)
			time.Sleep(10 * time.Second)
			f.has(nil)
			for range 4 {
				time.Sleep(10 * time.Second)
				assert.False(s, isLost(next))
				assert.True(s, s.server.Exists("k"))
			}
			require.NoError(s, next.Unlock(s.Context()))
			assert.False(s, s.server.Exists("k"))
		})
	}
}

// Who takes a lock in the name of an owner who has lost it keeps it when that one unlocks.
func TestNameOfAnOwnerWhoHasLost(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(time.Second))
		<-h.Lost()
		next := s.lock(c.Mutex("k"), s.Context(), lockclient.As(h.Owner()), hour)
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrLost)
		assert.True(s, s.server.Exists("k"))
		require.NoError(s, next.Unlock(s.Context()))

		h = s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(time.Second))
		<-h.Lost()
		f.has(only("mutex-release", fate{before: 500 * time.Millisecond}))
		go func() { assert.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrLost) }()
		time.Sleep(100 * time.Millisecond)
		s.lock(c.Mutex("k"), s.Context(), lockclient.As(h.Owner()), hour)
		time.Sleep(time.Second)
		assert.True(s, s.server.Exists("k"), "it waits until the Unlock has come")
	})
}
