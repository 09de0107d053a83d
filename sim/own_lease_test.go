package sim

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
)

// takesOnce is a lock that a client takes with a command, renews with another every second,
// and never gives back.
func takesOnce(take, renew []string) *Own {
	return &Own{Run: func(ctx context.Context, c *Client) {
		c.Asks()
		for {
			r, err := c.Transports()[0].Do(ctx, c.Key(), take...)
			if err == nil && (r.Text == "OK" || r.Int == 1) {
				break
			}
			if c.Sleep(ctx, 50*time.Millisecond) != nil {
				return
			}
		}
		c.Believes(0)
		for c.Sleep(ctx, time.Second) == nil {
			_, _ = c.Transports()[0].Do(ctx, c.Key(), renew...)
		}
	}}
}

// A holder crashes, and a lock that a test brings is free after its TTL; never, if a renewal
// has taken that away. Of one that has no TTL by design nothing is said.
func TestLeaseOfAnOwnLock(t *testing.T) {
	const hash = "if redis.call('exists', KEYS[1]) == 1 then return 0 end " +
		"redis.call('hset', KEYS[1], 'mine', 1) redis.call('pexpire', KEYS[1], 3000) return 1"
	set := []string{"SET", "lock:1", "mine", "NX", "PX", "3000"}
	for what, c := range map[string]struct {
		take, renew []string
		verdict     check.Verdict
		reason      string
	}{
		"keeps its TTL": {set, []string{"PEXPIRE", "lock:1", "3000"}, check.Holds, "the lock of c1 was free at "},
		"loses it": {set, []string{"SET", "lock:1", "mine"}, check.Violated,
			"nobody got the lock of c1 as it had lost its TTL"},
		"loses it as a hash": {[]string{"EVAL", hash, "1", "lock:1"}, []string{"PERSIST", "lock:1"}, check.Violated,
			"nobody got the lock of c1 as it had lost its TTL"},
		"never had one": {[]string{"SETNX", "lock:1", "mine"}, []string{"GET", "lock:1"}, check.Unknown,
			"no lock of a crashed holder was granted again"},
		"is a date": {[]string{"SETNX", "lock:1", "7258118402000"}, []string{"GET", "lock:1"}, check.Unknown,
			"no lock of a crashed holder was granted again"},
	} {
		s := parsed(t, "world lock=own clients=2 ttl=3s delay=1ms\nexpect lease=holds\nat 0s start c1\n"+
			"at 2500ms crash c1\nat 3s start c2\nrun for=20s seed=1\n")
		own := takesOnce(c.take, c.renew)
		r, err := s.Run(context.Background(), Options{Seed: s.Seed, Own: own})
		require.NoError(t, err)
		require.Equal(t, c.verdict, r.Results[0].Verdict, what)
		require.Contains(t, r.Results[0].Reason, c.reason, what)
	}
}

// A lock of the library whose key has lost its TTL by hand stays for ever as well. One that
// somebody removes soon enough is no broken promise.
func TestLeaseOfALockWithoutTTL(t *testing.T) {
	for _, kind := range []string{"mutex", "fenced", "simple", "fair", "nonreentrant", "spin"} {
		for _, freed := range []bool{false, true} {
			by := ""
			if freed {
				by = "at 500ms run m1 DEL lock:1\n"
			}
			s := parsed(t, "world lock="+kind+" ttl=3s renew=off hold=2s rounds=1\nexpect lease=holds\nat 0s start c1\n"+
				"at 100ms run m1 PERSIST lock:1\nat 200ms crash c1\n"+by+"at 600ms start c2\nrun for=20s seed=1\n")
			r, err := s.Run(context.Background(), Options{Seed: s.Seed})
			require.NoError(t, err)
			want := check.Violated
			if freed {
				want = check.Unknown
			}
			require.Equal(t, want, r.Results[0].Verdict, kind+" "+strconv.FormatBool(freed)+": "+r.Results[0].Reason)
		}
	}
}
