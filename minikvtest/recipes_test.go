package minikvtest_test

import (
	"context"
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/minikvtest"
	"minikv/topology"
)

// The lock of the recipes: a token in a string with a TTL, and a script that
// compares before it deletes.

func take(ctx context.Context, c redis.Cmdable, key, token string, ttl time.Duration) (bool, error) {
	return c.SetNX(ctx, key, token, ttl).Result()
}

var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

func release(ctx context.Context, c redis.Cmdable, key, token string) (bool, error) {
	n, err := compareAndDelete.Run(ctx, c, []string{key}, token).Int()
	return n == 1, err
}

// connect makes a client that ends with the test and sends nothing twice by itself.
func connect(t *testing.T, s *minikvtest.Servers) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addrs()[0], Dialer: s.DialContext, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A lease ends
//
// Time stands still until the test moves it. So a lease of half a minute ends at
// once, and not a millisecond early.
func TestRecipeLeaseEnds(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t, minikvtest.Virtual())
	a, b := connect(t, s.Servers), connect(t, s.Servers)

	taken, err := take(ctx, a, "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)
	s.Clock().Advance(30 * time.Second)
	taken, err = take(ctx, b, "orders:42", "b", 30*time.Second)
	require.NoError(t, err)
	require.False(t, taken, "Redis lets a key live through its last millisecond")

	s.Clock().Advance(time.Millisecond)
	taken, err = take(ctx, b, "orders:42", "b", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)
	freed, err := release(ctx, a, "orders:42", "a")
	require.NoError(t, err)
	require.False(t, freed, "a late release must not end the lock of another")
}

// Timers of the client, too
//
// In a bubble of testing/synctest the client's own timers follow the same time as the
// server's, and nobody has to move a clock. An hour of a watchdog that renews every ten
// seconds is tested in milliseconds.
func TestRecipeWatchdogInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := minikvtest.Run(t)
		transport, err := goredis.New(ctx, connect(t, s.Servers))
		require.NoError(t, err)
		locks := lockclient.New(transport, lockclient.System())
		defer locks.Close()

		held, err := locks.Mutex("orders:42").Lock(ctx)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Greater(t, s.TTL("orders:42"), 10*time.Second, "renewed all the time")
		require.NoError(t, held.Unlock(ctx))
		require.False(t, s.Exists("orders:42"))
	})
}

// Two contend, and nobody sleeps
//
// WaitBlocked returns once the second client really waits, here as a subscriber of
// the lock's channel. Then the first releases, and the second must wake.
func TestRecipeContention(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t)
	var clients [2]*lockclient.Client
	for i := range clients {
		transport, err := goredis.New(ctx, connect(t, s.Servers))
		require.NoError(t, err)
		clients[i] = lockclient.New(transport, lockclient.System())
		defer clients[i].Close()
	}
	first, err := clients[0].Mutex("orders:42").Lock(ctx)
	require.NoError(t, err)

	second := make(chan error)
	go func() {
		second <- clients[1].Mutex("orders:42").Do(ctx, func(context.Context, *lockclient.Held) error { return nil })
	}()
	s.WaitBlocked(t, "orders:42", 1)
	lock, _ := s.Lock("orders:42")
	require.Equal(t, "mutex", lock.Kind)
	require.Equal(t, first.Owner(), lock.Owner)
	require.Equal(t, 1, lock.Waiters)

	require.NoError(t, first.Unlock(ctx))
	require.NoError(t, <-second)
	require.Empty(t, s.Overlaps("orders:42"))
}

// The reply to an acquisition gets lost
//
// The server has granted the lock, but the client does not know. What the client does
// next decides whether the lock stays taken until its lease ends.
func TestRecipeLostReply(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t)
	c := connect(t, s.Servers)

	s.Inject(minikvtest.On("SET").Key("orders:42").Nth(1).DropReply().Close())
	_, err := take(ctx, c, "orders:42", "a", 30*time.Second)
	require.Error(t, err)
	s.CheckGet(t, "orders:42", "a") // nobody knows that it is held

	taken, err := take(ctx, c, "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	require.False(t, taken, "it stands in its own way")
	freed, err := release(ctx, c, "orders:42", "a") // so: after an unknown outcome, release by token
	require.NoError(t, err)
	require.True(t, freed)
}

