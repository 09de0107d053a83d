package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
	"minikv/sim"
)

// fact is a figure, as bench prints it.
type fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// clients is how many clients lock and unlock in the comparison of the simulator.
const clients = 1000

// cycles is a scenario of as many clients, each with a lock of its own, which
// lock and unlock as fast as a network of 1 to 5 ms lets them.
const cycles = `# Cycles.
world clients=1000 per-lock=1 lock=mutex ttl=30s renew=on delay=1ms..5ms hold=1ms think=0s..10ms
expect exclusion=holds
run for=2s seed=1
`

// pure is cycles for clients that do nothing but lock and unlock, as those of
// redislock do.
const pure = `# Cycles.
world clients=1000 per-lock=1 lock=own ttl=30s delay=1ms..5ms
expect exclusion=holds
run for=2s seed=1
`

// lockAndUnlock is a client that does nothing else, with a lock that named names.
func lockAndUnlock(named func(c *lockclient.Client, key string) *lockclient.Lock) *sim.Own {
	return &sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		of := lockclient.New(c.Transports()[0], c.Runtime(), lockclient.WithID(c.ID()))
		lock := named(of, c.Key())
		for {
			held, err := lock.Lock(ctx)
			if err != nil {
				return
			}
			b := c.Believes(0)
			c.Ends(b, false)
			if held.Unlock(ctx) != nil {
				return
			}
		}
	}}
}

// simulator compares lock/unlock cycles of lockclient in virtual time with those
// of bsm/redislock on miniredis in real time, both with 1,000 clients. A world has
// one core and redislock has all, so as many worlds as there are cores run beside
// each other, as in a search. Redislock's lock is a plain one, as Simple is; a Mutex
// does more for each cycle.
func simulator(ctx context.Context, miniredis string, length time.Duration) ([]fact, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as cmd/locksim has it
	events, working, err := virtualCycles(ctx, cycles, nil, length)
	if err != nil {
		return nil, err
	}
	mutex, plain := lockAndUnlock((*lockclient.Client).Mutex), lockAndUnlock((*lockclient.Client).Simple)
	_, alone, err := virtualCycles(ctx, pure, mutex, length)
	if err != nil {
		return nil, err
	}
	virtual, err := onEveryCore(ctx, mutex, length)
	if err != nil {
		return nil, err
	}
	virtualPlain, err := onEveryCore(ctx, plain, length)
	if err != nil {
		return nil, err
	}
	real, err := realCycles(ctx, miniredis, length)
	if err != nil {
		return nil, err
	}
	seeds, err := virtualSeeds(ctx, length)
	return []fact{
		{"simulator events", events, "1/s"},
		{"simulator lock cycles", alone, "1/s"},
		{"simulator lock cycles on all cores", virtual, "1/s"},
		{"simulator lock cycles with work and a write", working, "1/s"},
		{"simulator seeds of three clients and 60 s", seeds, "1/s"},
		{"redislock on miniredis lock cycles", real, "1/s"},
		{"simulator against redislock on miniredis", virtual / real, "ratio"},
		{"simulator lock cycles on all cores, a plain lock", virtualPlain, "1/s"},
		{"simulator against redislock on miniredis, both a plain lock", virtualPlain / real, "ratio"},
	}, err
}

// onEveryCore is how many cycles of pure there are in a second on all cores together.
func onEveryCore(ctx context.Context, own *sim.Own, length time.Duration) (float64, error) {
	var wg sync.WaitGroup
	rates, errs := make([]float64, runtime.GOMAXPROCS(0)), make([]error, runtime.GOMAXPROCS(0))
	for i := range rates {
		wg.Go(func() { _, rates[i], errs[i] = virtualCycles(ctx, pure, own, length) })
	}
	wg.Wait()
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	return sum, errors.Join(errs...)
}

// virtualCycles runs a scenario over and over for length of real time.
func virtualCycles(
	ctx context.Context, scenario string, own *sim.Own, length time.Duration,
) (events, grants float64, err error) {
	s, err := sim.ParseScenario("cycles.scenario", scenario)
	if err != nil {
		return 0, 0, err
	}
	lua := sim.NewLua()
	begun := time.Now()
	for time.Since(begun) < length {
		r, err := s.Run(ctx, sim.Options{Seed: s.Seed, Lua: lua, Own: own})
		if err != nil {
			return 0, 0, err
		}
		if !r.AsExpected() {
			return 0, 0, errors.New("the simulator's lock was held twice")
		}
		events += float64(r.Events)
		grants += float64(r.Grants)
	}
	seconds := time.Since(begun).Seconds()
	return events / seconds, grants / seconds, nil
}

// virtualSeeds counts runs of three clients that share a lock for 60 virtual seconds.
func virtualSeeds(ctx context.Context, length time.Duration) (float64, error) {
	const text = "# Seeds.\nworld clients=3 lock=mutex hold=1s..5s think=1s..5s\n" +
		"expect exclusion=holds\nrun for=60s seed=1\n"
	s, err := sim.ParseScenario("seeds.scenario", text)
	if err != nil {
		return 0, err
	}
	lua := sim.NewLua()
	begun, runs := time.Now(), 0
	for ; time.Since(begun) < length; runs++ {
		if _, err := s.Run(ctx, sim.Options{Seed: uint64(runs), Lua: lua}); err != nil {
			return 0, err
		}
	}
	return float64(runs) / time.Since(begun).Seconds(), nil
}

// realCycles has as many clients of redislock lock and unlock on a server for length.
func realCycles(ctx context.Context, addr string, length time.Duration) (float64, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 50})
	defer client.Close()
	locker := redislock.New(client)
	var wg sync.WaitGroup
	var done atomic.Int64
	errs := make([]error, clients)
	begun := time.Now()
	for i := range clients {
		wg.Go(func() {
			for time.Since(begun) < length && errs[i] == nil {
				lock, err := locker.Obtain(ctx, fmt.Sprintf("orders:%d", i), 30*time.Second, nil)
				if err == nil {
					err = lock.Release(ctx)
				}
				errs[i] = err
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(begun).Seconds(), errors.Join(errs...)
}
