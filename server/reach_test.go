package server_test

import (
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
)

// startRedis starts a redis-server, or skips the test without it.
func startRedis(t *testing.T, args ...string) (address string) {
	t.Helper()
	if !redisserver.Installed() {
		t.Skip("redis-server " + redisserver.Version + " is not installed")
	}
	address, err := redisserver.FreeAddress()
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(address)
	args = append([]string{"--port", port, "--save", "", "--dir", t.TempDir()}, args...)
	process, err := redisserver.Start("redis-server", args...)
	require.NoError(t, err)
	t.Cleanup(process.End)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	return address
}

// startMinikv is start without the server.
func startMinikv(t *testing.T, args ...string) (address string) {
	for i := 0; i < len(args); i += 2 {
		args[i] = strings.TrimPrefix(args[i], "--")
	}
	_, address = start(t, args...)
	return address
}

// starters are the kinds of server.
var starters = map[string]func(t *testing.T, args ...string) string{"minikv": startMinikv, "redis-server": startRedis}

// migrate is MIGRATE to an address.
func migrate(to, rest string) string {
	return command(migrateArgs(to, strings.Fields(rest)...)...)
}

// Keys move between the processes of either kind of server, with their values and deadlines.
func TestMigrateBetweenServers(t *testing.T) {
	for from, startSource := range starters {
		for to, startTarget := range starters {
			t.Run(from+" to "+to, func(t *testing.T) {
				target := startTarget(t, "--requirepass", "secret")
				a, b := dial(t, startSource(t)), dial(t, target)
				send := func(rest, reply string) {
					t.Helper()
					a.send(migrate(target, rest))
					a.expect(reply)
				}
				b.do("AUTH secret", "+OK\r\n")
				b.do("SELECT 2", "+OK\r\n")
				begun := time.Now()
				a.do("SET s text PX 100000", "+OK\r\n")
				a.do("RPUSH l 1 two 3", ":3\r\n")
				a.do("ZADD z 1.5 a 2 b", ":2\r\n")
				a.do("HSET h f v", ":1\r\n")
				send("s 2 5000", "-ERR Target instance replied with error: NOAUTH Authentication required.\r\n")
				send("s 2 5000 AUTH wrong", "-ERR Target instance replied with error: "+
					"WRONGPASS invalid username-password pair or user is disabled.\r\n")
				send("s 99 5000 AUTH secret", "-ERR Target instance replied with error: ERR DB index is out of range\r\n")
				send("s 2 5000 COPY AUTH2 default secret", "+OK\r\n")
				send("none 2 5000", "+NOKEY\r\n")
				a.send(command(migrateArgs(target, "", "2", "5000", "AUTH", "secret", "KEYS", "s", "l", "none", "z", "h")...))
				a.expect("-ERR Target instance replied with error: BUSYKEY Target key name already exists.\r\n")
				a.do("EXISTS s l z h", ":1\r\n")
				send("s 2 5000 REPLACE AUTH secret", "+OK\r\n")
				a.do("DBSIZE", ":0\r\n")
				b.do("GET s", "$4\r\ntext\r\n")
				left, err := strconv.Atoi(strings.Trim(b.ask("PTTL s"), ":\r\n"))
				require.NoError(t, err)
				require.LessOrEqual(t, left, 100_000)
				require.Greater(t, left, 99_000-int(time.Since(begun).Milliseconds()))
				b.do("LRANGE l 0 -1", "*3\r\n$1\r\n1\r\n$3\r\ntwo\r\n$1\r\n3\r\n")
				b.do("ZSCORE z a", "$3\r\n1.5\r\n")
				b.do("HGET h f", "$1\r\nv\r\n")
				b.do("PTTL h", ":-1\r\n")
			})
		}
	}
}

func migrateArgs(to string, rest ...string) []string {
	host, port, _ := net.SplitHostPort(to)
	return append([]string{"MIGRATE", host, port}, rest...)
}

// oddServer accepts connections and treats each, until the test ends. Until then none is
// closed but by treat: not by the collector of garbage either.
func oddServer(t *testing.T, treat func(net.Conn)) (address string, accepted *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	accepted = &atomic.Int64{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			accepted.Add(1)
			treat(conn)
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), accepted
}

// What clients are told when there is no server at the address, or one that does not answer.
func TestMigrateInVain(t *testing.T) {
	silent, _ := oddServer(t, func(net.Conn) {})
	closing, accepted := oddServer(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 10_000))
		_ = c.Close()
	})
	for name, startSource := range starters {
		t.Run(name, func(t *testing.T) {
			a := dial(t, startSource(t))
			a.do("SET k v", "+OK\r\n")
			for _, c := range []struct{ to, limit, reply string }{
				{"127.0.0.1:1", "30000", "writing to target instance"},
				{"127.0.0.1:nonumber", "30000", "writing to target instance"},
				{"127.0.0.1:-1", "30000", "connecting to the client"},
				{"no.such.host.invalid:6379", "30000", "connecting to the client"},
				{":6379", "30000", "connecting to the client"},
				{silent, "300", "reading to target instance"},
				{closing, "30000", "reading to target instance"},
			} {
				begun := time.Now()
				a.send(migrate(c.to, "k 0 "+c.limit))
				a.expect("-IOERR error or timeout " + c.reply + "\r\n")
				require.True(t, c.to != silent || time.Since(begun) >= 300*time.Millisecond)
			}
			require.EqualValues(t, 2, accepted.Swap(0), "it is tried again once")
			a.do("GET k", "$1\r\nv\r\n")
		})
	}
}

// While it migrates a server serves nobody, as redis-server; closing it ends that.
func TestMigrateStandsStill(t *testing.T) {
	silent, accepted := oddServer(t, func(net.Conn) {})
	enough := make(chan struct{})
	patient, waiting := oddServer(t, func(c net.Conn) {
		<-enough
		_ = c.Close()
	})
	s, address := start(t)
	a, b := dial(t, address), dial(t, address)
	a.do("SET k v", "+OK\r\n")
	a.send(migrate(patient, "k 0 60000"))
	require.Eventually(t, func() bool { return waiting.Load() == 1 }, 10*time.Second, time.Millisecond)
	b.send("PING\r\n")
	b.expectNothing()
	close(enough)
	a.expect("-IOERR error or timeout reading to target instance\r\n")
	b.expect("+PONG\r\n")
	a.send(migrate(silent, "k 0 60000"))
	require.Eventually(t, func() bool { return accepted.Load() == 1 }, 10*time.Second, time.Millisecond)
	begun := time.Now()
	s.Close()
	require.Less(t, time.Since(begun), 30*time.Second)
}
