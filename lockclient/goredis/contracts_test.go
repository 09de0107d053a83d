package goredis_test

import (
	"context"
	"sync"
	"testing"
	"time"

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

func (s sockets) Stall() time.Duration { return stall }

func (s sockets) Transport(master int) (lockclient.Transport, error) { return s.dial(master) }

// overGoRedis is the Env of go-redis.
func overGoRedis(t *testing.T, addr string) sockets {
	return sockets{t, lockclient.System(), func(db int) (lockclient.Transport, error) {
		client := redis.NewClient(&redis.Options{Addr: addr, DB: db})
		t.Cleanup(func() { client.Close() })
		return goredis.New(t.Context(), client)
	}}
}

// stall is how long a busy machine may hold up a test.
const stall = 5 * time.Second

// together is how many contracts run at once in an Env: they mostly wait.
const together = 100

// Every kind keeps its contracts over each adapter, on each server.
func TestContracts(t *testing.T) {
	var wg sync.WaitGroup
	for _, s := range servers(t) {
		wg.Go(func() { contracts(t, s.name+", go-redis", overGoRedis(t, s.addr)) })
		wg.Go(func() { contracts(t, s.name+", rueidis", overRueidis(t, s.addr)) })
	}
	wg.Wait()
}

// contracts runs all contracts of all kinds.
func contracts(t *testing.T, where string, env locktest.Env) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, together)
	for _, kind := range locktest.Kinds() {
		for _, contract := range locktest.Contracts() {
			if !contract.Applies(kind) {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				assert.NoError(t, contract.Run(env, kind), where)
				<-slots
			})
		}
	}
	wg.Wait()
}
