package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
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
	p, err := s.Acquire(ctx, 2)
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
	lines := w.sent(t, 16)
	raw := rawID(t, h.Owner())
	for i, line := range lines {
		line = strings.ReplaceAll(line, raw, "RAW")
		lines[i] = dates.ReplaceAllString(ids.ReplaceAllString(line, "HEX"), "DATE")
	}
	return lines
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
		"semaphore-acquire s | 2",
		"semaphore-return s redisson_sc:{s} | 2 PUBLISH",
		"semaphore-drain s | ",
		"GET s",
		"latch-set l redisson_countdownlatch__channel__{l} | 1 2 PUBLISH",
		"latch-count-down l redisson_countdownlatch__channel__{l} | 0 PUBLISH",
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
		"semaphore-acquire s | 2",
		"semaphore-return s redisson_sc:{s} | 2",
		"semaphore-drain s | ",
		"GET s",
		"latch-set l redisson_countdownlatch__channel__{l} | 1 2",
		"latch-count-down l redisson_countdownlatch__channel__{l} | 0",
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

// A release that Redis refused at the door is repeated; an error out of the
// middle of a script is not, as the script may have given the permits back.
func TestReleaseIsRepeatedOnlyIfNotRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for text, releases := range map[string]int{"LOADING the dataset": 2, "NOPERM this channel": 1} {
			refused := false
			w := &wire{}
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				if script == "semaphore-return" && !refused {
					refused = true
					return lockclient.Reply{}, &lockclient.ServerError{Text: text}
				}
				return counted(script, keys)
			}
			c := lockclient.New(w, lockclient.System())
			p, err := c.Semaphore("s").Acquire(t.Context(), 1)
			require.NoError(t, err)
			var told *lockclient.ServerError
			require.ErrorAs(t, p.Release(t.Context()), &told)
			time.Sleep(1500 * time.Millisecond)
			assert.Len(t, w.sent(t, 1), 1+releases, text)
			c.Close()
		}
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
