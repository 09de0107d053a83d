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

// lockGenerator is clients that lock and unlock lockclient's Mutex over go-redis. One
// operation is both together. All are in one process: a waiter has one subscription,
// whoever else waits.
type lockGenerator struct {
	redis  *redis.Client
	locks  []*lockclient.Lock
	inside []atomic.Int32 // holders of each lock: never two
	which  []int          // of the locks, by client
}

// round is what one measurement gives.
type round struct {
	Operations int     `json:"operations"`
	Seconds    float64 `json:"seconds"`
	Latencies  []byte  `json:"latencies"` // a histogram of microseconds, as HdrHistogram encodes it
}

// newLockGenerator makes clients that have a lock each or, contended, all the same one.
func newLockGenerator(addr string, count int, contended bool) (*lockGenerator, error) {
	g := &lockGenerator{redis: redis.NewClient(&redis.Options{Addr: addr, PoolSize: count})}
	transport, err := goredis.New(context.Background(), g.redis)
	if err != nil {
		return nil, err
	}
	client := lockclient.New(transport, lockclient.System())
	for i := range count {
		if contended && i > 0 {
			g.which = append(g.which, 0)
			continue
		}
		g.which = append(g.which, i)
		g.locks = append(g.locks, client.Mutex(fmt.Sprintf("orders:%d", i)))
	}
	g.inside = make([]atomic.Int32, len(g.locks))
	return g, nil
}

func (g *lockGenerator) close() { _ = g.redis.Close() }

// newHistogram takes what bench's does.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

// measure has all clients lock and unlock for d.
func (g *lockGenerator) measure(d time.Duration) (round, error) {
	var wg sync.WaitGroup
	done := make([]int, len(g.which))
	errs := make([]error, len(g.which))
	histograms := make([]*hdrhistogram.Histogram, len(g.which))
	begun := time.Now()
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
	one, all := round{Seconds: time.Since(begun).Seconds()}, newHistogram()
	for i := range done {
		one.Operations += done[i]
		all.Merge(histograms[i])
	}
	var err error
	one.Latencies, err = all.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return one, errors.Join(append(errs, err)...)
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
