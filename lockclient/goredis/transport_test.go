package goredis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
	"minikv/minikvtest"
)

// onEachServer runs a test on each server.
func onEachServer(t *testing.T, test func(t *testing.T, addr string)) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) { test(t, s.addr) })
	}
}

// onEachAdapter runs a test on each server through each adapter.
func onEachAdapter(t *testing.T, test func(t *testing.T, addr string, connect connector)) {
	onEachServer(t, func(t *testing.T, addr string) {
		t.Run("go-redis", func(t *testing.T) { test(t, addr, connect) })
		t.Run("rueidis", func(t *testing.T) { test(t, addr, connectRueidis) })
	})
}

// connector makes a transport of one connection at a time, and the proxy in it.
type connector func(t *testing.T, addr string) (*proxy, lockclient.Transport)

// connect is the connector of go-redis.
func connect(t *testing.T, addr string) (*proxy, lockclient.Transport) {
	t.Helper()
	p := newProxy(t, addr)
	rdb := redis.NewClient(&redis.Options{Addr: p.addr(), PoolSize: 1})
	t.Cleanup(func() { rdb.Close() })
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	return p, transport
}

// uniqueKey names a lock that no other test uses.
func uniqueKey(t *testing.T) string { return fmt.Sprintf("%s:%d", t.Name(), time.Now().UnixNano()) }

// When the reply to an acquire script is lost, exactly one script is on the
// wire, and the owner holds the lock once.
func TestScriptsAreNotSentAgain(t *testing.T) { onEachAdapter(t, scriptsAreNotSentAgain) }

func scriptsAreNotSentAgain(t *testing.T, addr string, connect connector) {
	p, transport := connect(t, addr)
	c := lockclient.New(transport, lockclient.System())
	lock, key := c.Mutex("warm-up"), uniqueKey(t)
	require.NoError(t, lock.Do(t.Context(), func(context.Context, *lockclient.Held) error { return nil }))

	p.forget()
	p.lose("EVALSHA")
	owner := c.ID() + ":named" // a named owner is not cleaned up, so its count can be read
	_, err := c.Mutex(key).TryLock(t.Context(), lockclient.As(owner), lockclient.Lease(time.Minute))
	require.ErrorIs(t, err, lockclient.ErrUnknown)
	n, err := c.Mutex(key).HoldCount(t.Context(), owner)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	assert.Equal(t, 1, p.count("EVALSHA"))
}

// After a refusal for not knowing a script everybody sends its text, until that is
// answered: the one that was refused may not come to it.
func TestMissingScriptIsSentByAll(t *testing.T) { onEachAdapter(t, missingScript) }

func missingScript(t *testing.T, addr string, connect connector) {
	p, transport := connect(t, addr)
	key := uniqueKey(t)
	script := lockclient.NewScript("new", fmt.Sprintf("return %q", key))
	ask := func() error {
		_, err := transport.Eval(t.Context(), script, []string{key}, nil)
		return err
	}
	p.lose("EVAL")
	require.Error(t, ask())
	require.NoError(t, ask())
	assert.Equal(t, 1, p.count("EVALSHA"))
	assert.Equal(t, 2, p.count("EVAL"))
	require.NoError(t, ask())
	assert.Equal(t, 2, p.count("EVALSHA"))
}

// On a server that knows the scripts, lock and unlock are two scripts and the
// DEL of the latch.
func TestCommandsOfAnUncontendedLock(t *testing.T) { onEachAdapter(t, commandsOfAnUncontendedLock) }

func commandsOfAnUncontendedLock(t *testing.T, addr string, connect connector) {
	p, transport := connect(t, addr)
	c := lockclient.New(transport, lockclient.System())
	work := func(context.Context, *lockclient.Held) error { return nil }
	// rueidis has four connections and takes one of them by chance, opening it the
	// first time: then they are all open.
	const rounds = 50
	for range rounds {
		require.NoError(t, c.Mutex("warm-up").Do(t.Context(), work))
	}
	require.Eventually(t, func() bool { return p.count("DEL") == rounds }, realTime, time.Millisecond)
	p.forget()
	require.NoError(t, c.Mutex(uniqueKey(t)).Do(t.Context(), work))
	require.Eventually(t, func() bool { return p.count("DEL") == 1 }, realTime, time.Millisecond)
	assert.Equal(t, 2, p.count("EVALSHA"))
	assert.Equal(t, 3, p.all()-p.count("PING"), "beside those of rueidis over a connection that was idle for a second")
}

