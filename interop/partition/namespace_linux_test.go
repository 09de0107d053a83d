package partition

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/interop/namespace"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// told is the environment variable with what a process that is killed was told to do.
const told = "PARTITION_CHILD"

// absent is what is missing for these tests, "" if nothing is.
var absent string

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(told) != "":
		ask(strings.Fields(os.Getenv(told)))
	case os.Getenv("INTEROP_PARTITION") == "":
		absent = "interop/run.sh runs this"
	default:
		if absent = namespace.Enter("-test.parallel=100"); absent != "" {
			fmt.Println("interop/partition is skipped: " + absent)
		}
	}
	os.Exit(m.Run())
}

// run runs a command, and panics if that does not work.
func run(words ...string) {
	if err := namespace.Run(words...); err != nil {
		panic(err)
	}
}

// backend is a server, which can be killed and be started again without its data.
type backend struct {
	name, address string
	restart       func()
}

// onEachServer runs a test beside minikv and beside redis-server, each a new one.
func onEachServer(t *testing.T, test func(t *testing.T, b backend)) {
	if absent != "" {
		t.Skip(absent)
	}
	t.Parallel()
	t.Run("minikv", func(t *testing.T) {
		t.Parallel()
		test(t, startMinikv(t))
	})
	t.Run("redis-server", func(t *testing.T) {
		if !redisserver.Installed() {
			t.Skip("redis-server " + redisserver.Version + " is not installed")
		}
		t.Parallel()
		test(t, startRedis(t))
	})
}

func startMinikv(t *testing.T) backend {
	address := freeAddress()
	start := func() (end func()) {
		s := server.New(server.Config{Machine: func(limit func() string) server.Machine {
			return engine.New(engine.Config{
				Clock: server.NewWallClock(), Random: rand.Uint64, Lua: luaengine.New(engine.Resolve), Limit: limit,
			})
		}})
		require.Eventually(t, func() bool { // a process that is being started may have the old one's socket yet
			_, err := s.Listen(address)
			return err == nil
		}, slack, 5*time.Millisecond)
		return s.Close
	}
	return backend{"minikv", address, restarting(t, start)}
}

func startRedis(t *testing.T) backend {
	address := freeAddress()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	start := func() (end func()) {
		process, err := redisserver.Start("redis-server", "--bind", host, "--port", port, "--save", "", "--dir", t.TempDir(),
			"--protected-mode", "no") // which would refuse the places
		require.NoError(t, err)
		client := redis.NewClient(&redis.Options{Addr: address})
		defer client.Close()
		require.Eventually(t, func() bool {
			return client.Ping(context.Background()).Err() == nil
		}, slack, 5*time.Millisecond)
		return process.End
	}
	return backend{"redis-server", address, restarting(t, start)}
}

// restarting starts a server, and ends it with the test.
func restarting(t *testing.T, start func() (end func())) (restart func()) {
	end := start()
	t.Cleanup(func() { end() })
	return func() {
		end()
		end = start()
	}
}

// ports counts the servers.
var ports atomic.Uint32

// freeAddress is one that nobody else has, as the namespace is ours.
func freeAddress() string { return fmt.Sprintf("127.0.0.1:%d", 7000+ports.Add(1)) }

// way is what a cut drops.
type way uint8

const (
	requests way = 1 << iota
	replies
	both = requests | replies
)

// place is where one client stands.
type place struct {
	address string
	forgets bool // its connections have SetLinger(0)
}

// places counts them.
var places atomic.Uint32

func newPlace() place {
	n := places.Add(1)
	return place{address: fmt.Sprintf("127.1.%d.%d", n/250, 1+n%250)}
}

// dialer connects from there.
func (p place) dialer() net.Dialer {
	return net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(p.address)}, Timeout: 5 * time.Second}
}

// dial connects from there.
func (p place) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := p.dialer()
	conn, err := dialer.DialContext(ctx, network, address)
	if err == nil && p.forgets {
		err = conn.(*net.TCPConn).SetLinger(0)
	}
	return conn, err
}

// cut drops what goes a way, until heal is called, which returns when that began.
func (p place) cut(w way) (heal func() time.Time) {
	p.drop("-A", w)
	return func() time.Time {
		begun := time.Now()
		p.drop("-D", w)
		return begun
	}
}

// drop adds or deletes rules. A packet is dropped where it arrives: who sends it is not
// told.
func (p place) drop(how string, w way) {
	if w&requests != 0 {
		run("iptables", "-w", how, "INPUT", "-s", p.address, "-j", "DROP")
	}
	if w&replies != 0 {
		run("iptables", "-w", how, "INPUT", "-d", p.address, "-j", "DROP")
	}
}