// A release gets lost
//
// First the request gets lost, then the reply. The client cannot tell the two apart, so
// only a release that may be repeated is right in both cases.
func TestRecipeLostRelease(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t)
	c := connect(t, s.Servers)
	for _, lost := range []minikvtest.Fault{
		minikvtest.On("EVALSHA").DropRequest().Close().Times(1),
		minikvtest.On("EVALSHA").DropReply().Close().Times(1),
	} {
		_, err := take(ctx, c, "orders:42", "a", 30*time.Second)
		require.NoError(t, err)
		require.NoError(t, compareAndDelete.Load(ctx, c).Err())
		rule := s.Inject(lost)
		_, err = release(ctx, c, "orders:42", "a")
		require.Error(t, err)
		require.Equal(t, 1, rule.Struck())

		_, err = release(ctx, c, "orders:42", "a")
		require.NoError(t, err)
		require.False(t, s.Exists("orders:42"))
	}
}

// The holder learns that it has lost the lock
//
// Somebody deletes the key, or the server restarts without it. At the next renewal
// the holder's context must end.
func TestRecipeLostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := minikvtest.Run(t)
		transport, err := goredis.New(ctx, connect(t, s.Servers))
		require.NoError(t, err)
		locks := lockclient.New(transport, lockclient.System())
		defer locks.Close()

		held, err := locks.Mutex("orders:42").Lock(ctx)
		require.NoError(t, err)
		s.Del("orders:42")
		begun := time.Now()
		<-held.Lost()
		require.ErrorIs(t, context.Cause(held.Context()), lockclient.ErrLost)
		require.LessOrEqual(t, time.Since(begun), 11*time.Second, "at the next renewal")
	})
}

// A holder stalls past its lease
//
// The server delays the holder's next command until the lease has ended and somebody
// else holds the lock. Only the comparison in the script then protects the new holder.
func TestRecipeStalledHolder(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t, minikvtest.Virtual())
	a, b := connect(t, s.Servers), connect(t, s.Servers)
	_, err := take(ctx, a, "orders:42", "a", 5*time.Second)
	require.NoError(t, err)

	stall := s.Inject(minikvtest.On("EVALSHA").Nth(1).Delay(10 * time.Second))
	late := make(chan bool)
	go func() {
		freed, _ := release(ctx, a, "orders:42", "a")
		late <- freed
	}()
	stall.Wait(t, 1)
	s.Clock().Advance(6 * time.Second)
	taken, err := take(ctx, b, "orders:42", "b", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)
	s.Clock().Advance(4 * time.Second)
	require.False(t, <-late)
	s.CheckGet(t, "orders:42", "b")
}

// A release in two steps ends another's lock
//
// GET says that the lock is still the client's own; when DEL arrives it no longer is.
// Overlaps does not show that, since a DEL does not say in whose name it comes. Check
// whether the other client's lock is still there.
func TestRecipeReleaseInTwoSteps(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t, minikvtest.Virtual())
	a, b := connect(t, s.Servers), connect(t, s.Servers)
	_, err := take(ctx, a, "orders:42", "a", 5*time.Second)
	require.NoError(t, err)

	stall := s.Inject(minikvtest.On("DEL").Nth(1).Delay(10 * time.Second))
	released := make(chan error)
	go func() {
		if owner, err := a.Get(ctx, "orders:42").Result(); err != nil || owner != "a" {
			released <- err
			return
		}
		released <- a.Del(ctx, "orders:42").Err()
	}()
	stall.Wait(t, 1)
	s.Clock().Advance(6 * time.Second)
	taken, err := take(ctx, b, "orders:42", "b", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)
	s.Clock().Advance(4 * time.Second)
	require.NoError(t, <-released)
	require.False(t, s.Exists("orders:42"), "b has lost it, and is told nothing")
}

