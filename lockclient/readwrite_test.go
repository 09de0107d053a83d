package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// freeRW replies as a server does on which every read-write lock is free.
func freeRW(script string, keys []string) (lockclient.Reply, error) {
	switch script {
	case "read-acquire", "write-acquire":
		return lockclient.Reply{}, nil
	case "read-renew":
		return free("mutex-renew", keys[:len(keys)/2])
	}
	return free(script, keys)
}

// Both sides use Redisson's keys, channel, owners and order of arguments.
func TestWireOfRW(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: freeRW}
		rw := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid")).RW("doc")
		writer, err := rw.W().Lock(t.Context())
		require.NoError(t, err)
		reader, err := rw.R().Lock(writer.Context(), lockclient.Lease(time.Second))
		require.NoError(t, err)
		require.NoError(t, reader.Extend(t.Context(), 2*time.Second))
		require.NoError(t, reader.Unlock(t.Context()))
		require.NoError(t, writer.Unlock(t.Context()))
		for _, side := range []*lockclient.Lock{rw.R(), rw.W()} {
			_, err = side.ForceUnlock(t.Context())
			require.NoError(t, err)
		}
		lines := masked(w.sent(t, 9))
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "DEL ") })
		assert.Equal(t, []string{
			"write-acquire doc | 30000 uuid:1:write",
			"read-acquire doc {doc}:uuid:1:rwlock_timeout | 1000 uuid:1 uuid:1:write",
			"rw-extend doc {doc} | 2000 uuid:1 read",
			"read-release doc redisson_rwlock:{doc} {doc}:uuid:1:rwlock_timeout {doc}" +
				" redisson_unlock_latch:{doc}:ID | 0 uuid:1 PUBLISH 20000",
			"write-release doc redisson_rwlock:{doc} redisson_unlock_latch:{doc}:ID {doc}" +
				" | 1 30000 uuid:1:write PUBLISH 20000",
			"rw-force doc redisson_rwlock:{doc} | 0 PUBLISH",
			"rw-force doc redisson_rwlock:{doc} | 1 PUBLISH",
		}, lines)
	})
}

func TestWireOfRW316(t *testing.T) {
	w := &wire{reply: freeRW}
	c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"), lockclient.Compat316())
	rw := c.RW("a{b}")
	reader, err := rw.R().Lock(t.Context(), lockclient.As("me:1"))
	require.NoError(t, err)
	require.NoError(t, reader.Unlock(t.Context()))
	writer, err := rw.W().Lock(t.Context(), lockclient.As("me:1"))
	require.NoError(t, err)
	require.NoError(t, writer.Unlock(t.Context()))
	for _, side := range []*lockclient.Lock{rw.R(), rw.W()} {
		_, err = side.ForceUnlock(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, []string{
		"read-acquire a{b} a{b}:me:1:rwlock_timeout | 30000 me:1 me:1:write",
		"read-release-316 a{b} redisson_rwlock:a{b} a{b}:me:1:rwlock_timeout a{b} | 0 me:1",
		"write-acquire a{b} | 30000 me:1:write",
		"write-release-316 a{b} redisson_rwlock:a{b} a{b} | 1 30000 me:1:write",
		"rw-force-316 a{b} redisson_rwlock:a{b} | 0",
		"rw-force-316 a{b} redisson_rwlock:a{b} | 1",
	}, w.sent(t, 6))
}

// A context is that of each hold in it that was not given back, also where another one within it was: a
// reader who asks to write there would wait for itself.
func TestContextOfHoldsOfWhichTheInnerOneIsOver(t *testing.T) {
	w := &wire{reply: freeRW}
	rw := lockclient.New(w, lockclient.System()).RW("a")
	outer, err := rw.R().Lock(t.Context())
	require.NoError(t, err)
	inner, err := rw.R().Lock(outer.Context(), lockclient.As("me"))
	require.NoError(t, err)
	ctx := inner.In(outer.Context())
	require.NoError(t, inner.Unlock(t.Context()))
	_, err = rw.W().TryLock(ctx)
	require.ErrorIs(t, err, lockclient.ErrDeadlock)
	again, err := rw.R().TryLock(ctx)
	require.NoError(t, err)
	assert.Equal(t, outer.Owner(), again.Owner())
}

// Who has a name as a Mutex does not have it as a reader, nor the reverse: to ask for the other is an error,
// and costs nobody what he has.
func TestMutexAndReadersOfOneName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: freeRW}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		mutex, rw := c.Mutex("a"), c.RW("a")
		for has, others := range map[*lockclient.Lock][]*lockclient.Lock{
			mutex: {rw.R(), rw.W()}, rw.R(): {mutex, c.Fair("a"), rw.W()},
		} {
			h, err := has.TryLock(t.Context(), lockclient.As("me"))
			require.NoError(t, err)
			for _, other := range others {
				_, err = other.TryLock(h.Context())
				require.ErrorIs(t, err, lockclient.ErrDeadlock)
				_, err = other.TryLock(t.Context(), lockclient.As("me"))
				require.ErrorIs(t, err, lockclient.ErrDeadlock)
			}
			assert.NoError(t, context.Cause(h.Context()))
			assert.NoError(t, h.Unlock(t.Context()))
		}
	})
}

