package lockclient_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// lagging is a Transport to a master whose only replica confirms some scripts.
type lagging struct {
	wire
	takes    time.Duration // the script and its confirmation
	confirms func(script string) bool
}

func (l *lagging) EvalReplicated(
	ctx context.Context, script *lockclient.Script, keys, args []string, _ time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	r, err = l.Eval(ctx, script, keys, args)
	if l.confirms(script.Name) {
		confirmed = 1
	}
	select {
	case <-time.After(l.takes):
		return r, 1, confirmed, err
	case <-ctx.Done():
		return lockclient.Reply{}, 1, 0, ctx.Err()
	}
}

// A confirmation may take a second more than WithTimeout has any request take.
func TestConfirmationHasTimeOfItsOwn(t *testing.T) {
	for takes, want := range map[time.Duration]error{
		2999 * time.Millisecond: nil, 3001 * time.Millisecond: lockclient.ErrUnknown,
	} {
		bubble(t, func(t *testing.T) {
			w := &lagging{wire: wire{reply: free, topology: lockclient.Topology{Replicas: true}}, takes: takes}
			w.confirms = func(string) bool { return true }
			c := lockclient.New(w, lockclient.System(), lockclient.WithTimeout(2*time.Second))
			defer c.Close()
			_, err := c.Mutex("a").Lock(t.Context())
			require.ErrorIs(t, err, want, takes)
		})
	}
}

// With RequireReplicas a replica must confirm even where the master knows of none.
func TestRequireReplicas(t *testing.T) {
	required := []lockclient.Option{lockclient.RequireReplicas(1)}
	replicas := lockclient.Topology{Replicas: true}
	for name, w := range map[string]struct {
		option   []lockclient.Option
		topology lockclient.Topology
		want     error
	}{
		"by default":     {nil, replicas, nil},
		"required":       {required, replicas, lockclient.ErrReplication},
		"not known of":   {required, lockclient.Topology{}, lockclient.ErrReplication},
		"without either": {nil, lockclient.Topology{}, nil},
	} {
		bubble(t, func(t *testing.T) {
			c := lockclient.New(&alone{wire{reply: free, topology: w.topology}}, lockclient.System(), w.option...)
			defer c.Close()
			_, err := c.Mutex("a").Lock(t.Context())
			require.ErrorIs(t, err, w.want, name)
		})
	}
	bubble(t, func(t *testing.T) {
		w := &lagging{wire: wire{reply: free}, confirms: func(string) bool { return true }}
		c := lockclient.New(w, lockclient.System(), lockclient.RequireReplicas(1))
		defer c.Close()
		_, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err, "a replica that Topology does not know of is asked")
	})
	bubble(t, func(t *testing.T) {
		c := lockclient.New(&wire{reply: free}, lockclient.System(), lockclient.RequireReplicas(1))
		defer c.Close()
		_, err := c.Mutex("a").Lock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrReplication, "over a Transport that cannot tell")
		require.ErrorIs(t, err, lockclient.ErrNotSent)
	})
}

// With RequireReplicas so many must confirm, however many the master knows of, and at least one.
func TestRequiredReplicas(t *testing.T) {
	for _, c := range []struct {
		required, known, confirmed int64
		want                       error
	}{
		{2, 2, 2, nil},
		{2, 3, 2, nil},
		{2, 2, 1, lockclient.ErrReplication},
		{2, 1, 1, lockclient.ErrReplication},
		{2, 0, 0, lockclient.ErrReplication},
		{0, 2, 1, nil},
		{0, 0, 0, lockclient.ErrReplication},
		{-1, 0, 0, lockclient.ErrReplication},
	} {
		bubble(t, func(t *testing.T) {
			w := &confirming{wire{reply: free, topology: lockclient.Topology{Replicas: true}}, c.known, c.confirmed}
			client := lockclient.New(w, lockclient.System(), lockclient.RequireReplicas(int(c.required)))
			defer client.Close()
			_, err := client.Mutex("a").TryLock(t.Context())
			require.ErrorIs(t, err, c.want, "%+v", c)
			_, err = client.Semaphore("s").TryAcquire(t.Context(), 1)
			require.ErrorIs(t, err, c.want, "%+v", c)
		})
	}
}

// confirming is a master with replicas.
type confirming struct {
	wire
	known, confirmed int64
}

func (c *confirming) EvalReplicated(
	ctx context.Context, s *lockclient.Script, keys, args []string, _ time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	r, err = c.Eval(ctx, s, keys, args)
	return r, c.known, c.confirmed, err
}

// alone is a master that knows of no replica.
type alone struct{ wire }

func (a *alone) EvalReplicated(
	ctx context.Context, s *lockclient.Script, keys, args []string, _ time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	r, err = a.Eval(ctx, s, keys, args)
	return r, 0, 0, err
}

