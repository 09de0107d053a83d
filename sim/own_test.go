package sim

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim/check"
	"minikv/trace"
)

// A lock that a test brings is seen to be stolen under its name. What it keeps elsewhere
// nobody sees, and then there is no verdict.
func TestTheftOfAnOwnLock(t *testing.T) {
	for name, c := range map[string]struct {
		prefix  string
		careful bool
		verdict check.Verdict
	}{
		"stolen":            {"", false, check.Violated},
		"ended by itself":   {"", true, check.Holds},
		"stolen elsewhere":  {"mine:", false, check.Unknown},
		"nothing elsewhere": {"mine:", true, check.Unknown},
	} {
		s := parsed(t, "world lock=own clients=2 rounds=1\nexpect theft=holds\nat 0s start c1\nat 500ms start c2\n"+
			"run for=9s seed=1\n")
		r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(ctx context.Context, client *Client) {
			to, key := client.Transports()[0], c.prefix+client.Key()
			_, _ = to.Do(ctx, key, "SET", key, client.ID(), "NX", "PX", "5000")
			b := client.Believes(0)
			_ = client.Sleep(ctx, time.Second)
			client.Ends(b, false)
			if got, err := to.Do(ctx, key, "GET", key); err == nil && (got.Text == client.ID() || !c.careful) {
				_, _ = to.Do(ctx, key, "DEL", key)
				_, _ = to.Do(ctx, key, "SET", key, client.ID(), "NX", "PX", "5000")
			}
		}}})
		require.NoError(t, err)
		require.Equal(t, c.verdict, r.Results[0].Verdict, "%s: %s", name, r.Results[0].Reason)
		if c.verdict == check.Unknown {
			require.Contains(t, r.Results[0].Reason, "Client.Key")
		}
	}
}

// A client that waits for next to nothing, time and again, is named, however many there are;
// one that waits for a microsecond only takes long.
func TestHaste(t *testing.T) {
	for wait, hasty := range map[time.Duration]bool{1: true, 50: true, time.Microsecond: false} {
		for _, clients := range []int{1, 20} {
			s := parsed(t, "world lock=own clients="+strconv.Itoa(clients)+"\nexpect exclusion=holds\n"+
				"run for=300ms seed=1\n")
			_, err := s.Run(context.Background(), Options{Own: &Own{Run: func(ctx context.Context, client *Client) {
				for wait := wait; client.Sleep(ctx, wait) == nil; {
					if client.ID() != "c1" {
						wait = time.Millisecond
					}
				}
			}}})
			if hasty {
				require.ErrorContains(t, err, ", as c1 goes on and on and waits for only "+wait.String()+" each time")
			} else {
				require.NoError(t, err)
			}
		}
	}
}

// Clients that take a lock with the same text have it one after the other: whose it is says who
// took it last.
func TestTheftOfOneText(t *testing.T) {
	s := parsed(t, "world lock=own clients=2 rounds=1\nexpect theft=holds\nat 0s start c1\nat 2s start c2\n"+
		"run for=9s seed=1\n")
	r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(ctx context.Context, client *Client) {
		to, key := client.Transports()[0], client.Key()
		_, _ = to.Do(ctx, key, "SET", key, "locked", "NX", "PX", "5000")
		b := client.Believes(0)
		_ = client.Sleep(ctx, time.Second)
		client.Ends(b, false)
		_, _ = to.Do(ctx, key, "DEL", key)
	}}})
	require.NoError(t, err)
	require.Equal(t, check.Holds, r.Results[0].Verdict, r.Results[0].Reason)
}

// A number is nobody's: it may be a count. A lock that keeps one under its name hears that.
func TestTheftOfANumber(t *testing.T) {
	s := parsed(t, "world lock=own clients=1 rounds=1\nexpect theft=holds\nat 0s start c1\nrun for=9s seed=1\n")
	r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(ctx context.Context, client *Client) {
		_, _ = client.Transports()[0].Do(ctx, client.Key(), "SET", client.Key(), "7258118402000", "NX")
		client.Ends(client.Believes(0), false)
	}}})
	require.NoError(t, err)
	require.Equal(t, check.Unknown, r.Results[0].Verdict)
	require.Contains(t, r.Results[0].Reason, "a text that is no number")
}

// Tokens of a lock that a test brings may not grow with its turns, as those of clocks
// that differ do not: a later turn has a lower one, and the resource refuses its writes.
func TestFencingOfTokensThatDoNotGrow(t *testing.T) {
	s := parsed(t, "world lock=own clients=2 rounds=1 fence=on\nexpect fencing=holds\nat 0s start c1\nat 6s start c2\n"+
		"run for=20s seed=1\n")
	r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(ctx context.Context, client *Client) {
		to, key, token, work := client.Transports()[0], client.Key(), uint64(1), time.Second
		if client.Name() == "c1" {
			token, work = 2, 8*time.Second // longer than the lock lasts
		}
		client.Asks()
		_, _ = to.Do(ctx, key, "SET", key, "locked", "NX", "PX", "5000")
		b := client.Believes(token)
		_ = client.Sleep(ctx, work)
		_, _ = client.Write(ctx, b)
		client.Ends(b, false)
	}}})
	require.NoError(t, err)
	require.Equal(t, check.Violated, r.Results[0].Verdict, r.Results[0].Reason)
	require.Contains(t, r.Results[0].Reason, "c2 got the lock with token 1, though c1 had 2 before")
}

// What is never counted is not audited.
func TestAuditOfAnOwnLock(t *testing.T) {
	_, err := ParseScenario("x.scenario", "world lock=own\nexpect leak=holds\nat 1s audit\nrun for=9s\n")
	require.EqualError(t, err,
		"x.scenario:3: lock=own: how servers count a lock that a test brings is unknown (usage: at TIME audit)")
}