// The watchdog renews a lock as what it was taken, whatever else was asked for before in its owner's name.
func TestRenewalOfWhatWasAskedForAsAnotherKind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "read-acquire" {
				return integer(60000), nil
			}
			return freeRW(script, keys)
		}}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		go func() {
			_, err := c.RW("a").R().Lock(t.Context(), lockclient.As("me"))
			assert.ErrorIs(t, err, lockclient.ErrDeadlock)
		}()
		time.Sleep(time.Second)
		h, err := c.Mutex("a").TryLock(t.Context(), lockclient.As("me"))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		assert.NoError(t, context.Cause(h.Context()))
		sent := strings.Join(w.sent(t, 0), "\n")
		assert.Contains(t, sent, "mutex-renew a")
		assert.NotContains(t, sent, "read-renew")
	})
}

// A named owner gives nothing back that it has lost, as the name may be another's by now, but a write in which
// it reads: that would keep others from reading for as long.
func TestLostWriteOfWhoReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, reads := range []bool{true, false} {
			w := &wire{reply: freeRW}
			c := lockclient.New(w, lockclient.System())
			rw, me := c.RW("a"), lockclient.As("me")
			writer, err := rw.W().Lock(t.Context(), me, lockclient.Lease(time.Second))
			require.NoError(t, err)
			if reads {
				_, err = rw.R().Lock(writer.Context())
				require.NoError(t, err)
			}
			<-writer.Lost()
			require.ErrorIs(t, writer.Unlock(t.Context()), lockclient.ErrLost)
			assert.Equal(t, reads, strings.Contains(strings.Join(w.sent(t, 0), "\n"), "write-release a"))

			if !reads { // what follows would be ended
				writer, err = rw.W().Lock(t.Context(), me, lockclient.Lease(time.Second))
				require.NoError(t, err)
				<-writer.Lost()
				later, err := rw.W().Lock(t.Context(), me)
				require.NoError(t, err)
				_, err = rw.R().Lock(later.Context())
				require.NoError(t, err)
				require.ErrorIs(t, writer.Unlock(t.Context()), lockclient.ErrLost)
				assert.NotContains(t, strings.Join(w.sent(t, 0), "\n"), "write-release a")
			}
			c.Close()
		}
	})
}

// Each side is renewed with others of its sort, under Compat316 one by one.
func TestRenewalOfRW(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, opts := range [][]lockclient.Option{{}, {lockclient.Compat316()}} {
			w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
				if script == "read-renew-316" {
					return integer(1), nil
				}
				return freeRW(script, keys)
			}}
			opts = append(opts, lockclient.WithID("uuid"), lockclient.WithWatchdog(3*time.Second))
			c := lockclient.New(w, lockclient.System(), opts...)
			for _, l := range []*lockclient.Lock{c.RW("a").R(), c.RW("a").W(), c.RW("b").R(), c.RW("b").W()} {
				_, err := l.Lock(t.Context())
				require.NoError(t, err)
			}
			if len(opts) == 2 {
				assert.ElementsMatch(t, []string{
					"read-renew a {a} b {b} | 3000 1 uuid:1 1 uuid:3",
					"mutex-renew a b | 3000 uuid:2:write uuid:4:write",
				}, w.sent(t, 6)[4:])
			} else {
				assert.ElementsMatch(t, []string{
					"read-renew-316 a {a} | 3000 uuid:1", "read-renew-316 b {b} | 3000 uuid:3",
					"mutex-renew a | 3000 uuid:2:write", "mutex-renew b | 3000 uuid:4:write",
				}, w.sent(t, 8)[4:])
			}
			c.Close()
		}
	})
}

