package server_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lock as the Redis documentation has it, telling waiters by a message.
const (
	acquireScript = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`
	releaseScript = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) ` +
		`return redis.call('PUBLISH', KEYS[2], 'released') end return 0`
)

// program runs one of Redis's own programs, or skips the test without it.
func program(t *testing.T, name, address string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, path, append([]string{"-h", host, "-p", port}, args...)...)
}

func TestRedisCLI(t *testing.T) {
	_, address := start(t)
	cli := func(args ...string) string {
		out, err := program(t, "redis-cli", address, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	assert.Equal(t, "1", cli("EVAL", acquireScript, "1", "lock:a", "c1-1", "30000"))
	assert.Equal(t, "0", cli("EVAL", acquireScript, "1", "lock:a", "c2-1", "30000"))

	subscriber := program(t, "redis-cli", address, "SUBSCRIBE", "channel:a")
	out, err := subscriber.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, subscriber.Start())
	defer func() { _ = subscriber.Process.Kill(); _ = subscriber.Wait() }()
	require.Eventually(t, func() bool { return cli("PUBSUB", "NUMSUB", "channel:a") == "channel:a\n1" },
		10*time.Second, 10*time.Millisecond)

	assert.Equal(t, "0", cli("EVAL", releaseScript, "2", "lock:a", "channel:a", "c2-1"))
	assert.Equal(t, "1", cli("EVAL", releaseScript, "2", "lock:a", "channel:a", "c1-1"))
	const want = "subscribe\nchannel:a\n1\nmessage\nchannel:a\nreleased\n"
	got := make([]byte, 0, len(want))
	for len(got) < len(want) {
		chunk := make([]byte, len(want)-len(got))
		n, err := out.Read(chunk)
		require.NoError(t, err)
		got = append(got, chunk[:n]...)
	}
	assert.Equal(t, want, string(got))
	assert.Equal(t, "ERR unknown command 'NOSUCH', with args beginning with:", cli("NOSUCH"))
	assert.Equal(t, "PONG", cli("-3", "PING"))
}

func TestRedisBenchmark(t *testing.T) {
	_, address := start(t)
	for _, pipeline := range []string{"1", "16"} {
		benchmark := program(t, "redis-benchmark", address, "-t", "set,get", "-n", "10000", "-P", pipeline, "-q")
		out, err := benchmark.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "GET: ")
	}
}

func TestGoRedis(t *testing.T) {
	_, address := start(t)
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { require.NoError(t, client.Close()) }()

	require.NoError(t, client.Set(ctx, "k", "v", time.Minute).Err())
	assert.Equal(t, "v", client.Get(ctx, "k").Val())
	assert.Equal(t, redis.Nil, client.Get(ctx, "missing").Err())
	assert.InDelta(t, time.Minute, client.PTTL(ctx, "k").Val(), float64(5*time.Second))
	assert.Error(t, client.LPush(ctx, "k", "x").Err())

	require.NoError(t, client.HSet(ctx, "h", "f", "1", "g", "2").Err())
	assert.Equal(t, map[string]string{"f": "1", "g": "2"}, client.HGetAll(ctx, "h").Val())
	require.NoError(t, client.ZAdd(ctx, "z", redis.Z{Score: 1.5, Member: "m"}).Err())
	assert.Equal(t, []redis.Z{{Score: 1.5, Member: "m"}}, client.ZRangeWithScores(ctx, "z", 0, -1).Val())

	commands, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 100 {
			p.Set(ctx, fmt.Sprint("p", i), i, 0)
			p.Get(ctx, fmt.Sprint("p", i))
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, "99", commands[199].(*redis.StringCmd).Val())

	acquire := redis.NewScript(acquireScript)
	for _, want := range []int64{1, 0} { // EVALSHA, then EVAL when the script is not known, then EVALSHA
		got, err := acquire.Run(ctx, client, []string{"lock:a"}, "c1-1", 30000).Int64()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}

	err = client.Watch(ctx, func(tx *redis.Tx) error {
		require.NoError(t, client.Set(ctx, "k", "theirs", 0).Err())
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "k", "mine", 0).Err() })
		return err
	}, "k")
	assert.Equal(t, redis.TxFailedErr, err)
	_, err = client.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, "n").Err() })
	require.NoError(t, err)
	assert.Equal(t, "1", client.Get(ctx, "n").Val())
}

