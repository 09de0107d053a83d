package java

import (
	"context"
	"math/rand/v2"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// backend is a kind of server. start starts one, ends it with the test, and
// returns its address.
type backend struct {
	name  string
	start func(t *testing.T) string
}

// backends are those that this machine has.
func backends() []backend {
	all := []backend{{"minikv", startMinikv}}
	if _, err := exec.LookPath("redis-server"); err == nil {
		all = append(all, backend{"redis-server", startRedis})
	}
	return all
}

func startMinikv(t *testing.T) string {
	s := server.New(server.Config{Machine: func(limit func() string) server.Machine {
		return engine.New(engine.Config{
			Clock: server.NewWallClock(), Random: rand.Uint64, Lua: luaengine.New(engine.Resolve), Limit: limit,
		})
	}})
	t.Cleanup(s.Close)
	address, err := s.Listen("127.0.0.1:0")
	require.NoError(t, err)
	return address.String()
}

func startRedis(t *testing.T) string {
	address, err := redisserver.FreeAddress()
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	process, err := redisserver.Start("redis-server",
		"--bind", host, "--port", port, "--save", "", "--dir", t.TempDir())
	require.NoError(t, err)
	t.Cleanup(process.End)
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	require.Eventually(t, func() bool { return client.Ping(context.Background()).Err() == nil },
		10*time.Second, 10*time.Millisecond)
	return address
}