// A waiter whose connection was re-established is told that it may have missed
// a message, and looks again at once.
func TestReconnectionWakes(t *testing.T) { onEachAdapter(t, reconnectionWakes) }

func reconnectionWakes(t *testing.T, addr string, connect connector) {
	p, transport := connect(t, addr)
	lost, delivered := make(chan struct{}, 10), make(chan string, 10)
	sub, err := transport.Subscribe(t.Context(), uniqueKey(t), false,
		func(payload string) { delivered <- payload }, func() { lost <- struct{}{} })
	require.NoError(t, err)
	defer sub.Close()
	assert.Empty(t, lost)
	p.cutAll()
	select {
	case <-lost:
	case <-time.After(realTime):
		t.Fatal("the subscription was not made again")
	}
}

// A subscription over whose connection nothing passes any more is made again, and its waiters
// are told; one of which nobody sends anything stays. Closed, it ends, on whichever connection.
func TestSilentSubscriptions(t *testing.T) {
	for name, connect := range map[string]func(s stage) lockclient.Transport{
		"go-redis": func(s stage) lockclient.Transport { return s.transport().Transport },
		"rueidis": func(s stage) lockclient.Transport {
			client, err := adapter.NewClient(rueidis.ClientOption{
				InitAddress: []string{s.server.Addr()}, DialCtxFn: s.server.DialRueidis})
			require.NoError(s, err)
			s.Cleanup(client.Close)
			transport, err := adapter.New(s.Context(), client)
			require.NoError(s, err)
			return transport
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				var lost atomic.Int32
				sub, err := connect(s).Subscribe(s.Context(), "channel", false, func(string) {}, func() { lost.Add(1) })
				require.NoError(s, err)
				time.Sleep(61 * time.Second)
				assert.Zero(s, lost.Load())
				unanswered := s.server.Inject(minikvtest.On("PING").DropRequest())
				time.Sleep(8 * time.Second)
				assert.NotZero(s, lost.Load())
				unanswered.Remove()
				time.Sleep(10 * time.Second)
				subscribed := func() string { return s.server.Do("PUBSUB", "NUMSUB", "channel") }
				assert.Contains(s, subscribed(), "(integer) 1")
				sub.Close()
				time.Sleep(time.Second)
				assert.Contains(s, subscribed(), "(integer) 0")
			})
		})
	}
}

// Who waits again and again does not connect each time: a connection whose
// subscription has ended serves the next one, unless it is broken by then.
func TestConnectionsServeAgain(t *testing.T) { onEachAdapter(t, connectionsServeAgain) }

func connectionsServeAgain(t *testing.T, addr string, connect connector) {
	p, transport := connect(t, addr)
	server, key := to(t, addr), uniqueKey(t)
	heard := make(chan string, 10)
	wait := func(channel string) {
		sub, err := transport.Subscribe(t.Context(), channel, false, func(payload string) { heard <- payload }, func() {})
		require.NoError(t, err)
		require.NoError(t, server.Publish(t.Context(), channel, "to "+channel).Err())
		assert.Equal(t, "to "+channel, <-heard)
		sub.Close()
		require.Eventually(t, func() bool {
			return server.PubSubNumSub(t.Context(), channel).Val()[channel] == 0
		}, realTime, time.Millisecond)
		settle() // the client hears of it
	}
	wait(key)
	before := p.connections()
	const rounds = 50
	for i := range rounds {
		wait(fmt.Sprintf("%s:%d", key, i%2))
	}
	made := p.connections() - before
	assert.Less(t, made, rounds/2, "of a busy machine some come too late")
	p.cutAll()
	wait(key)
	assert.Empty(t, heard)
}

func TestErrorsOfRequests(t *testing.T) { onEachAdapter(t, errorsOfRequests) }

