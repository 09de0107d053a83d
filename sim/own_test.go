package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
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
// that differ do not: the write of a turn that is over has the higher one.
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
	require.Contains(t, r.Results[0].Reason, "stale write of c1")
}

// What is never counted is not audited.
func TestAuditOfAnOwnLock(t *testing.T) {
	_, err := ParseScenario("x.scenario", "world lock=own\nexpect leak=holds\nat 1s audit\nrun for=9s\n")
	require.EqualError(t, err,
		"x.scenario:3: lock=own: how servers count a lock that a test brings is unknown (usage: at TIME audit)")
}
