package lockclient_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Whoever asks a server that does not answer is told so, with the cause, and nothing else.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	c := lockclient.New(&master{fails: true}, lockclient.System())
	defer c.Close()
	ctx := t.Context()
	is := func(err error) {
		t.Helper()
		assert.ErrorIs(t, err, lockclient.ErrUnknown)
		assert.ErrorContains(t, err, "broken")
	}
	for _, lock := range []*lockclient.Lock{
		c.Mutex("a"), c.Fair("a"), c.Spin("a"), c.RW("a").R(), c.RW("a").W(), c.Simple("a"),
	} {
		locked, err := lock.IsLocked(ctx)
		is(err)
		assert.False(t, locked)
		held, err := lock.HeldBy(ctx, "me")
		is(err)
		assert.False(t, held)
		left, limited, err := lock.TTL(ctx)
		is(err)
		assert.False(t, limited)
		assert.Zero(t, left)
		freed, err := lock.ForceUnlock(ctx)
		is(err)
		assert.False(t, freed)
	}
	_, err := c.Semaphore("a").Available(ctx)
	is(err)
	_, err = c.PermitSemaphore("a").Available(ctx)
	is(err)
	_, err = c.PermitSemaphore("a").Acquired(ctx)
	is(err)
	_, err = c.Latch("a").Count(ctx)
	is(err)
	is(c.Latch("a").Wait(ctx)) // a latch that is missing is open
}

// Nothing is asked for with a context that has ended.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	w := &wire{reply: counted}
	c := lockclient.New(w, lockclient.System())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err1 := c.Mutex("a").Lock(ctx)
	_, err2 := c.Semaphore("a").Acquire(ctx, 1)
	_, err3 := c.Semaphore("a").AddPermits(ctx, 1)
	_, err4 := c.Semaphore("a").Drain(ctx)
	_, err5 := c.Latch("a").TrySetCount(ctx, 1)
	_, err6 := c.PermitSemaphore("a").Acquire(ctx, time.Second)
	err7 := c.PermitSemaphore("a").SetPermits(ctx, 1)
	err8 := c.Latch("a").Wait(ctx)
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
		assert.ErrorIs(t, err, context.Canceled, i)
	}
	assert.Empty(t, w.sent(t, 0))
}

// unconfirming is a Transport to a server that confirms no subscription.
type unconfirming struct{ wire }

func (*unconfirming) Subscribe(
	ctx context.Context, _ string, _ bool, _ func(string), _ func(),
) (lockclient.Subscription, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Who gives up while it subscribes is told why: nothing of the lock's is unknown, nor is it
// when the subscription fails. Nothing was taken, so nothing is given back.
func TestGivenUpWhileSubscribing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &unconfirming{wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(60000), nil }}}
		c := lockclient.New(w, lockclient.System())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Mutex("a").Lock(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, lockclient.ErrUnknown)
		_, err = c.Mutex("a").TryLock(t.Context(), lockclient.Wait(time.Second))
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		_, err = c.Mutex("a").Lock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrUnknown, "it did not answer within WithTimeout")
		time.Sleep(time.Minute)
		assert.NotContains(t, strings.Join(w.sent(t, 3), "\n"), "mutex-release")
		err = c.Latch("a").Strict().Wait(t.Context())
		require.ErrorIs(t, err, lockclient.ErrUnknown)
	})
}

// Whoever forces what is at a key of a server ends it for all of the client who have it there, as whatever.
func TestForcedAsAnotherKind(t *testing.T) {
	w := &wire{reply: freeRW}
	c := lockclient.New(&forced{w}, lockclient.System())
	defer c.Close()
	for _, has := range []*lockclient.Lock{c.Mutex("a"), c.RW("a").R(), c.RW("a").W(), c.Simple("a")} {
		for _, by := range []*lockclient.Lock{c.Mutex("a"), c.Fair("a"), c.Simple("a")} {
			h, err := has.TryLock(t.Context())
			require.NoError(t, err)
			freed, err := by.ForceUnlock(t.Context())
			require.NoError(t, err)
			assert.True(t, freed)
			select {
			case <-h.Lost():
			default:
				assert.Fail(t, "nobody is told")
			}
			assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)
		}
	}
}

// Who has what another client has forced, and has as another kind now, is told by the next renewal, Extend or
// Unlock, as if it were of the same kind: the key is no longer of the type that the request is for.
func TestForcedElsewhereAsAnotherKind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var refusal error
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if refusal != nil {
				return lockclient.Reply{}, refusal
			}
			return freeRW(script, keys)
		}}
		c := lockclient.New(&forced{w}, lockclient.System())
		defer c.Close()
		for name, lock := range map[string]*lockclient.Lock{
			"Mutex": c.Mutex("a"), "R": c.RW("a").R(), "W": c.RW("a").W(), "Simple": c.Simple("a"),
			"Redlock": lockclient.Redlock("a", c), "HashRedlock": lockclient.HashRedlock("a", c),
		} { //tidy:unordered each by itself
			for _, learns := range []func(h *lockclient.Held) error{
				func(h *lockclient.Held) error { return h.Extend(t.Context(), time.Minute) },
				func(h *lockclient.Held) error { return h.Unlock(t.Context()) },
			} {
				refusal = nil
				h, err := lock.TryLock(t.Context())
				require.NoError(t, err, name)
				refusal = &lockclient.ServerError{Text: "WRONGTYPE Operation against a key holding the wrong kind of value"}
				assert.ErrorIs(t, learns(h), lockclient.ErrLost, name)
				before := len(w.sent(t, 0))
				time.Sleep(time.Minute)
				assert.Equal(t, before, len(w.sent(t, 0)), "%s is not asked for again", name)
			}
		}
		refusal = nil
		h, err := c.Mutex("a").TryLock(t.Context())
		require.NoError(t, err)
		refusal = &lockclient.ServerError{Text: "WRONGTYPE Operation against a key holding the wrong kind of value"}
		begun := time.Now()
		<-h.Lost()
		assert.Equal(t, lockclient.DefaultWatchdog/3, time.Since(begun))
	})
}

// forced is a server that has set or deleted what it is asked to.
type forced struct{ *wire }

func (f *forced) Do(_ context.Context, _ string, args ...string) (lockclient.Reply, error) {
	if args[0] == "SET" {
		return lockclient.Reply{Kind: lockclient.TextReply, Text: "OK"}, nil
	}
	return integer(1), nil
}
