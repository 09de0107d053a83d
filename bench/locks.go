package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

// contention says whose the locks of lockClient are.
type contention bool

const (
	alone     contention = false // each client has a lock of its own
	contended contention = true  // all want the same one
)

// lockClient is lockclient's Mutex over go-redis, locked and unlocked by as many
// clients as the row has connections. One operation is both together.
func lockClient(c contention) workload {
	return workload{name: "lockclient",
		start: func(t *target, r row) (generator, error) { return newLockGenerator(t, r, c) }}
}

// lockGenerator is the clients of lockClient. All are in one process: a waiter
// has one subscription, whoever else waits.
type lockGenerator struct {
	target *target
	redis  *redis.Client
	locks  []*lockclient.Lock
	inside []atomic.Int32 // holders of each lock: never two
	which  []int          // of the locks, by client
}

func newLockGenerator(t *target, r row, c contention) (*lockGenerator, error) {
	g := &lockGenerator{target: t, redis: redis.NewClient(&redis.Options{Addr: t.addr, PoolSize: r.conns})}
	transport, err := goredis.New(context.Background(), g.redis)
	if err != nil {
		return nil, err
	}
	client := lockclient.New(transport, lockclient.System())
	for i := range r.conns {
		if c == contended && i > 0 {
			g.which = append(g.which, 0)
			continue
		}
		g.which = append(g.which, i)
		g.locks = append(g.locks, client.Mutex(fmt.Sprintf("orders:%d", i)))
	}
	g.inside = make([]atomic.Int32, len(g.locks))
	return g, nil
}

// close implements generator.
func (g *lockGenerator) close() { _ = g.redis.Close() }

// measure implements generator.
func (g *lockGenerator) measure(d time.Duration) (sample, error) {
	var wg sync.WaitGroup
	done := make([]int, len(g.which))
	errs := make([]error, len(g.which))
	histograms := make([]*hdrhistogram.Histogram, len(g.which))
	before, begun := g.target.cpu(), time.Now()
	deadline := begun.Add(d)
	for i := range g.which {
		histograms[i] = newHistogram()
		wg.Go(func() {
			for time.Now().Before(deadline) && errs[i] == nil {
				start := time.Now()
				errs[i] = g.cycle(g.which[i])
				_ = histograms[i].RecordValue(time.Since(start).Microseconds())
				done[i]++
			}
		})
	}
	wg.Wait()
	elapsed, used := time.Since(begun), g.target.cpu()-before
	s := sample{histogram: newHistogram()}
	for i := range done {
		s.operations += done[i]
		s.histogram.Merge(histograms[i])
	}
	s.ops = float64(s.operations) / elapsed.Seconds()
	s.cpuPerOp = float64(used) / float64(s.operations)
	return s, errors.Join(errs...)
}

// cycle locks and unlocks, and checks that nobody else is inside.
func (g *lockGenerator) cycle(which int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	held, err := g.locks[which].Lock(ctx)
	if err != nil {
		return err
	}
	if n := g.inside[which].Add(1); n != 1 {
		return fmt.Errorf("%d hold %s", n, g.locks[which].Key())
	}
	g.inside[which].Add(-1)
	return held.Unlock(ctx)
}