// Which commands were sent
//
// The trace has each command of a client with its reply, even if a rule has struck it.
// It does not have what scripts call, nor what the test does by itself. Clients begin
// with HELLO and CLIENT, which are in it too: so select the commands of one key.
func TestRecipeCommandsSent(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t)
	c := connect(t, s.Servers)
	_, err := take(ctx, c, "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	_, err = release(ctx, c, "orders:42", "a")
	require.NoError(t, err)

	var sent []string
	for _, e := range s.Trace() {
		if e.Kind == topology.Commanded && slices.Contains(e.Command, "orders:42") {
			sent = append(sent, strings.ToUpper(e.Command[0])+" → "+e.Reply)
		}
	}
	require.Equal(t, []string{
		"SET → OK", "EVALSHA → (error) NOSCRIPT No matching script. Please use EVAL.", "EVAL → (integer) 1",
	}, sent)
}

// Subtests share servers
//
// In gives a subtest the servers of its parent; subtests may run in parallel. They keep
// apart by their keys. They share the clock, and any rule that names no key.
func TestRecipeSubtests(t *testing.T) {
	s := minikvtest.Run(t)
	for _, key := range []string{"orders:1", "orders:2", "orders:3"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s := s.In(t)
			s.Inject(minikvtest.On("SET").Key(key).Nth(1).Error("LOADING Redis is loading the dataset in memory"))
			c := connect(t, s.Servers)
			_, err := take(t.Context(), c, key, "a", 30*time.Second)
			require.ErrorContains(t, err, "LOADING")
			taken, err := take(t.Context(), c, key, "a", 30*time.Second)
			require.NoError(t, err)
			require.True(t, taken)
			s.CheckGet(t, key, "a")
		})
	}
}

// A client that insists on TLS
//
// With the option TLS the servers' ports speak TLS and nothing else, those of clusters and
// Sentinels as well. TLSConfig is a client's side of it. In other languages,
// `minikv exec --tls DIR` makes the certificates and says in its environment where they are,
// in REDIS_TLS_CA, REDIS_TLS_CERT and REDIS_TLS_KEY; REDIS_URL then begins with rediss.
func TestRecipeTLS(t *testing.T) {
	ctx := t.Context()
	insists := func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }
	s := minikvtest.RunCluster(t, 3, 1, minikvtest.TLS(insists))
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs(), TLSConfig: s.TLSConfig()})
	defer func() { _ = c.Close() }()
	for _, key := range []string{"orders:42", "orders:43", "orders:44"} { // on several masters
		taken, err := take(ctx, c, key, "a", 30*time.Second)
		require.NoError(t, err)
		require.True(t, taken)
		s.NodeFor(key).CheckGet(t, key, "a")
	}

	stranger := s.TLSConfig()
	stranger.Certificates = nil
	other := redis.NewClient(&redis.Options{Addr: s.Addrs()[0], TLSConfig: stranger, MaxRetries: -1})
	defer func() { _ = other.Close() }()
	require.ErrorContains(t, other.Ping(ctx).Err(), "certificate required")
}

// The server forgets scripts, or asks for patience
//
// A restart empties the script cache, so EVALSHA gets NOSCRIPT. A server that loads its
// data, or runs somebody's long script, refuses commands for a while. A lock client must
// cope with both.
func TestRecipeErrors(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t)
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MinRetryBackoff: time.Millisecond})
	defer func() { _ = c.Close() }()
	_, err := take(ctx, c, "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	require.NoError(t, compareAndDelete.Load(ctx, c).Err())

	s.Restart()
	refusal := s.Inject(minikvtest.On("EVAL*").Times(2).Error("LOADING Redis is loading the dataset in memory"))
	freed, err := release(ctx, c, "orders:42", "a")
	require.NoError(t, err)
	require.True(t, freed)
	require.Equal(t, 2, refusal.Struck())
}

