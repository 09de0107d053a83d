package goredis_test

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// redisAddr is where a redis-server listens for all tests, "" if there is none:
// the one that REDIS_SERVER names, or one of ours if it is installed.
var redisAddr = os.Getenv("REDIS_SERVER")

func TestMain(m *testing.M) {
	end := func() {}
	if redisAddr == "" && redisserver.Installed() {
		redisAddr, end = startRedis(os.TempDir())
	}
	go countStalls()
	code := m.Run()
	end()
	os.Exit(code)
}

// startRedis starts a redis-server, and panics if that does not work.
func startRedis(dir string, options ...string) (addr string, end func()) {
	return startProcess(func(host, port string) []string {
		return append([]string{"--bind", host, "--port", port, "--save", "", "--dir", dir}, options...)
	})
}

// startProcess starts redis-server with the arguments for an address, and panics
// if it does not answer there.
func startProcess(arguments func(host, port string) []string) (addr string, end func()) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	addr, err := redisserver.FreeAddress()
	must(err)
	host, port, err := net.SplitHostPort(addr)
	must(err)
	server, err := redisserver.Start("redis-server", arguments(host, port)...)
	must(err)
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	for begun := time.Now(); client.Ping(context.Background()).Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			panic("redis-server does not start")
		}
	}
	return addr, server.End
}

// backend is a server.
type backend struct{ name, addr string }

// servers are a new minikv and the redis-server.
func servers(t *testing.T) []backend {
	t.Helper()
	s := server.New(server.Config{Machine: func(limit func() string) server.Machine {
		return engine.New(engine.Config{
			Clock: server.NewWallClock(), Random: rand.Uint64, Lua: luaengine.New(engine.Resolve), Limit: limit,
		})
	}})
	t.Cleanup(s.Close)
	addr, err := s.Listen("127.0.0.1:0")
	require.NoError(t, err)
	all := []backend{{"minikv", addr.String()}}
	if redisAddr == "" {
		t.Log("redis-server " + redisserver.Version + " is not installed, and REDIS_SERVER=host:port is not set")
		return all
	}
	return append(all, backend{"redis-server", redisAddr})
}
