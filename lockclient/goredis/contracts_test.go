package goredis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	kind string // whose user it is, where there are users
	dial func(kind string, db int) (lockclient.Transport, error)

	// Contracts share connections, as opening them is most of the work. The
	// processes of one contract do not.
	mu   *sync.Mutex
	open map[place]lockclient.Transport
	next *int
}

// place is a transport's number within each contract, whose user it is, and its master.
type place struct {
	kind           string
	number, master int
}

// sharing makes an Env.
func sharing(t *testing.T, dial func(kind string, db int) (lockclient.Transport, error)) sockets {
	return sockets{t, lockclient.System(), "", dial, &sync.Mutex{}, map[place]lockclient.Transport{}, new(int)}
}

// fresh is the Env for another contract of a kind.
func (s sockets) fresh(kind string) sockets {
	s.kind, s.next = kind, new(int)
	return s
}

func (s sockets) Context() context.Context { return s.t.Context() }

func (s sockets) Runtime() lockclient.Runtime { return s.rt }

func (s sockets) Stall() time.Duration { return stall }

func (s sockets) Stalled() time.Duration { return stalledSoFar() }

func (s sockets) Transport(master int) (lockclient.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := place{s.kind, *s.next, master}
	*s.next++
	if transport := s.open[at]; transport != nil {
		return transport, nil
	}
	transport, err := s.dial(s.kind, master)
	if err == nil {
		s.open[at] = transport
	}
	return transport, err
}

// overGoRedis is the Env of go-redis. Each kind has a user with the rights that it needs.
func overGoRedis(t *testing.T, addr string) sockets {
	users := usersOfKinds(t, addr)
	return sharing(t, func(kind string, db int) (lockclient.Transport, error) {
		options := users[kind].options
		options.DB, options.PoolSize = db, together
		client := redis.NewClient(&options)
		t.Cleanup(func() { client.Close() })
		return goredis.New(t.Context(), client)
	})
}

// stall is how long a busy machine may hold up a test.
const stall = 3 * time.Second

// together is how many contracts run at once in an Env, if the machine keeps up
// with them: they mostly wait.
const together = 100

// few is how many run at once however busy the machine is.
const few = 8

// What countStalls has counted: its rounds, and for how long tasks were held up, in
// nanoseconds.
var rounds, stalled atomic.Int64

// countStalls wants to run every few milliseconds, and counts by how much it is
// late: on a machine that has nothing else to do, never.
func countStalls() {
	const pace, usual = 5 * time.Millisecond, 2 * time.Millisecond
	for {
		begun := time.Now()
		time.Sleep(pace)
		if late := time.Since(begun) - pace; late > usual {
			stalled.Add(int64(late))
		}
		rounds.Add(1)
	}
}

// stalledSoFar is for how long tasks were held up until now. Who was held up may ask
// before countStalls, which was as well, has noticed: it waits for that.
func stalledSoFar() time.Duration {
	for seen := rounds.Load(); rounds.Load() == seen; {
		time.Sleep(time.Millisecond)
	}
	return time.Duration(stalled.Load())
}

// keepsUp tells whether the machine keeps up with what runs: contracts must not be late
// because of each other.
func keepsUp() bool {
	begun := time.Now()
	time.Sleep(5 * time.Millisecond)
	return time.Since(begun) < 50*time.Millisecond
}

// settle waits until the machine keeps up, at most a few seconds.
func settle() {
	for end := time.Now().Add(stall); time.Now().Before(end) && !keepsUp(); {
	}
}

// Every kind keeps its contracts over each adapter, on each server.
func TestContracts(t *testing.T) {
	var wg sync.WaitGroup
	for _, s := range servers(t) {
		for adapter, env := range map[string]sockets{"go-redis": overGoRedis(t, s.addr), "rueidis": overRueidis(t, s.addr)} {
			wg.Go(func() {
				trials := allTrials(s.name+", "+adapter, env)
				for _, atOnce := range []int{together, few, 1} {
					trials = tried(t, env, trials, atOnce)
				}
				for _, trial := range trials {
					assert.NoError(t, trial())
				}
			})
		}
	}
	wg.Wait()
}

// trial is a contract that a kind has to keep.
type trial func() error

func allTrials(where string, env sockets) (all []trial) {
	for _, kind := range locktest.Kinds() {
		for _, contract := range locktest.Contracts() {
			if !contract.Applies(kind) {
				continue
			}
			all = append(all, func() error {
				if err := contract.Run(env.fresh(kind.Name), kind); err != nil {
					return fmt.Errorf("%s: %w", where, err)
				}
				return nil
			})
		}
	}
	return all
}

// tried runs trials, at most so many at once, and only few while the machine does not keep
// up with them. It returns those that were broken while the machine was held up for longer
// than they can bear, which says nothing of locks.
func tried(t *testing.T, env sockets, trials []trial, atOnce int) (starved []trial) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, atOnce)
	for _, one := range trials {
		slots <- struct{}{}
		for len(slots) > few && !keepsUp() {
		}
		wg.Go(func() {
			defer func() { <-slots }()
			before := env.Stalled()
			err := one()
			if err == nil || env.Stalled()-before <= stall {
				assert.NoError(t, err)
				return
			}
			t.Logf("%v; tasks were held up for %v", err, env.Stalled()-before)
			mu.Lock()
			defer mu.Unlock()
			starved = append(starved, one)
		})
	}
	wg.Wait()
	return starved
}

// rowOf is the row of docs/acl.md that a kind of locktest is in.
var rowOf = map[string]string{
	"mutex": "Mutex", "fenced": "Fenced", "fair": "Fair", "spin": "Spin", "write": "RW", "read": "RW", "multi": "Mutex",
	"non-reentrant": "NonReentrant", "non-reentrant-fair": "NonReentrantFair", "permit": "PermitSemaphore",
	"semaphore": "Semaphore", "latch": "Latch", "simple": "Simple", "redlock": "Redlock", "hash-redlock": "HashRedlock",
}

// usersOfKinds makes a user for each kind of locktest, and requires in the end that nothing
// was refused. They may do a little more, which contracts themselves do.
func usersOfKinds(t *testing.T, addr string) map[string]*user {
	kinds, _, _ := documentedRights(t)
	users := map[string]*user{}
	for _, kind := range locktest.Kinds() {
		row := rowOf[strings.TrimSuffix(strings.TrimSuffix(kind.Name, "-316"), "-mixed")]
		rules := append(kinds[row].rules("locktest:*"), "+exists", "+del", "+llen", "+select")
		users[kind.Name] = newUser(t, addr, uniqueKey(t)+kind.Name, rules)
	}
	t.Cleanup(func() {
		for _, u := range users {
			assert.Empty(t, u.refused(t), u.name)
		}
	})
	return users
}