// A lock needs few rights
//
// In production the lock's user often has no more rights than it needs. A right that was
// forgotten, here that of renewal, shows as NOPERM, and ACL LOG names the command.
func TestRecipeRights(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.Run(t, minikvtest.User("locker", "on", ">secret", "~orders:*", "+set", "+get", "+del", "+evalsha",
		"+eval"))
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "locker", Password: "secret", DisableIdentity: true})
	defer func() { _ = c.Close() }()

	taken, err := take(ctx, c, "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)
	err = c.PExpire(ctx, "orders:42", 30*time.Second).Err()
	require.ErrorContains(t, err, "NOPERM this user has no permissions to run the 'pexpire' command")
	freed, err := release(ctx, c, "orders:42", "a")
	require.NoError(t, err)
	require.True(t, freed)
	_, err = take(ctx, c, "users:42", "a", 30*time.Second)
	require.ErrorContains(t, err, "NOPERM this user has no permissions to access one of the keys used as arguments")

	require.Contains(t, s.Do("ACL", "LOG"), "pexpire")
}

// A failover grants a lock twice
//
// The master dies before its replica has heard of the lock. Overlaps shows what the two
// clients were told, and until when both believe it.
func TestRecipeFailover(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.RunReplicated(t, 1, minikvtest.Virtual())
	master := s.Node("m1")
	master.HoldReplication()
	taken, err := take(ctx, connect(t, s), "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)

	next := master.Failover(minikvtest.Crash())
	b := redis.NewClient(&redis.Options{Addr: next.Addr()})
	defer func() { _ = b.Close() }()
	s.Clock().Advance(time.Second)
	taken, err = take(ctx, b, "orders:42", "b", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)

	overlaps := s.Overlaps("orders:42")
	require.Len(t, overlaps, 1)
	require.Equal(t, "orders:42 was held by a and by b from 1.000s to 30.000s", overlaps[0].String())
}

// A quorum of independent masters
//
// Two of five masters may be down. If a third forgets what it has granted, another client
// gathers a majority too. That is why Redlock wants it to stay down for a lease.
func TestRecipeQuorum(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.RunNodes(t, 5, minikvtest.Virtual())
	majority := func(token string) (granted int) {
		for _, n := range s.Nodes() {
			c := redis.NewClient(&redis.Options{Addr: n.Addr(), MaxRetries: -1, DialerRetries: 1})
			if taken, err := take(ctx, c, "cron", token, 30*time.Second); err == nil && taken {
				granted++
			}
			_ = c.Close()
		}
		return granted
	}
	s.Node("m4").Kill()
	s.Node("m5").Kill()
	require.Equal(t, 3, majority("a"))
	require.Equal(t, 0, majority("b"))

	s.Node("m3").Restart(minikvtest.LoseData())
	s.Node("m4").Restart()
	s.Node("m5").Restart()
	require.Equal(t, 3, majority("b"), "one that forgot, two that were away")
	require.Len(t, s.Overlaps("cron"), 1)
}

// A cluster moves the lock's slot
//
// The key moves to another node while the lock is held. MOVED sends a cluster client
// after it; the lock must be the same one there.
func TestRecipeSlotMoves(t *testing.T) {
	ctx := t.Context()
	s := minikvtest.RunCluster(t, 3, 0)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs()})
	defer func() { _ = c.Close() }()
	taken, err := take(ctx, c, "orders:42", "a", 30*time.Second)
	require.NoError(t, err)
	require.True(t, taken)

	from := s.NodeFor("orders:42")
	for _, to := range s.Nodes() {
		if to != from {
			to.MoveSlot("orders:42")
			break
		}
	}
	require.NotEqual(t, from, s.NodeFor("orders:42"))
	taken, err = take(ctx, c, "orders:42", "b", 30*time.Second)
	require.NoError(t, err)
	require.False(t, taken)
	freed, err := release(ctx, c, "orders:42", "a")
	require.NoError(t, err)
	require.True(t, freed)
}