// The release of one hold does not give a reader's other holds a new lease.
func TestReadReleaseLeavesTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "read-release" {
				return integer(0), nil
			}
			return freeRW(script, keys)
		}}
		lock := lockclient.New(w, lockclient.System()).RW("a").R()
		outer, err := lock.Lock(t.Context(), lockclient.Lease(time.Minute))
		require.NoError(t, err)
		inner, err := lock.Lock(outer.Context())
		require.NoError(t, err)
		until := outer.Until()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, inner.Unlock(t.Context()))
		assert.Equal(t, until, outer.Until())
	})
}

// A waiting reader looks again now and then, as Redisson tells nobody when a
// writer reads on; a waiting writer sleeps.
func TestWaitingReaderLooksAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(60000), nil }}
		rw := lockclient.New(w, lockclient.System(), lockclient.WithPoll(time.Second)).RW("a")
		for _, side := range []*lockclient.Lock{rw.R(), rw.W()} {
			_, err := side.TryLock(t.Context(), lockclient.Wait(1500*time.Millisecond))
			require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		}
		asked := map[string]int{}
		for _, line := range w.sent(t, 0) {
			script, _, _ := strings.Cut(line, " ")
			asked[script]++
		}
		assert.Equal(t, 3, asked["read-acquire"], "at first, when subscribed, after a second")
		assert.Equal(t, 2, asked["write-acquire"], "at first, when subscribed")
	})
}

// A writer reads on: what it takes with In does not end with the write side.
func ExampleClient_RW() {
	client := lockclient.New(&wire{reply: freeRW}, lockclient.System())
	defer client.Close()
	ctx, doc := context.Background(), client.RW("doc")

	writer, err := doc.W().Lock(ctx)
	if err != nil {
		panic(err)
	}
	// write …
	reader, err := doc.R().Lock(writer.In(ctx))
	if err != nil {
		panic(err)
	}
	err = writer.Unlock(ctx) // others may read from here on
	// read …
	_, upgrade := doc.W().Lock(reader.Context())
	err = errors.Join(err, reader.Unlock(ctx))
	fmt.Println(err, errors.Is(upgrade, lockclient.ErrDeadlock))
	// Output: <nil> true
}

// Those who read inside one write have one owner on the wire. One whose outcome
// is unknown is not given back, as that would give back what another has.
func TestReadersInsideOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lost := 0 // which acquisition of the read side is without a reply
		w := &wire{}
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			if script == "read-acquire" {
				if lost--; lost == 0 {
					return lockclient.Reply{}, errors.New("connection reset")
				}
			}
			return freeRW(script, keys)
		}
		rw := lockclient.New(w, lockclient.System()).RW("doc")
		for _, lost = range []int{1, 2} {
			writer, err := rw.W().Lock(t.Context())
			require.NoError(t, err)
			first, err := rw.R().Lock(writer.Context())
			second, err2 := rw.R().Lock(writer.Context())
			require.ErrorIs(t, errors.Join(err, err2), lockclient.ErrUnknown)
			time.Sleep(time.Minute)
			for _, line := range w.sent(t, 1) {
				assert.NotContains(t, line, "read-release ")
			}
			reader := first
			if err != nil {
				reader = second
			}
			require.NoError(t, reader.Context().Err())
			require.NoError(t, reader.Unlock(t.Context()))
			require.NoError(t, writer.Unlock(t.Context()))
			w.mu.Lock()
			w.lines = nil
			w.mu.Unlock()
		}
	})
}
