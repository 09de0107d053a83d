package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// master is a Transport to a server with one string key, which can be late.
type master struct {
	wire
	value string
	late  <-chan struct{} // nil: at once
	fails bool
}

func (m *master) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	m.note("%s", strings.Join(args, " "))
	if m.late != nil {
		<-m.late
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.fails:
		return lockclient.Reply{}, errors.New("broken")
	case m.value != "":
		return lockclient.Reply{}, nil
	}
	m.value = args[2]
	return lockclient.Reply{Kind: lockclient.TextReply, Text: "OK"}, nil
}

func (m *master) Eval(
	_ context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	m.note("%s", script.Name)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.fails:
		return lockclient.Reply{}, errors.New("broken")
	case m.value != args[0]:
		return integer(0), nil
	case script.Name == "plain-release":
		m.value = ""
	}
	return integer(1), nil
}

// holds returns the value on the master.
func (m *master) holds() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value
}

// redlock names a lock on masters.
func redlock(masters ...*master) *lockclient.Lock {
	var clients []*lockclient.Client
	for _, m := range masters {
		clients = append(clients, lockclient.New(m, lockclient.System()))
	}
	return lockclient.Redlock("job", clients...)
}

// Two of five masters may fail; what is asked is the documentation's SET.
func TestRedlockSurvivesTheLossOfTwo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*master{{}, {fails: true}, {}, {fails: true}, {}}
		h, err := redlock(m...).Lock(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "SET job "+h.Owner()+" NX PX 10000", m[0].sent(t, 1)[0])
		_, ok := h.Token()
		assert.False(t, ok)
		require.NoError(t, h.Extend(t.Context(), time.Minute))
		require.NoError(t, h.Unlock(t.Context()))
		for _, i := range []int{0, 2, 4} {
			assert.Empty(t, m[i].holds())
		}
	})
}

// Without a quorum every node's reason is given, and all is released.
func TestRedlockWithoutQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		granted := make(chan struct{}) // by the first: two others that refuse end the round
		m := []*master{{}, {value: "other", late: granted}, {fails: true, late: granted}}
		go func() {
			m[0].sent(t, 1)
			time.Sleep(20 * time.Millisecond)
			close(granted)
		}()
		_, err := redlock(m...).TryLock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		var quorum *lockclient.QuorumError
		require.ErrorAs(t, err, &quorum)
		assert.Equal(t, 2, quorum.Need)
		assert.Equal(t, 1, quorum.Got)
		assert.True(t, quorum.Nodes[0].OK)
		assert.True(t, quorum.Nodes[1].Taken)
		assert.Error(t, quorum.Nodes[2].Err)
		assert.Contains(t, err.Error(), "1 of 3 masters agreed, 2 needed; master 2: taken; master 3: ", "as people count")
		require.Eventually(t, func() bool { return m[0].holds() == "" }, 5*time.Second, time.Millisecond)
		assert.Equal(t, "other", m[1].holds())
	})
}

// A slow master delays nobody; what it grants after the lock was given up goes
// back at once.
func TestRedlockReturnsAtQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := make(chan struct{})
		m := []*master{{}, {}, {late: late}}
		h, err := redlock(m...).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
		assert.Empty(t, m[0].holds())
		assert.Len(t, m[2].sent(t, 1), 1)
		close(late)
		assert.Equal(t, "plain-release", m[2].sent(t, 2)[1])
		require.Eventually(t, func() bool { return m[2].holds() == "" }, 5*time.Second, time.Millisecond)
	})
}

// Who gives up waiting for the answers of masters is told why, at once.
func TestRedlockIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, err := redlock(&master{late: late}, &master{late: late}).Lock(ctx, lockclient.NodeTimeout(time.Minute))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(begun))
		close(late)
	})
}

// A quorum that no longer has the lock is a loss; one that does not answer is not.
func TestRedlockLossAndSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*master{{}, {}, {}}
		h, err := redlock(m...).Lock(t.Context())
		require.NoError(t, err)
		for _, gone := range m[:2] {
			gone.mu.Lock()
			gone.value = "other"
			gone.mu.Unlock()
		}
		assert.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrLost)
		assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)

		m = []*master{{}, {}, {}}
		h, err = redlock(m...).Lock(t.Context())
		require.NoError(t, err)
		for _, broken := range m[:2] {
			broken.mu.Lock()
			broken.fails = true
			broken.mu.Unlock()
		}
		assert.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrUnknown)
		assert.NoError(t, h.Context().Err())
		assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrUnknown)

		m = []*master{{}, {}, {}}
		h, err = redlock(m...).Lock(t.Context())
		require.NoError(t, err)
		synctest.Wait() // the third grants it as well
		m[0].mu.Lock()
		m[0].value = "other"
		m[0].mu.Unlock()
		m[1].mu.Lock()
		m[1].fails = true
		m[1].mu.Unlock()
		assert.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrUnknown, "a majority may have it yet")
		assert.NoError(t, h.Context().Err())
		assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrUnknown)
	})
}

// A quorum that agrees when the lease is over is of no use, and is given back.
func TestRedlockThatComesTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := make(chan struct{})
		m := []*master{{late: late}, {late: late}, {}}
		time.AfterFunc(2*time.Second, func() { close(late) })
		_, err := redlock(m...).TryLock(t.Context(), lockclient.Lease(time.Second), lockclient.NodeTimeout(time.Minute))
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		assert.ErrorContains(t, err, "longer than the lease lasts")
		time.Sleep(time.Second)
		for _, node := range m {
			assert.Empty(t, node.holds())
		}
	})
}