func errorsOfRequests(t *testing.T, addr string, connect connector) {
	_, transport := connect(t, addr)
	key := uniqueKey(t)
	_, err := transport.Do(t.Context(), key, "SET", key, "text", "PX", "60000")
	require.NoError(t, err)
	_, err = transport.Do(t.Context(), key, "HGET", key, "field")
	var refused *lockclient.ServerError
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, refused.Text, "WRONGTYPE ")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = transport.Do(ended, key, "GET", key)
	require.ErrorIs(t, err, lockclient.ErrNotSent)
	assert.ErrorIs(t, err, context.Canceled)
}

// A caller whose context ends is free also while its client connects, whatever
// time that may take.
func TestContextFreesTheCallerFromConnecting(t *testing.T) {
	onEachServer(t, func(t *testing.T, addr string) {
		t.Run("go-redis", func(t *testing.T) {
			p := newProxy(t, addr)
			rdb := redis.NewClient(&redis.Options{Addr: p.addr(), ReadTimeout: time.Minute, PoolTimeout: time.Minute})
			t.Cleanup(func() { p.cutAll(); rdb.Close() })
			freesFromConnecting(t, p, transportOf(t, rdb))
		})
		t.Run("rueidis", func(t *testing.T) {
			p := newProxy(t, addr)
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.addr()},
				ConnWriteTimeout: time.Minute, Dialer: net.Dialer{Timeout: time.Minute}})
			require.NoError(t, err)
			t.Cleanup(func() { p.cutAll(); client.Close() })
			transport, err := adapter.New(t.Context(), client)
			require.NoError(t, err)
			freesFromConnecting(t, p, transport)
		})
	})
}

func freesFromConnecting(t *testing.T, p *proxy, transport lockclient.Transport) {
	key := uniqueKey(t)
	_, err := transport.Do(t.Context(), key, "GET", key)
	require.NoError(t, err)
	p.silence()
	script := lockclient.NewScript("nothing", "return 1")
	for what, ask := range map[string]func(ctx context.Context) error{
		"do": func(ctx context.Context) error {
			_, err := transport.Do(ctx, key, "GET", key)
			return err
		},
		"eval replicated": func(ctx context.Context) error {
			replicated := transport.(lockclient.Replicated)
			_, _, _, err := replicated.EvalReplicated(ctx, script, []string{key}, nil, time.Second)
			return err
		},
		"subscribe": func(ctx context.Context) error {
			_, err := transport.Subscribe(ctx, key, false, func(string) {}, func() {})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		begun := time.Now()
		assert.Error(t, ask(ctx), what)
		assert.Less(t, time.Since(begun), 20*time.Second, what)
	}
}

// A closed client sends nothing any more. rueidis says the same of what it had sent before,
// so that nobody knows.
func TestClosedClients(t *testing.T) {
	onEachServer(t, func(t *testing.T, addr string) {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		transports := map[string]lockclient.Transport{"go-redis": transportOf(t, rdb)}
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		require.NoError(t, err)
		transports["rueidis"], err = adapter.New(t.Context(), client)
		require.NoError(t, err)
		require.NoError(t, rdb.Close())
		client.Close()
		for name, transport := range transports {
			_, err := transport.Do(t.Context(), "k", "EXISTS", "k")
			assert.Error(t, err, name)
			assert.Equal(t, name == "go-redis", errors.Is(err, lockclient.ErrNotSent), name)
		}
	})
}

// Callers wait for one attempt to connect, which rueidis makes with the context of
// the first: if that ends, the others' requests are sent all the same.
func TestContextIsItsCallersOwn(t *testing.T) { onEachServer(t, contextIsItsCallersOwn) }

func contextIsItsCallersOwn(t *testing.T, addr string) {
	var dials atomic.Int32
	dialing := make(chan struct{})
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, PipelineMultiplex: -1,
		DialCtxFn: func(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if dials.Add(1) == 2 {
				close(dialing)
				<-ctx.Done() // too late to keep the dialer from its success
			}
			return dialer.Dial("tcp", addr)
		},
	})
	require.NoError(t, err)
	defer client.Close()
	transport, err := adapter.New(t.Context(), client)
	require.NoError(t, err)
	key := uniqueKey(t)
	_, err = transport.Do(t.Context(), "", "QUIT")
	require.NoError(t, err)
	first, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for first.Err() == nil { // the old connection may still look alive
			_, _ = transport.Do(first, key, "EXISTS", key)
		}
	})
	<-dialing
	for range 3 {
		wg.Go(func() {
			_, err := transport.Do(t.Context(), key, "EXISTS", key)
			assert.NoError(t, err)
		})
	}
	time.Sleep(50 * time.Millisecond) // they wait for the same connection
	cancel()
	wg.Wait()
}