func TestGoRedisPubSub(t *testing.T) {
	_, address := start(t)
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: address, Protocol: protocol})
		channel := fmt.Sprint("ch", protocol) // one that has lost its subscriber may not know yet
		subscription := client.Subscribe(ctx, channel)
		_, err := subscription.Receive(ctx)
		require.NoError(t, err)
		assert.Equal(t, int64(1), client.Publish(ctx, channel, "hello").Val())
		select {
		case message := <-subscription.Channel():
			assert.Equal(t, "hello", message.Payload)
		case <-time.After(5 * time.Second):
			t.Fatal("no message")
		}
		require.NoError(t, subscription.Close())
		require.NoError(t, client.Close())
	}
}

// Many clients contend for one lock; nobody is inside with another.
func TestContention(t *testing.T) {
	_, address := start(t)
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { require.NoError(t, client.Close()) }()
	acquire, release := redis.NewScript(acquireScript), redis.NewScript(releaseScript)
	inside, turns := 0, 0
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			owner := fmt.Sprint("c", worker)
			for done := 0; done < 20; {
				got, err := acquire.Run(ctx, client, []string{"lock"}, owner, 30000).Int()
				if !assert.NoError(t, err) {
					return
				}
				if got == 0 {
					continue
				}
				inside++ // the race detector watches these, too
				assert.Equal(t, 1, inside)
				turns++
				inside--
				done++
				_, err = release.Run(ctx, client, []string{"lock", "ch"}, owner).Int()
				assert.NoError(t, err)
			}
		})
	}
	workers.Wait()
	assert.Equal(t, 8*20, turns)
}

// Replies that are more than their client may have waiting are not sent at all, nor
// are those before them that wait.
func TestRepliesBeyondTheLimitAreNotSent(t *testing.T) {
	_, address := start(t, "client-output-buffer-limit", "normal 100000 0 0")
	c := dial(t, address)
	c.do("SET k "+strings.Repeat("x", 1000), "+OK\r\n")
	other := dial(t, address)
	other.send("MGET" + strings.Repeat(" k", 150) + "\r\n")
	other.expectClosed()
	other = dial(t, address)
	other.send("PING\r\nMGET" + strings.Repeat(" k", 150) + "\r\n")
	other.expectClosed()
	c.do("PING", "+PONG\r\n")
	c.do(`EVAL "local t = {} for i = 1, 150 do t[i] = 'k' end return #redis.call('mget', unpack(t))" 0`, ":150\r\n")
}

// What is sent behind a command whose reply is too much is not executed.
func TestNothingIsExecutedBehindTheLimit(t *testing.T) {
	_, address := start(t, "client-output-buffer-limit", "normal 300000 0 0")
	c := dial(t, address)
	c.do("SET k "+strings.Repeat("x", 30_000), "+OK\r\n")
	c.do("APPEND k "+strings.Repeat("x", 50_000), ":80000\r\n")
	other := dial(t, address)
	other.send(strings.Repeat("GET k\r\n", 50) + "SET mark 1\r\n")
	other.expectClosed()
	c.do("GET mark", "$-1\r\n")
}

// A soft limit of no seconds lets a client have the replies of a moment.
func TestSoftLimitOfNoSeconds(t *testing.T) {
	_, address := start(t, "client-output-buffer-limit", "normal 0 100000 0")
	c := dial(t, address)
	require.NoError(t, c.socket.(*net.TCPConn).SetReadBuffer(1<<20))
	c.do("SET k "+strings.Repeat("x", 50_000), "+OK\r\n")
	c.send("MGET" + strings.Repeat(" k", 50) + "\r\n")
	c.expect("*50\r\n" + strings.Repeat("$50000\r\n"+strings.Repeat("x", 50_000)+"\r\n", 50))
}
