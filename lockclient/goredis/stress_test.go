package goredis_test

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

const (
	stressVariable  = "LOCKCLIENT_STRESS" // how long to run, such as 60s
	stressTasks     = 200
	stressProcesses = 4
	stressPermits   = 3
)

// Under contention there is no race and no double grant, everything gets its
// turn, and in the end nothing is left: no goroutine, no subscription, no permit
// taken. Run it with -race.
func TestStress(t *testing.T) {
	text := os.Getenv(stressVariable)
	if text == "" {
		t.Skipf("%s=60s is not set", stressVariable)
	}
	length, err := time.ParseDuration(text)
	require.NoError(t, err)
	onEachServer(t, func(t *testing.T, addr string) { stress(t, addr, length) })
}

// arena is something that tasks contend for, and counts who is inside.
type arena struct {
	name         string
	limit        int64 // who may be inside at once
	enter        func(ctx context.Context, c *lockclient.Client, name string, inside func()) error
	inside       atomic.Int64
	visits, over atomic.Int64
}

// visit is what a task does inside.
func (a *arena) visit() {
	if a.inside.Add(1) > a.limit {
		a.over.Add(1)
	}
	runtime.Gosched()
	a.visits.Add(1)
	a.inside.Add(-1)
}

// doing makes the enter function of a kind of lock.
func doing(
	lock func(c *lockclient.Client, key string) *lockclient.Lock,
) func(ctx context.Context, c *lockclient.Client, name string, inside func()) error {
	return func(ctx context.Context, c *lockclient.Client, name string, inside func()) error {
		return lock(c, name).Do(ctx, func(context.Context, *lockclient.Held) error {
			inside()
			return nil
		})
	}
}

// arenas are ten names to contend for: hash locks and semaphores.
func arenas(prefix string) (all []*arena) {
	hash := func(name string, lock func(c *lockclient.Client, key string) *lockclient.Lock) {
		all = append(all, &arena{name: prefix + ":" + name, limit: 1, enter: doing(lock)})
	}
	hash("mutex:1", (*lockclient.Client).Mutex)
	hash("mutex:2", (*lockclient.Client).Mutex)
	hash("fenced:1", (*lockclient.Client).Fenced)
	hash("fenced:2", (*lockclient.Client).Fenced)
	hash("fair", (*lockclient.Client).Fair)
	hash("non-reentrant", (*lockclient.Client).NonReentrant)
	hash("spin", (*lockclient.Client).Spin)
	hash("write", func(c *lockclient.Client, key string) *lockclient.Lock { return c.RW(key).W() })
	permit := func(c *lockclient.Client, key string) *lockclient.Lock { return c.PermitSemaphore(key).Permit() }
	semaphore := func(ctx context.Context, c *lockclient.Client, name string, inside func()) error {
		permits, err := c.Semaphore(name).Acquire(ctx, 1)
		if err != nil {
			return err
		}
		inside()
		return permits.Release(ctx)
	}
	return append(all,
		&arena{name: prefix + ":permit", limit: stressPermits, enter: doing(permit)},
		&arena{name: prefix + ":semaphore", limit: stressPermits, enter: semaphore})
}

func stress(t *testing.T, addr string, length time.Duration) {
	names := arenas(uniqueKey(t))
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	c := lockclient.New(transportOf(t, rdb), lockclient.System())
	semaphores := names[len(names)-2:] // either kind keeps the number of free permits
	for _, a := range semaphores {
		_, err := c.Semaphore(a.name).TrySetPermits(t.Context(), stressPermits)
		require.NoError(t, err)
	}
	allFree := func() bool {
		return !slices.ContainsFunc(semaphores, func(a *arena) bool {
			free, err := c.Semaphore(a.name).Available(t.Context())
			return err != nil || free != stressPermits
		})
	}
	channels := func() []string {
		all, err := rdb.PubSubChannels(t.Context(), "*"+t.Name()+"*").Result()
		require.NoError(t, err)
		return all
	}
	before := runtime.NumGoroutine()
	leave := contend(t, addr, names, length)
	assert.Eventually(t, allFree, realTime, 10*time.Millisecond, "permits are left taken")
	leave()

	assert.Eventually(t, func() bool { return len(channels()) == 0 }, realTime, 10*time.Millisecond,
		"subscriptions are left: %v", channels())
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, // the poll's own
		realTime, 10*time.Millisecond, "goroutines are left")
	for _, a := range names {
		t.Logf("%s: %d visits", a.name, a.visits.Load())
		assert.Zero(t, a.over.Load(), "%s: granted to too many", a.name)
		assert.NotZero(t, a.visits.Load(), "%s: never granted", a.name)
	}
}

// contend has many tasks of several processes enter all arenas for a time. The
// processes go on with what they do in the background until leave.
func contend(t *testing.T, addr string, names []*arena, length time.Duration) (leave func()) {
	clients := make([]*lockclient.Client, stressProcesses)
	var close []func()
	for i := range clients {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		// A loaded machine is no reason for an unknown outcome.
		c := lockclient.New(transportOf(t, rdb), lockclient.System(), lockclient.WithTimeout(10*time.Second))
		clients[i] = c
		close = append(close, c.Close, func() { rdb.Close() })
	}
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	for task := range stressTasks {
		wg.Go(func() {
			for round := task; time.Now().Before(end); round++ {
				a := names[round%len(names)]
				impatient := round%7 == 0 // gives up in the middle of anything, which must harm nobody
				limit := time.Minute
				if impatient {
					limit = 20 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				err := a.enter(ctx, clients[task%len(clients)], a.name, a.visit)
				if !impatient {
					assert.NoError(t, err, a.name)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	return func() {
		for _, f := range close {
			f()
		}
	}
}

func transportOf(t *testing.T, rdb *redis.Client) *goredis.Transport {
	t.Helper()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	return transport
}