// Dialing that ends a moment before its context shows as the context's end, and
// as a request that was not sent.
func TestDialingEndsWithTheContext(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{DialerRetries: 1,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			at, _ := ctx.Deadline()
			time.Sleep(time.Until(at) - 5*time.Millisecond)
			return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
		}})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	for what, ask := range map[string]func(ctx context.Context) error{
		"do": func(ctx context.Context) error {
			_, err := transport.Do(ctx, "k", "GET", "k")
			return err
		},
		"subscribe": func(ctx context.Context) error {
			_, err := transport.Subscribe(ctx, "channel", false, func(string) {}, func() {})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := ask(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, what)
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, what)
		cancel()
	}
}

func TestRefusedConnectionIsNotSent(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	_, err = transport.Do(t.Context(), "k", "GET", "k")
	assert.ErrorIs(t, err, lockclient.ErrNotSent)

	nowhere := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, DialerRetries: 1})
	defer nowhere.Close()
	_, err = goredis.New(t.Context(), nowhere)
	assert.ErrorContains(t, err, "probe for sharded pub/sub: ")
}

// A server that proves not to be the right one has not seen the command.
func TestRefusedHandshakeIsNotSent(t *testing.T) {
	encrypted := httptest.NewUnstartedServer(nil)
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	encrypted.StartTLS()
	defer encrypted.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for _, s := range []*httptest.Server{encrypted, plain} {
		rdb := redis.NewClient(&redis.Options{Addr: s.Listener.Addr().String(), DialerRetries: 1, TLSConfig: &tls.Config{}})
		_, err := transportOf(t, rdb).Do(t.Context(), "k", "GET", "k")
		assert.ErrorIs(t, err, lockclient.ErrNotSent)
		assert.ErrorContains(t, err, "tls: ")
		rdb.Close()
	}
}

// A replica that lags has no key yet of a latch that was set: who asks it would
// find the latch open.
func TestReadingFromReplicasIsRefused(t *testing.T) {
	for _, options := range []redis.ClusterOptions{{ReadOnly: true}, {RouteByLatency: true}, {RouteRandomly: true}} {
		options.Addrs = []string{"127.0.0.1:1"}
		client := redis.NewClusterClient(&options)
		_, err := goredis.New(t.Context(), client)
		assert.ErrorContains(t, err, "reads from replicas")
		client.Close()
	}
}

func TestRingIsRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	_, err := goredis.New(t.Context(), ring)
	assert.ErrorContains(t, err, "ring")
}

// A renewal that comes late, after the acquisition that was renewed is given back,
// does not cut the longer lease of the one inside it; Extend does.
func TestLateRenewalCutsNoLease(t *testing.T) { onEachAdapter(t, lateRenewal) }

func lateRenewal(t *testing.T, addr string, connect connector) {
	_, transport := connect(t, addr)
	c, key := lockclient.New(transport, lockclient.System()), uniqueKey(t)
	for _, lock := range []*lockclient.Lock{c.Mutex(key), c.Fair(key + "-fair")} {
		outer, err := lock.Lock(t.Context())
		require.NoError(t, err)
		inner, err := lock.Lock(outer.Context(), lockclient.Lease(time.Hour))
		require.NoError(t, err)
		require.NoError(t, outer.Unlock(t.Context()))
		renewal := lockclient.Shipped("mutex_renew")
		_, err = transport.Eval(t.Context(), renewal, []string{lock.Key()}, []string{"30000", inner.Owner()})
		require.NoError(t, err)
		left, _, err := lock.TTL(t.Context())
		require.NoError(t, err)
		assert.Greater(t, left, 50*time.Minute, lock.Key())
		require.NoError(t, inner.Extend(t.Context(), time.Minute))
		left, _, err = lock.TTL(t.Context())
		require.NoError(t, err)
		assert.LessOrEqual(t, left, time.Minute, lock.Key())
		require.NoError(t, inner.Unlock(t.Context()))
	}
}
