package lockclient_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// hashMaster is a Transport to a server with one hash lock.
type hashMaster struct {
	mu       sync.Mutex
	owner    string // "": free
	ttl      int64  // ms, what others are told
	attempts int
	deaf     bool // subscriptions fail
	mute     bool // they are not confirmed
	channels []func(payload string)
	open     int // subscriptions that were not closed
}

func takenMaster() *hashMaster { return &hashMaster{owner: "somebody", ttl: 60000} }

func (m *hashMaster) Eval(
	_ context.Context, script *lockclient.Script, _, args []string,
) (lockclient.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch script.Name {
	case "mutex-acquire":
		m.attempts++
		if m.owner != "" {
			return integer(m.ttl), nil
		}
		m.owner = args[1]
		return lockclient.Reply{}, nil
	case "mutex-release":
		if m.owner != args[2] {
			return lockclient.Reply{}, nil
		}
		m.owner = ""
		m.publish()
	}
	return integer(1), nil
}

func (m *hashMaster) Do(context.Context, string, ...string) (lockclient.Reply, error) {
	return lockclient.Reply{}, nil
}

func (m *hashMaster) Subscribe(
	ctx context.Context, _ string, _ bool, deliver func(string), _ func(),
) (lockclient.Subscription, error) {
	if m.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deaf {
		return nil, errors.New("broken")
	}
	m.channels = append(m.channels, deliver)
	m.open++
	return m, nil
}

func (m *hashMaster) Topology() lockclient.Topology { return lockclient.Topology{} }

func (m *hashMaster) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
}

// publish wakes those who have subscribed. The mutex is held.
func (m *hashMaster) publish() {
	for _, deliver := range m.channels {
		go deliver("0")
	}
}

// free ends the lock of somebody else, with a message or without.
func (m *hashMaster) free(tells bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owner = ""
	if tells {
		m.publish()
	}
}

func (m *hashMaster) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attempts
}

// waits has a process wait for the HashRedlock of masters, and returns when it
// has asked again after subscribing. The channel is closed when it has taken the
// lock and given it back.
func waits(t *testing.T, masters ...*hashMaster) (done <-chan struct{}) {
	t.Helper()
	var clients []*lockclient.Client
	before := masters[0].asked()
	for _, m := range masters {
		clients = append(clients, lockclient.New(m, lockclient.System()))
	}
	time.Sleep(time.Minute) // no sum begins at 0
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h, err := lockclient.HashRedlock("job", clients...).Lock(t.Context())
		if assert.NoError(t, err) {
			assert.NoError(t, h.Unlock(t.Context()))
		}
	}()
	require.Eventually(t, func() bool { return masters[0].asked() >= before+2 }, 5*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond) // until it is parked
	return ended
}

// come requires a wait to end within a time.
func come(t *testing.T, limit time.Duration, waiter <-chan struct{}) {
	t.Helper()
	select {
	case <-waiter:
	case <-time.After(limit):
		require.FailNow(t, "the waiter was not woken")
	}
}

const (
	ages  = 5 * time.Second        // well under the TTLs
	pause = 400 * time.Millisecond // longer than any random delay
)

// A waiter wakes when a majority has sent messages, and no sooner.
func TestHashRedlockIsWokenByAMajority(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), takenMaster()}
		waiter := waits(t, m...)
		m[2].free(true)
		m[2].free(true)
		time.Sleep(pause)
		assert.Equal(t, 2, m[0].asked(), "one master is no majority")
		m[0].free(true)
		come(t, ages, waiter)
		assert.Equal(t, 3, m[0].asked())
	})
}

// Where one master is free, waiters take it and give it back, which sends a
// message. They do not wake each other with these for ever, nor themselves.
func TestHashRedlockWaitersAreQuiet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), {}}
		first := waits(t, m...)
		second := waits(t, m...)
		before := m[0].asked()
		time.Sleep(pause)
		assert.Equal(t, before, m[0].asked())
		m[0].free(true)
		come(t, ages, first)
		come(t, ages, second)
	})
}

