package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// dates and ids of permits differ in each run.
var (
	dates = regexp.MustCompile(`\b\d{13}\b`)
	ids   = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
)

// counted replies as a server does on which every count is 1.
func counted(script string, _ []string) (lockclient.Reply, error) {
	switch script {
	case "permit-acquire", "permit-acquire-316":
		return lockclient.Reply{Kind: lockclient.TextReply, Text: "OK"}, nil
	case "permit-count":
		return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{integer(1), integer(1)}}, nil
	}
	return integer(1), nil
}

// synchronize calls everything that semaphores and latches send.
func synchronize(t *testing.T, opts ...lockclient.Option) []string {
	w := &wire{reply: counted}
	c, ctx := lockclient.New(w, lockclient.System(), opts...), t.Context()
	s := c.Semaphore("s")
	_, _ = s.TrySetPermits(ctx, 3)
	_, _ = s.AddPermits(ctx, -1)
	p, err := s.Acquire(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, p.Release(ctx))
	_, _ = s.Drain(ctx)
	_, _ = s.Available(ctx)

	l := c.Latch("l")
	_, _ = l.TrySetCount(ctx, 2)
	_, _ = l.CountDown(ctx)
	_, _ = l.Delete(ctx)

	x := c.PermitSemaphore("x")
	_, _ = x.TrySetPermits(ctx, 3)
	require.NoError(t, x.SetPermits(ctx, 4))
	require.NoError(t, x.AddPermits(ctx, 5))
	h, err := x.Acquire(ctx, time.Minute)
	require.NoError(t, err)
	require.NoError(t, h.Extend(ctx, 2*time.Minute))
	require.NoError(t, h.Unlock(ctx))
	_, _ = x.Available(ctx)
	lines := w.sent(t, 16+4) // and what ends records, at its own time
	raw := rawID(t, h.Owner())
	for i, line := range lines {
		line = strings.ReplaceAll(line, raw, "RAW")
		lines[i] = dates.ReplaceAllString(ids.ReplaceAllString(line, "HEX"), "DATE")
	}
	ends := func(line string) bool { return strings.HasPrefix(line, "PEXPIRE redisson_unlock_latch:{") }
	return slices.DeleteFunc(lines, ends)
}

// rawID is the id of a permit in 16 bytes.
func rawID(t *testing.T, text string) string {
	t.Helper()
	var raw []byte
	_, err := fmt.Sscanf(text, "%x", &raw)
	require.NoError(t, err)
	require.Len(t, raw, 16)
	return string(raw)
}

func TestWireOfSynchronizers(t *testing.T) {
	assert.Equal(t, []string{
		"semaphore-set s redisson_sc:{s} | 3 PUBLISH",
		"semaphore-add s redisson_sc:{s} | -1 PUBLISH",
		"semaphore-acquire s redisson_unlock_latch:{s}:HEX | 1 620000",
		"semaphore-return s redisson_sc:{s} redisson_unlock_latch:{s}:HEX | 1 620000 PUBLISH",
		"semaphore-drain s redisson_unlock_latch:{s}:HEX | 620000",
		"GET s",
		"latch-set l redisson_countdownlatch__channel__{l} | 1 2 PUBLISH",
		"latch-count-down l redisson_countdownlatch__channel__{l} redisson_unlock_latch:{l}:HEX | 0 620000 PUBLISH",
		"latch-delete l redisson_countdownlatch__channel__{l} | 1 PUBLISH",
		"semaphore-set x redisson_sc:{x} | 3 PUBLISH",
		"permit-set x {x}:timeout redisson_sc:{x} | 4 PUBLISH",
		"permit-add x redisson_sc:{x} | 5 PUBLISH",
		"permit-acquire x {x}:timeout redisson_sc:{x} | 1 DATE DATE 922337203685477 PUBLISH RAW",
		"permit-extend x {x}:timeout redisson_sc:{x} | RAW DATE DATE PUBLISH",
		"permit-release x redisson_sc:{x} {x}:timeout | RAW 1 DATE PUBLISH",
		"permit-count x {x}:timeout redisson_sc:{x} | DATE PUBLISH",
	}, synchronize(t))
}

// Redisson 3.16 has PUBLISH in its scripts, and permits are named by text.
func TestWireOfSynchronizers316(t *testing.T) {
	assert.Equal(t, []string{
		"semaphore-set s redisson_sc:{s} | 3",
		"semaphore-add s redisson_sc:{s} | -1",
		"semaphore-acquire s redisson_unlock_latch:{s}:HEX | 1 620000",
		"semaphore-return s redisson_sc:{s} redisson_unlock_latch:{s}:HEX | 1 620000",
		"semaphore-drain s redisson_unlock_latch:{s}:HEX | 620000",
		"GET s",
		"latch-set l redisson_countdownlatch__channel__{l} | 1 2",
		"latch-count-down l redisson_countdownlatch__channel__{l} redisson_unlock_latch:{l}:HEX | 0 620000",
		"latch-delete l redisson_countdownlatch__channel__{l} | 1",
		"semaphore-set x redisson_sc:{x} | 3",
		"permit-set x {x}:timeout redisson_sc:{x} | 4",
		"permit-add x redisson_sc:{x} | 5",
		"permit-acquire-316 x {x}:timeout redisson_sc:{x} | 1 DATE HEX DATE 922337203685477",
		"permit-extend x {x}:timeout redisson_sc:{x} | HEX DATE DATE",
		"permit-release x redisson_sc:{x} {x}:timeout | HEX 1",
		"permit-count x {x}:timeout redisson_sc:{x} | DATE",
	}, synchronize(t, lockclient.Compat316()))
}

