package lockclient_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// lateMaster is a master that is late with some of what it does: nobody gets an answer in time.
type lateMaster struct {
	master
	takes   time.Duration // after it was given up, a SET is executed
	extends chan struct{} // the first Extend waits for it; nil: it does not
	waits   atomic.Bool   // it does so
}

func (m *lateMaster) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	if m.takes == 0 {
		return m.master.Do(ctx, key, args...)
	}
	<-ctx.Done()
	time.AfterFunc(m.takes, func() { _, _ = m.master.Do(context.Background(), key, args...) })
	return lockclient.Reply{}, ctx.Err()
}

func (m *lateMaster) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	if m.extends != nil && s.Name == "plain-extend" && m.waits.CompareAndSwap(false, true) {
		select {
		case <-m.extends:
		case <-ctx.Done():
			return lockclient.Reply{}, ctx.Err()
		}
	}
	return m.master.Eval(ctx, s, keys, args)
}

// tardyRedlock names a lock on two masters and one that is late.
func tardyRedlock(late *lateMaster) (l *lockclient.Lock, rt lockclient.Runtime, first *master) {
	rt, first = lockclient.System(), &master{}
	var clients []*lockclient.Client
	for _, m := range []lockclient.Transport{first, &master{}, late} {
		clients = append(clients, lockclient.New(m, rt))
	}
	return lockclient.Redlock("job", clients...), rt, first
}

// fail has the master fail, or no longer.
func (m *master) fail(fails bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = fails
}

// A master that has not answered an Extend may execute it after the next one, and cut the lease: it
// is no part of a majority that has more.
func TestRedlockExtendedLate(t *testing.T) {
	for _, answers := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			extends := make(chan struct{})
			late := &lateMaster{extends: extends}
			l, rt, first := tardyRedlock(late)
			h, err := l.Lock(t.Context())
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
			require.NoError(t, h.Extend(t.Context(), 2*time.Second))
			if answers {
				close(extends)
			}
			time.Sleep(100 * time.Millisecond)
			first.fail(true)
			before := rt.Mono()
			require.NoError(t, h.Extend(t.Context(), 20*time.Second))
			if left := h.Until() - before; answers {
				assert.Greater(t, left, 19*time.Second)
			} else {
				assert.Less(t, left, 2*time.Second)
			}
		})
	}
}

// By whose clock that may come yet is said by the first client: those of the others may have begun later.
func TestRedlockExtendedLateByOtherClocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rt, first, late := lockclient.System(), &master{}, &lateMaster{extends: make(chan struct{})}
		clients := []*lockclient.Client{lockclient.New(first, rt)}
		time.Sleep(time.Hour)
		for _, m := range []lockclient.Transport{&master{}, late} {
			clients = append(clients, lockclient.New(m, lockclient.System()))
		}
		h, err := lockclient.Redlock("job", clients...).Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		require.NoError(t, h.Extend(t.Context(), 2*time.Second))
		time.Sleep(600 * time.Millisecond) // the late one is given up
		first.fail(true)
		require.NoError(t, h.Extend(t.Context(), 20*time.Second))
		assert.Less(t, h.Left(), 2*time.Second)
	})
}

// What is unlocked is also given back where it was asked for, and is taken only after the Unlock.
func TestRedlockTakenAfterUnlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := &lateMaster{takes: time.Second}
		l, _, _ := tardyRedlock(late)
		h, err := l.Lock(t.Context(), lockclient.Lease(time.Minute), lockclient.NodeTimeout(500*time.Millisecond))
		require.NoError(t, err)
		time.Sleep(600 * time.Millisecond)
		require.NoError(t, h.Unlock(t.Context()))
		time.Sleep(time.Second)
		assert.Equal(t, h.Owner(), late.holds())
		time.Sleep(5 * time.Second)
		assert.Empty(t, late.holds())
	})
}

// Where an Extend leaves less to rely on than there was, as a majority that agreed has a master which
// may yet cut the lease, the loss is told when that ends.
func TestLossAfterAnExtendThatShortens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := &lateMaster{extends: make(chan struct{})}
		l, _, first := tardyRedlock(late)
		h, err := l.Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		require.NoError(t, h.Extend(t.Context(), 2*time.Second))
		time.Sleep(100 * time.Millisecond)
		late.fail(true)
		require.NoError(t, h.Extend(t.Context(), 10*time.Second))
		time.Sleep(2200 * time.Millisecond) // the client has looked, and will again when those end
		require.Greater(t, h.Left(), 7*time.Second)
		late.fail(false)
		first.fail(true)
		require.NoError(t, h.Extend(t.Context(), 20*time.Second))
		require.Less(t, h.Left(), 2*time.Second)
		time.Sleep(h.Left() + time.Millisecond)
		select {
		case <-h.Lost():
		default:
			require.Fail(t, "nobody was told")
		}
	})
}
