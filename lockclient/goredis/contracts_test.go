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
	rt   lockclient.Runtime
	dial func(db int) (lockclient.Transport, error)
}

func (s sockets) Context() context.Context { return s.t.Context() }

func (s sockets) Runtime() lockclient.Runtime { return s.rt }

func (s sockets) Transport(master int) (lockclient.Transport, error) { return s.dial(master) }

// overGoRedis is the Env of go-redis.
func overGoRedis(t *testing.T, addr string) sockets {
	return sockets{t, lockclient.System(), func(db int) (lockclient.Transport, error) {
		client := redis.NewClient(&redis.Options{Addr: addr, DB: db})
		t.Cleanup(func() { client.Close() })
		return goredis.New(t.Context(), client)
	}}
}

// Every kind keeps its contracts over each adapter.
func TestContracts(t *testing.T) {
	onEachServer(t, func(t *testing.T, addr string) {
		t.Run("go-redis", func(t *testing.T) { contracts(t, overGoRedis(t, addr)) })
		t.Run("rueidis", func(t *testing.T) { contracts(t, overRueidis(t, addr)) })
	})
}

// together is how many contracts run at once: they mostly wait.
const together = 40

// contracts runs all contracts of all kinds. They measure real time, which a
// busy machine stretches: one that fails among the others must hold alone.
func contracts(t *testing.T, env locktest.Env) {
	var again []func() error
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, together)
	for _, kind := range locktest.Kinds() {
		for _, contract := range locktest.Contracts() {
			if !contract.Applies(kind) {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				if err := contract.Run(env, kind); err != nil {
					t.Logf("among others: %v", err)
					mu.Lock()
					again = append(again, func() error { return contract.Run(env, kind) })
					mu.Unlock()
				}
				<-slots
			})
		}
	}
	wg.Wait()
	for _, run := range again {
		assert.NoError(t, run(), "alone")
	}
}