// What changes a count is repeated as the same request when it was not run or nobody
// knows; an error out of the middle of a script is final.
func TestCountsAreRepeatedAsTheSameRequest(t *testing.T) {
	for _, failure := range []struct {
		err  error
		sent int
	}{
		{&lockclient.ServerError{Text: "LOADING the dataset"}, 2},
		{&lockclient.ServerError{Text: "MISCONF Redis is configured to save RDB snapshots"}, 2},
		{&lockclient.ServerError{Text: "OOM command not allowed when used memory > 'maxmemory'."}, 2},
		{&lockclient.ServerError{Text: "NOAUTH Authentication required."}, 2},
		{&lockclient.ServerError{Text: "WRONGPASS invalid username-password pair or user is disabled."}, 2},
		{errors.New("connection reset"), 2},
		{&lockclient.ServerError{Text: "NOPERM this channel"}, 1},
	} {
		for _, one := range []struct {
			script string
			change func(ctx context.Context, c *lockclient.Client) error
		}{
			{"semaphore-return", func(ctx context.Context, c *lockclient.Client) error {
				p, err := c.Semaphore("s").Acquire(ctx, 1)
				if err != nil {
					return nil
				}
				return p.Release(ctx)
			}},
			{"latch-count-down", func(ctx context.Context, c *lockclient.Client) error {
				_, err := c.Latch("l").CountDown(ctx)
				return err
			}},
		} {
			if one.script == "latch-count-down" && refused(failure.err) {
				continue // it has not counted, and its caller knows
			}
			bubble(t, func(t *testing.T) {
				assert.Len(t, repeated(t, one.script, failure.err, one.change), failure.sent, "%s: %v", one.script, failure.err)
			})
		}
	}
}

func refused(err error) bool {
	var refusal *lockclient.ServerError
	return errors.As(err, &refusal)
}

// repeated are the requests of a script whose first has the given error, in 15 minutes.
// They are one.
func repeated(
	t *testing.T, script string, failure error, change func(context.Context, *lockclient.Client) error,
) (requests []string) {
	failed := false
	w := &wire{}
	w.reply = func(name string, keys []string) (lockclient.Reply, error) {
		if name == script && !failed {
			failed = true
			return lockclient.Reply{}, failure
		}
		return counted(name, keys)
	}
	c := lockclient.New(w, lockclient.System())
	defer c.Close()
	require.Error(t, change(t.Context(), c))
	time.Sleep(15 * time.Minute)
	for _, line := range w.sent(t, 1) {
		if strings.HasPrefix(line, script) {
			requests = append(requests, line)
		}
	}
	require.Len(t, slices.Compact(slices.Clone(requests)), 1)
	return requests
}

// An acquisition whose reply is lost is withdrawn, until that is answered.
func TestDoubtfulPermitsAreWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{}
		asked := 0
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			if asked++; asked < 4 {
				return lockclient.Reply{}, errors.New("connection reset")
			}
			return counted(script, keys)
		}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		_, err := c.Semaphore("s").TryAcquire(t.Context(), 3)
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(15 * time.Minute)
		lines := w.sent(t, 4)
		record := ids.FindString(lines[0])
		withdrawal := "semaphore-withdraw s redisson_sc:{s} redisson_unlock_latch:{s}:" + record + " | 620000 PUBLISH"
		assert.Equal(t, []string{
			"semaphore-acquire s redisson_unlock_latch:{s}:" + record + " | 3 620000",
			withdrawal, withdrawal, withdrawal,
		}, lines)
	})
}

// What gives back an acquisition of unknown outcome is repeated while that one
// may still be under way.
func TestGivingBackMayOvertake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, _ []string) (lockclient.Reply, error) {
			if script == "mutex-acquire" {
				return lockclient.Reply{}, errors.New("connection reset")
			}
			return lockclient.Reply{}, nil // not held
		}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithTimeout(900*time.Millisecond))
		defer c.Close()
		_, err := c.Mutex("a").TryLock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(1500 * time.Millisecond)
		assert.Len(t, w.sent(t, 3), 3, "the acquisition and twice the release")
	})
}