// Without messages a waiter asks again when the leases of a majority may have ended.
func TestHashRedlockTrustsTTLs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), takenMaster()}
		m[0].ttl, m[1].ttl = 300, 400
		waiter := waits(t, m...)
		begun := time.Now()
		m[0].free(false)
		m[1].free(false)
		come(t, ages, waiter)
		assert.GreaterOrEqual(t, time.Since(begun), 250*time.Millisecond)
		assert.LessOrEqual(t, time.Since(begun), 450*time.Millisecond)
		assert.LessOrEqual(t, m[2].asked(), 3)
	})
}

// A waiter that hears no majority asks again by itself.
func TestHashRedlockWithoutSubscriptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), takenMaster()}
		m[0].deaf, m[1].deaf = true, true
		waiter := waits(t, m...)
		m[0].free(false)
		m[1].free(false)
		come(t, ages, waiter)
	})
}

// Who gives up while it subscribes listens to no master any more.
func TestHashRedlockGivenUpWhileSubscribing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), takenMaster()}
		m[2].mute = true
		var clients []*lockclient.Client
		for _, master := range m {
			clients = append(clients, lockclient.New(master, lockclient.System()))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := lockclient.HashRedlock("job", clients...).Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		for i, master := range m {
			assert.Zero(t, master.open, i)
		}
		assert.Len(t, m[0].channels, 1)
	})
}

// A waiter ends when the first client is closed, also if that one's master does not answer.
func TestHashRedlockIsClosedWithoutSubscription(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), takenMaster()}
		m[0].deaf = true
		var clients []*lockclient.Client
		for _, master := range m {
			clients = append(clients, lockclient.New(master, lockclient.System()))
		}
		time.AfterFunc(time.Second, clients[0].Close)
		begun := time.Now()
		_, err := lockclient.HashRedlock("job", clients...).Lock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrClosed)
		assert.Equal(t, time.Second, time.Since(begun))
		for i, master := range m {
			assert.Zero(t, master.open, i)
		}
	})
}

// A HashRedlock hears the messages of a Mutex beside its waiters, and takes none
// from them.
func TestHashRedlockWaitsBesideAMutex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := takenMaster()
		c := lockclient.New(m, lockclient.System())
		var waiters []<-chan struct{}
		for i, lock := range []*lockclient.Lock{lockclient.HashRedlock("job", c), c.Mutex("job")} {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				assert.NoError(t, lock.Do(t.Context(), func(context.Context, *lockclient.Held) error { return nil }))
			}()
			waiters = append(waiters, ended)
			require.Eventually(t, func() bool { return m.asked() == 2*(i+1) }, ages, time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // until both are parked
		m.free(true)
		come(t, ages, waiters[0])
		come(t, ages, waiters[1])
	})
}

// Nor does it take one from a Mutex when that alone may have the lock.
func TestHashRedlockLeavesTheMessageOfAMutex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*hashMaster{takenMaster(), takenMaster(), takenMaster()}
		var clients []*lockclient.Client
		for _, master := range m {
			clients = append(clients, lockclient.New(master, lockclient.System()))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = lockclient.HashRedlock("job", clients...).Lock(ctx) }()
		time.Sleep(time.Second)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err := clients[0].Mutex("job").Lock(ctx)
			assert.NoError(t, err)
		}()
		time.Sleep(time.Second)
		m[0].free(true)
		come(t, ages, ended)
		cancel()
	})
}

// troubled is a master that is taken for good, but sends messages as if it were not, or one
// that does not answer.
type troubled struct {
	hashMaster
	silent bool
}

func (m *troubled) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	if m.silent {
		<-ctx.Done()
		return lockclient.Reply{}, ctx.Err()
	}
	time.AfterFunc(10*time.Millisecond, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.publish()
	})
	return m.hashMaster.Eval(ctx, script, keys, args)
}

// A waiter that is woken by every attempt makes no more than one when its wait is over.
func TestQuorumWaitEndsHoweverOftenItIsWoken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var clients []*lockclient.Client
		for _, m := range []lockclient.Transport{
			&hashMaster{}, &troubled{silent: true}, &troubled{hashMaster: hashMaster{owner: "somebody", ttl: 60000}},
		} {
			c := lockclient.New(m, lockclient.System())
			defer c.Close()
			clients = append(clients, c)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		_, err := lockclient.HashRedlock("job", clients...).TryLock(ctx, lockclient.Wait(time.Second))
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		attempt := lockclient.DefaultRedlock / 20
		require.LessOrEqual(t, time.Since(begun), time.Second+2*attempt)
	})
}