// In a cluster an own client's transport goes where the slot of the key is, and follows it.
func TestOwnClientInCluster(t *testing.T) {
	s := parsed(t, "world lock=own cluster=2x0 clients=1 rounds=1\nexpect exclusion=holds\nat 0s start c1\n"+
		"at 1s move lock:1 m2 step=open for=2s keys=1s\nrun for=9s seed=1\n")
	var served, read []string
	_, err := s.Run(context.Background(), Options{
		Seed: s.Seed, Details: true,
		Observe: func(e *trace.Event, names []string) {
			if e.Kind == trace.Execute {
				served = append(served, names[e.Actor]+" "+e.Text)
			}
		},
		Own: &Own{Run: func(ctx context.Context, client *Client) {
			to, key := client.Transports(), client.Key()
			assert.Len(t, to, 1)
			for i := range 9 {
				_, err := to[0].Do(ctx, key, "APPEND", key, strconv.Itoa(i))
				assert.NoError(t, err)
				_ = client.Sleep(ctx, 500*time.Millisecond)
			}
			_, err := to[0].Do(ctx, key)
			assert.ErrorIs(t, err, lockclient.ErrNotSent)
			r, err := to[0].Do(ctx, key, "GET", key)
			assert.NoError(t, err)
			read = append(read, r.Text)
		}}})
	require.NoError(t, err)
	assert.Equal(t, []string{"012345678"}, read)
	all := strings.Join(served, "\n")
	assert.Contains(t, all, "m1 APPEND lock:1 0 = 1\n")
	assert.Contains(t, all, "m1 APPEND lock:1 5 = ASK 3430 m2:6379\nm2 ASKING = OK\nm2 APPEND lock:1 5 = 6\n")
	assert.Contains(t, all, "m2 APPEND lock:1 8 = 9\nm2 GET lock:1")
}

// What a cluster's failover takes with it, an own lock loses as lockclient's do.
func TestOwnLockInClusterThatFailsOver(t *testing.T) {
	s := parsed(t, "world lock=own cluster=3x1 clients=2 ttl=20s down-after=2s rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s hold r1\nat 0s start c1\nat 0s start c2\nat 4ms crash m1 for=10s\nrun for=8s\n")
	r, err := s.Run(context.Background(), Options{Seed: 1, Own: &Own{Run: func(ctx context.Context, client *Client) {
		for {
			r, err := client.Transports()[0].Do(ctx, client.Key(), "SET", client.Key(), client.ID(), "NX", "PX", "20000")
			if err == nil && r.Text == "OK" {
				break
			}
			if client.Sleep(ctx, 50*time.Millisecond) != nil {
				return
			}
		}
		b := client.Believes(0)
		_ = client.Sleep(ctx, 10*time.Second)
		client.Ends(b, false)
	}}})
	require.NoError(t, err)
	assert.Equal(t, 2, r.Grants)
	assert.Equal(t, check.Violated, r.Results[0].Verdict, r.Results[0].Reason)
}

// A client that starts when the first master is away asks who is master, and one that was there
// before asks when what it knows is a minute old, as go-redis does; until then requests to a
// master that neither answers nor refuses end with their deadlines.
func TestOwnClientOfAFrozenMaster(t *testing.T) {
	s := parsed(t, "world lock=own cluster=3x1 clients=2 rounds=1 down-after=2s\nexpect exclusion=holds\nat 0s start c1\n"+
		"at 2s pause m1 for=90s\nat 20s start c2\nrun for=80s\n")
	answered := map[string]time.Duration{}
	_, err := s.Run(context.Background(), Options{Seed: 1, Own: &Own{Run: func(ctx context.Context, client *Client) {
		rt := client.Runtime()
		for client.Sleep(ctx, 500*time.Millisecond) == nil {
			limited, cancel := rt.WithDeadline(ctx, rt.Mono()+time.Second)
			_, err := client.Transports()[0].Do(limited, client.Key(), "GET", client.Key())
			cancel()
			if _, done := answered[client.Name()]; !done && err == nil && rt.Mono() > 3*time.Second {
				answered[client.Name()] = rt.Mono()
			}
		}
	}}})
	require.NoError(t, err)
	assert.InDelta(t, 60*time.Second, answered["c1"], float64(3*time.Second))
	assert.InDelta(t, 20*time.Second, answered["c2"], float64(2*time.Second))
}

// A stall strikes a client of a test that says that it asks, and none that has its answer.
func TestStallOfAnOwnClient(t *testing.T) {
	type part = func(*Client)
	ask := func(client *Client) {
		key := client.Key()
		_, _ = client.Transports()[0].Do(client.c.context(), key, "SET", key, client.ID(), "NX", "PX", "5000")
	}
	asks, believes := (*Client).Asks, func(client *Client) { client.Believes(0) }
	for name, c := range map[string]struct {
		rounds [][]part
		struck bool
	}{
		"it asks":              {[][]part{{}, {asks, ask}}, true},
		"it holds":             {[][]part{{}, {asks, believes, ask}}, false},
		"it was refused":       {[][]part{{asks}, {ask}}, false},
		"nobody knows of that": {[][]part{{}, {ask}}, false},
	} {
		s := parsed(t, "world lock=own clients=1 rounds=2 think=1s delay=1ms\nexpect exclusion=holds\nat 0s start c1\n"+
			"at 0s stall c1 for=500ms\nrun for=20s seed=1\n")
		round := 0
		r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: &Own{Run: func(_ context.Context, client *Client) {
			for _, do := range c.rounds[round] {
				do(client)
			}
			round++
		}}})
		require.NoError(t, err)
		require.Equal(t, c.struck, len(r.Idle) == 0, name)
	}
}