// A message that comes while an attempt is under way is not lost: the attempt
// may have been answered before it.
func TestMessageDuringAnAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		attempts := 0
		w := &wire{}
		w.reply = func(string, []string) (lockclient.Reply, error) {
			attempts++
			switch attempts {
			case 3: // woken by the first message; the second comes before the refusal
				w.deliver("0")
			case 4:
				return lockclient.Reply{}, nil
			}
			return integer(60000), nil
		}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() {
			w.sent(t, 3) // an attempt, the subscription, another attempt
			time.Sleep(50 * time.Millisecond)
			w.deliver("0")
		}()
		_, err := c.Mutex("a").Lock(ctx)
		assert.NoError(t, err)
	})
}

// That what is repeated was refused for good is told: nothing was given back.
func TestRefusedRepetitionIsToldAsGivenUp(t *testing.T) {
	refusal := &lockclient.ServerError{Text: "NOPERM this user has no permissions to run the 'incrby' command"}
	for _, one := range []struct {
		script string
		reply  lockclient.Reply
		err    error // of the repetition
		want   error
		change func(ctx context.Context, c *lockclient.Client) error
	}{
		{"semaphore-return", lockclient.Reply{}, refusal, refusal, release},
		{"semaphore-return", integer(0), nil, lockclient.ErrLost, release},
		{"latch-count-down", lockclient.Reply{}, refusal, refusal, countDown},
		{"latch-count-down", integer(-1), nil, lockclient.ErrNoLatch, countDown},
	} {
		bubble(t, func(t *testing.T) {
			asked := 0
			w := &wire{}
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				if script != one.script {
					return counted(script, keys)
				}
				if asked++; asked == 1 {
					return lockclient.Reply{}, errReset
				}
				return one.reply, one.err
			}
			var ends []lockclient.Event
			c := lockclient.New(w, lockclient.System(), lockclient.WithObserver(func(e lockclient.Event) {
				if e.Kind == lockclient.GivenBack {
					ends = append(ends, e)
				}
			}))
			defer c.Close()
			require.ErrorIs(t, one.change(t.Context(), c), lockclient.ErrUnknown)
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			require.Len(t, ends, 1, one.script)
			assert.ErrorIs(t, ends[0].Err, one.want, one.script)
			assert.Equal(t, 2, asked, "%s is not asked for again", one.script)
		})
	}
}

func release(ctx context.Context, c *lockclient.Client) error {
	p, err := c.Semaphore("s").Acquire(ctx, 1)
	if err != nil {
		return err
	}
	return p.Release(ctx)
}

func countDown(ctx context.Context, c *lockclient.Client) error {
	_, err := c.Latch("l").CountDown(ctx)
	return err
}

// What a cluster refuses is repeated while a slot moves, but no longer than the caller waits.
func TestCountsInACluster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked, answers := 0, 3
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if asked++; asked%answers != 0 {
				return lockclient.Reply{}, &lockclient.ServerError{Text: "CLUSTERDOWN The cluster is down"}
			}
			return counted(script, keys)
		}}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		h, err := c.PermitSemaphore("x").Acquire(t.Context(), time.Minute)
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
		p, err := c.Semaphore("s").Acquire(t.Context(), 1)
		require.NoError(t, err)
		require.NoError(t, p.Release(t.Context()))

		answers = math.MaxInt
		for _, wait := range []time.Duration{0, time.Second} {
			begun := time.Now()
			_, err = c.Semaphore("s").TryAcquire(t.Context(), 1, lockclient.Wait(wait))
			assert.ErrorContains(t, err, "CLUSTERDOWN")
			assert.LessOrEqual(t, time.Since(begun), wait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, err = c.Semaphore("s").Acquire(ctx, 1)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(begun))
	})
}

// Numbers of permits, and counts, that scripts cannot reckon with exactly are refused, and so are negative
// ones where they mean nothing.
func TestCountsHaveARange(t *testing.T) {
	w := &wire{reply: counted}
	c := lockclient.New(w, lockclient.System())
	defer c.Close()
	ctx, s, p := t.Context(), c.Semaphore("s"), c.PermitSemaphore("p")
	for _, n := range []int64{-1, 1<<53 + 1, math.MaxInt64} {
		_, err := s.Acquire(ctx, n)
		assert.ErrorContains(t, err, "is not from 0 to 9007199254740992")
		_, err = s.TrySetPermits(ctx, n)
		assert.ErrorContains(t, err, "is not from 0 to")
		_, err = p.TrySetPermits(ctx, n)
		assert.ErrorContains(t, err, "is not from 0 to")
		assert.ErrorContains(t, p.SetPermits(ctx, n), "is not from 0 to")
		_, err = c.Latch("l").TrySetCount(ctx, n)
		assert.ErrorContains(t, err, "is not from 1 to")
	}
	_, err := s.AddPermits(ctx, math.MinInt64)
	assert.ErrorContains(t, err, "is not from -9007199254740992 to 9007199254740992")
	assert.ErrorContains(t, p.AddPermits(ctx, 1<<53+1), "is not from -9007199254740992 to")
	assert.Empty(t, w.sent(t, 0))
}
