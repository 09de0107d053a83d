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
				s.keeps(next)
				s.lock(kind.lock(c), s.Context(), named)
			})
		})
	}
}

// Who asks in the name of an owner while its Unlock fails is not ended by that.
func TestNameOfAnOwnerWhoseUnlockIsUnderWay(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(10*time.Second))
		f.has(only("mutex-release", fate{before: 2 * time.Second, err: lockclient.ErrNotSent}))
		time.Sleep(9 * time.Second)
		go func() { assert.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent) }()
		time.Sleep(1100 * time.Millisecond)
		next := s.lock(c.Mutex("k"), s.Context(), lockclient.As(h.Owner()), hour)
		time.Sleep(10 * time.Second)
		f.has(nil)
		s.keeps(next)
	})
}

// An Unlock of a Simple that comes late, when a repetition has been answered, does not end what
// was taken since.
func TestNameOfAnOwnerWhoseUnlockComesLate(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Simple("k"), s.Context(), hour)
		f.has(only("plain-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
		f.has(only("plain-release", fate{arrives: 5500 * time.Millisecond}))
		time.Sleep(1500 * time.Millisecond) // a repetition is under way
		f.has(nil)
		time.Sleep(3600 * time.Millisecond) // another one has been answered
		next := s.lock(c.Simple("k"), s.Context(), lockclient.As(h.Owner()), hour)
		s.keeps(next)
	})
}

// keeps demands that a hold of "k" lasts until it is given back.
func (s stage) keeps(h *lockclient.Held) {
	for range 4 {
		time.Sleep(10 * time.Second)
		assert.False(s, isLost(h))
		assert.True(s, s.server.Exists("k"))
	}
	require.NoError(s, h.Unlock(s.Context()))
	assert.False(s, s.server.Exists("k"))
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
