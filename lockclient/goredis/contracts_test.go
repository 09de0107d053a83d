package goredis_test

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/lockclient/locktest"
)

// sockets is a locktest.Env of real time, over one server whose databases stand
// for independent masters.
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

// Every kind keeps its contracts over go-redis. They mostly wait, so all run at
// once.
func TestContracts(t *testing.T) { onEachServer(t, contracts) }

func contracts(t *testing.T, addr string) {
	env := sockets{t, addr, lockclient.System()}
	var wg sync.WaitGroup
	for _, kind := range locktest.Kinds() {
		for _, contract := range locktest.Contracts() {
			if contract.Applies(kind) {
				wg.Go(func() { assert.NoError(t, contract.Run(env, kind)) })
			}
		}
	}
	wg.Wait()
}