// One whose lease is no longer than the drift is refused as that of any lock: it can never come in time.
func TestRedlockShorterThanTheDrift(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &master{}
		begun := time.Now()
		_, err := redlock(m).Lock(t.Context(), lockclient.Lease(2*time.Millisecond))
		require.ErrorIs(t, err, lockclient.ErrLost)
		assert.Zero(t, time.Since(begun))
		assert.Empty(t, m.sent(t, 0))
	})
}

// A HashRedlock sends the scripts of a Mutex, with one owner for all masters,
// and its release wakes those who wait for a lock of that name.
func TestWireOfHashRedlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := []*wire{{reply: free}, {reply: free}, {reply: func(string, []string) (lockclient.Reply, error) {
			return integer(60000), nil // taken by somebody else
		}}}
		var clients []*lockclient.Client
		for i, one := range w {
			clients = append(clients, lockclient.New(one, lockclient.System(), lockclient.WithID(fmt.Sprint("uuid", i))))
		}
		h, err := lockclient.HashRedlock("job", clients...).Lock(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "uuid0:1", h.Owner())
		require.NoError(t, h.Extend(t.Context(), time.Minute))
		require.NoError(t, h.Unlock(t.Context()))
		for _, one := range w[:2] {
			assert.Equal(t, []string{
				"mutex-acquire job | 10000 uuid0:1",
				"mutex-extend job | 60000 uuid0:1",
				"mutex-release job redisson_lock__channel:{job} redisson_unlock_latch:{job}:ID | 0 30000 uuid0:1 PUBLISH 20000",
				"DEL redisson_unlock_latch:{job}:ID",
			}, masked(one.sent(t, 4)))
		}
	})
}

// Who has so many of the masters by its context that no majority is left would wait for itself, and so would
// who asks one of those that it has.
func TestRedlockExcludesItsOwnHolder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c []*lockclient.Client
		for range 5 {
			c = append(c, lockclient.New(&hashMaster{ttl: 10000}, lockclient.System()))
		}
		hash := func(c ...*lockclient.Client) *lockclient.Lock { return lockclient.HashRedlock("a", c...) }
		three := hash(c[0], c[1], c[2])
		for _, one := range []struct {
			outer, inner *lockclient.Lock
			want         error
		}{
			{three, three, lockclient.ErrDeadlock},
			{three, hash(c[1], c[0], c[2]), lockclient.ErrDeadlock},
			{three, hash(c[1], c[2]), lockclient.ErrDeadlock},
			{three, hash(c[0], c[3], c[4]), nil},
			{three, hash(c...), lockclient.ErrDeadlock},
			{three, c[2].Mutex("a"), lockclient.ErrDeadlock},
			{three, c[3].Mutex("a"), nil},
			{c[0].Mutex("a"), hash(c[0]), lockclient.ErrDeadlock},
			{c[0].Mutex("a"), three, nil},
			{lockclient.Multi(c[0].Mutex("a"), c[2].Mutex("a")), three, lockclient.ErrDeadlock},
			{lockclient.Multi(c[0].Mutex("a"), c[2].Mutex("a")), hash(c...), nil},
		} {
			outer, err := one.outer.TryLock(t.Context())
			require.NoError(t, err)
			time.Sleep(time.Millisecond) // all have answered
			inner, err := one.inner.TryLock(outer.Context())
			require.ErrorIs(t, err, one.want, "%s in %s", one.inner.Key(), one.outer.Key())
			if err == nil {
				require.NoError(t, inner.Unlock(t.Context()))
			}
			require.NoError(t, outer.Unlock(t.Context()))
			time.Sleep(time.Second)
		}
	})
}

// A client that is there twice would count one master twice.
func TestRedlockNeedsDifferentClients(t *testing.T) {
	a, b := lockclient.New(&wire{}, lockclient.System()), lockclient.New(&wire{}, lockclient.System())
	type kind func(key string, clients ...*lockclient.Client) *lockclient.Lock
	for _, lock := range []kind{lockclient.Redlock, lockclient.HashRedlock} {
		require.NotPanics(t, func() { lock("k", a, b) })
		require.PanicsWithValue(t, `lockclient: client 2 of the Redlock "k" was there before`, func() { lock("k", a, b, a) })
		require.PanicsWithValue(t, `lockclient: client 1 of the Redlock "k" is nil`, func() { lock("k", a, nil) })
		require.PanicsWithValue(t, `lockclient: the Redlock "k" has no clients: give it one for each master`,
			func() { lock("k") })
	}
}

// Nor is one there twice because its caller uses the list for another one.
func TestRedlockKeepsItsClients(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := []*master{{}, {value: "other"}, {value: "other"}}
		var clients []*lockclient.Client
		for _, one := range m {
			clients = append(clients, lockclient.New(one, lockclient.System()))
		}
		lock := lockclient.Redlock("job", clients...)
		clients[1], clients[2] = clients[0], clients[0]
		_, err := lock.TryLock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		for _, one := range m {
			require.Contains(t, one.sent(t, 1)[0], "SET job ")
		}
	})
}
