package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/trace"
)

// Requests of one client arrive in the order in which they were sent, unless the
// client has a pool of connections.
func TestRequestsOfAPoolOvertake(t *testing.T) {
	overtaken := func(pool string) (count int) {
		s := parsed(t, "world lock=own clients=1 rounds=1 delay=1ms..50ms pool="+pool+
			"\nexpect exclusion=holds\nrun for=9s seed=3\n")
		latest := int64(0)
		r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(ctx context.Context, c *Client) {
			for range 50 {
				c.Runtime().Go(func() { _, _ = c.Transports()[0].Do(ctx, "", "PING") })
			}
			_ = c.Sleep(ctx, time.Second)
		}}, Observe: func(e *trace.Event, names []string) {
			if e.Kind == trace.Execute && names[e.Actor] == "m1" {
				if e.A < latest {
					count++
				}
				latest = max(latest, e.A)
			}
		}})
		require.NoError(t, err)
		require.Greater(t, r.Events, uint64(150))
		return count
	}
	require.Zero(t, overtaken("off"))
	require.Greater(t, overtaken("on"), 10)
}

// What a server has not answered when it crashes ends then, though later requests had been
// answered sooner.
func TestRequestsOfAPoolEndWithTheirServer(t *testing.T) {
	s := parsed(t, "world lock=own clients=1 rounds=1 delay=1ms..50ms pool=on\nexpect exclusion=holds\n"+
		"at 0s start c1\nat 25ms crash m1\nrun for=9s seed=3\n")
	answered, reset := 0, 0
	_, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(ctx context.Context, c *Client) {
		for range 50 {
			c.Runtime().Go(func() {
				if _, err := c.Transports()[0].Do(ctx, "", "PING"); err != nil {
					reset++
				} else {
					answered++
				}
			})
		}
		_ = c.Sleep(ctx, time.Second)
	}}})
	require.NoError(t, err)
	require.Greater(t, answered, 10)
	require.Greater(t, reset, 10)
	require.Equal(t, 50, answered+reset)
}

// A request that was sent twice arrives behind the first one also in a pool.
func TestPool(t *testing.T) {
	s := parsed(t, "world clients=3 lock=mutex ttl=3s hold=100ms..2s think=0s..100ms delay=1ms..5ms pool=on\n"+
		"expect exclusion=holds\nfaults duplicate delay=10ms..100ms\nrun for=60s\n")
	lua := NewLua()
	for seed := range uint64(50) {
		at := time.Duration(0)
		r, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua, Observe: func(e *trace.Event, _ []string) {
			require.GreaterOrEqual(t, e.At, at, "seed %d: time goes back", seed)
			at = e.At
		}})
		require.NoError(t, err)
		require.True(t, r.AsExpected(), "seed %d: %v", seed, r.Results)
		require.Greater(t, r.Grants, 5)
	}
}

// The sessions of a pool are used again: there are as many as requests under way.
func TestSessionsOfAPoolAreUsedAgain(t *testing.T) {
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1, Pool: true,
		Delay: Range{Lo: time.Millisecond, Hi: time.Millisecond}})
	c := oneClient(w, &Workload{Kind: "mutex"})
	of := &Client{c: c}
	for range 3 {
		c.p.spawn(func() {
			for range 20 {
				_, err := of.Transports()[0].Do(context.Background(), "", "PING")
				require.NoError(t, err)
			}
		})
	}
	require.NoError(t, w.Run(time.Second))
	w.Stop()
	require.Len(t, c.p.conns[0].ends, firstLent+3)
}

// With abort=on a request without an answer ends after 5 s, and its connection with it, wherever the
// answer is. What ends sooner by itself ends as it would without.
func TestConnectionsWithoutAnAnswerClose(t *testing.T) {
	for _, trouble := range []string{"partition c1 m1 for=20s", "partition m1 c1 for=10s way=one", "pause m1 for=10s",
		"delay c1 m1 next=1 by=10s", "delay m1 c1 next=1 by=10s what=reply", "slow m1 for=30s by=10s",
		"drop c1 m1 next=1"} {
		s := parsed(t, "world clients=1 rounds=1 lock=own delay=1ms pool=on abort=on\nexpect exclusion=holds\n"+
			"at 0s start c1\nat 100ms "+trouble+"\nrun for=60s seed=1\n")
		said := 0
		_, err := s.Run(t.Context(), Options{Own: &Own{Run: func(ctx context.Context, c *Client) {
			rt, to := c.Runtime(), c.Transports()[0]
			_ = c.Sleep(ctx, 200*time.Millisecond)
			rt.Go(func() {
				limited, cancel := rt.WithDeadline(ctx, rt.Mono()+3*time.Second)
				defer cancel()
				_ = c.Sleep(ctx, time.Millisecond)
				_, _ = to.Do(limited, "a", "INCR", "a")
				said++
			})
			_, err := to.Do(ctx, "k", "INCR", "k")
			require.ErrorIs(t, err, errReset, trouble)
			require.Equal(t, 5200*time.Millisecond, rt.Mono(), trouble)
			_ = c.Sleep(ctx, 30*time.Second)
			r, err := to.Do(ctx, "k", "GET", "nothing")
			require.NoError(t, err)
			require.Zero(t, r)
			require.Equal(t, placeClosed, (*c.c.p.conns[0].lent)[0], trouble)
			said++
		}}})
		require.NoError(t, err)
		require.Equal(t, 2, said, trouble)
	}
}