// A renewal that no replica has may be lost with the master: the lease before it
// counts, the next period tries again, and Extend says so.
func TestUnconfirmedRenewalIsNotCountedOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &lagging{wire: wire{reply: free, topology: lockclient.Topology{Replicas: true}}}
		w.confirms = func(script string) bool { return script == "mutex-acquire" }
		var unrenewed atomic.Int64
		c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(30*time.Second),
			lockclient.WithObserver(func(e lockclient.Event) {
				if e.Kind == lockclient.Unrenewed {
					assert.ErrorIs(t, e.Err, lockclient.ErrReplication)
					unrenewed.Add(1)
				}
			}))
		begun := time.Now()
		h, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		until := h.Until()
		require.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrReplication)
		require.Equal(t, until, h.Until())
		<-h.Lost()
		assert.InDelta(t, 30, time.Since(begun).Seconds(), 1)
		assert.Equal(t, int64(2), unrenewed.Load(), "after 10 and 20 s")
	})
}

// Nor is what an unlock leaves to the acquisitions around it: no replica is asked for it.
func TestUnconfirmedUnlockProlongsNothing(t *testing.T) {
	for replicas, prolongs := range map[bool]bool{true: false, false: true} {
		bubble(t, func(t *testing.T) {
			w := &lagging{wire: wire{topology: lockclient.Topology{Replicas: replicas}}}
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				if script == "mutex-release" {
					return integer(0), nil // it is still held
				}
				return free(script, keys)
			}
			w.confirms = func(script string) bool { return script == "mutex-acquire" }
			c := lockclient.New(w, lockclient.System())
			defer c.Close()
			outer, err := c.Mutex("a").Lock(t.Context(), lockclient.Lease(time.Minute))
			require.NoError(t, err)
			inner, err := c.Mutex("a").Lock(outer.Context(), lockclient.Lease(time.Minute))
			require.NoError(t, err)
			until := outer.Until()
			time.Sleep(10 * time.Second)
			require.NoError(t, inner.Unlock(t.Context()))
			assert.Equal(t, prolongs, outer.Until() > until, "replicas: %v", replicas)
		})
	}
}

// What changes a count is repeated as the same request until a replica has it: until
// then a failover would lose it, and one that lost it is made good.
func TestUnconfirmedCountsAreRepeated(t *testing.T) {
	for _, one := range []struct {
		script string
		change func(ctx context.Context, c *lockclient.Client) error
	}{
		{"semaphore-withdraw", func(ctx context.Context, c *lockclient.Client) error {
			_, err := c.Semaphore("s").TryAcquire(ctx, 1)
			return err
		}},
		{"semaphore-return", func(ctx context.Context, c *lockclient.Client) error {
			p, err := c.Semaphore("s").TryAcquire(ctx, 1)
			if err != nil {
				return err
			}
			return p.Release(ctx)
		}},
		{"latch-count-down", func(ctx context.Context, c *lockclient.Client) error {
			_, err := c.Latch("l").CountDown(ctx)
			return err
		}},
	} {
		bubble(t, func(t *testing.T) {
			w := &lagging{wire: wire{topology: lockclient.Topology{Replicas: true}}}
			asked := 0
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				if script == one.script {
					asked++
				}
				if script == one.script && asked == 2 {
					return lockclient.Reply{}, lockclient.ErrNotSent
				}
				return counted(script, keys)
			}
			w.confirms = func(script string) bool {
				switch script {
				case "semaphore-acquire":
					return one.script == "semaphore-return"
				case one.script:
					return asked == 4
				}
				return true
			}
			c := lockclient.New(w, lockclient.System())
			defer c.Close()
			require.ErrorIs(t, one.change(t.Context(), c), lockclient.ErrReplication)
			time.Sleep(time.Hour)
			var requests []string
			for _, line := range w.sent(t, 4) {
				if strings.HasPrefix(line, one.script) {
					requests = append(requests, line)
				}
			}
			assert.Len(t, requests, 4, "%s: three that no replica has, or were not sent, and one that is confirmed", one.script)
			assert.Len(t, slices.Compact(requests), 1, one.script)
		})
	}
}

// That there is no latch is nothing that a replica has to confirm.
func TestMissingLatchIsNotConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &lagging{wire: wire{topology: lockclient.Topology{Replicas: true}}}
		w.reply = func(string, []string) (lockclient.Reply, error) { return integer(-1), nil }
		w.confirms = func(string) bool { return false }
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		_, err := c.Latch("l").CountDown(t.Context())
		require.ErrorIs(t, err, lockclient.ErrNoLatch)
		require.NotErrorIs(t, err, lockclient.ErrReplication)
		time.Sleep(time.Hour)
		assert.Len(t, w.sent(t, 2), 2, "the request, and what ends its record")
	})
}
