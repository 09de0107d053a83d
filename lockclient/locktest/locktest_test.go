package locktest_test

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/lockclient/locktest"
)

// sockets is an Env of real time, over one server whose databases stand for
// independent masters.
type sockets struct {
	t    *testing.T
	addr string
	rt   lockclient.Runtime
}

func (s sockets) Context() context.Context { return s.t.Context() }

func (s sockets) Runtime() lockclient.Runtime { return s.rt }

func (s sockets) Transport(master int) (lockclient.Transport, error) {
	client := redis.NewClient(&redis.Options{Addr: s.addr, DB: master})
	s.t.Cleanup(func() { client.Close() })
	return goredis.New(s.t.Context(), client)
}

func runContracts(t *testing.T, addr string) {
	for _, kind := range locktest.Kinds() {
		for _, contract := range locktest.Contracts() {
			if !contract.Applies(kind) {
				continue
			}
			t.Run(kind.Name+"/"+contract.Name, func(t *testing.T) {
				t.Parallel()
				require.NoError(t, contract.Run(sockets{t, addr, lockclient.System()}, kind))
			})
		}
	}
}

// Every kind keeps its contracts over go-redis and redis-server.
func TestContractsOnRedisServer(t *testing.T) {
	addr := os.Getenv("REDIS_SERVER")
	if addr == "" {
		t.Skip("REDIS_SERVER=host:port is not set")
	}
	runContracts(t, addr)
}
