package java

import (
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

var rewrite = flag.Bool("rewrite", false, "write the table to docs/interop.md")

const (
	masters  = 3               // independent ones
	watchdog = 3 * time.Second // lease of what is locked without one
)

// kind is a kind of lock or synchronizer, by the agent's name.
type kind struct {
	name      string
	later     bool          // Redisson 3.16 does not have it
	asks      time.Duration // longest pause of waiters that ask again by themselves; 0: messages wake them
	renewed   bool          // the watchdog renews it
	rival     string        // the kind of lock on its key that it excludes; "": its own
	contracts []func(*duel)
}

var kinds = []kind{
	{name: "mutex", renewed: true, contracts: []func(*duel){excludes, contends, counts, yieldsToForce}},
	{name: "fair", renewed: true, contracts: []func(*duel){excludes, contends, counts, yieldsToForce, queues}},
	{name: "read", renewed: true, rival: "write",
		contracts: []func(*duel){excludes, contends, shares, seesOtherKinds, yieldsToForce}},
	{name: "write", renewed: true,
		contracts: []func(*duel){excludes, contends, counts, seesOtherKinds, yieldsToForce, admitsReaders}},
	{name: "multi", renewed: true, contracts: []func(*duel){excludes, contends, takesAllOrNone}},
	{name: "fenced", renewed: true, later: true,
		contracts: []func(*duel){excludes, contends, counts, yieldsToForce, fences}},
	{name: "spin", renewed: true, asks: lockclient.DefaultBackoff.Max,
		contracts: []func(*duel){excludes, contends, counts, yieldsToForce}},
	{name: "nonreentrant", renewed: true, later: true,
		contracts: []func(*duel){excludes, contends, refusesReentry, yieldsToForce}},
	{name: "nonreentrant-fair", renewed: true, later: true,
		contracts: []func(*duel){excludes, contends, refusesReentry, yieldsToForce, queues}},
	{name: "redlock", contracts: []func(*duel){excludes, contends, needsMajority}},
	{name: "semaphore", contracts: []func(*duel){countsPermits}},
	{name: "permits", contracts: []func(*duel){leasesPermits, namesPermits}},
	{name: "latch", contracts: []func(*duel){countsDown}},
}

func TestRedisson(t *testing.T) {
	if os.Getenv("INTEROP_JAVA") == "" {
		t.Skip("interop/run.sh builds Redisson and runs this")
	}
	found := table{cells: map[[2]string]string{}}
	backends := backends()
	for _, folder := range []string{"redisson3", "redisson4"} {
		built := build(t, folder)
		for _, b := range backends {
			name := built.version + " on " + b.name
			t.Run(name, func(t *testing.T) {
				fmt.Println("Redisson", name)
				meet(t, &found, name, built, b)
			})
		}
	}
	fmt.Print("\n", found.markdown())
	failed := t.Failed()
	t.Run("document", func(t *testing.T) {
		if failed || len(backends) < 2 {
			t.Skip("the document has the table of a good run with redis-server")
		}
		found.compare(t, *rewrite)
	})
}

// meet has both parties meet on one backend's servers, and fills a column.
func meet(t *testing.T, found *table, column string, built redisson, b backend) {
	old := built.folder == "redisson3"
	var addresses []string
	here := &gophers{ctx: t.Context()}
	for range masters {
		address := b.start(t)
		addresses = append(addresses, address)
		here.clients = append(here.clients, connect(t, address, old))
	}
	var servers []*redis.Client
	for _, address := range addresses {
		server := redis.NewClient(&redis.Options{Addr: address})
		t.Cleanup(func() { server.Close() })
		servers = append(servers, server)
	}
	there := built.start(t, addresses)

	m := meeting{t, found, column, old, here, there, servers}
	pairs := []pair{{here, there}, {there, here}}
	for _, k := range kinds {
		for _, p := range pairs {
			m.compete(k, p)
		}
	}
	m.renew(pairs)
}

// meeting fills a column of the table.
type meeting struct {
	*testing.T
	found  *table
	column string
	old    bool
	here   party
	there  party
	// servers are the masters, the first of which has all but Redlocks.
	servers []*redis.Client
}

// pair is a direction.
type pair struct{ holds, waits party }

func (m meeting) has(k kind) bool { return !m.old || !k.later }

func (m meeting) duel(t *testing.T, k kind, p pair, key string) *duel {
	d := &duel{T: t, kind: k.name, rival: k.rival, silent: k.asks > 0, key: key, holds: p.holds, waits: p.waits,
		here: m.here, there: m.there, server: m.servers[0], masters: m.servers}
	if d.rival == "" {
		d.rival = d.kind
	}
	return d
}

// tries are how often a kind may show that it wakes in time: a machine can be
// busy with something else. Who is not woken at all fails at once.
const tries = 3

// compete runs the contracts of a kind.
func (m meeting) compete(k kind, p pair) {
	row := fmt.Sprintf("%s, %s holds", k.name, p.holds.name())
	if !m.has(k) {
		m.found.set(row, m.column, "-")
		return
	}
	m.found.set(row, m.column, "FAILED")
	m.Run(row, func(t *testing.T) {
		limit, slowest := wakeLimit+k.asks, time.Duration(math.MaxInt64)
		for try := 0; try < tries && slowest >= limit; try++ {
			d := m.duel(t, k, p, fmt.Sprintf("interop:%s:%s:%d", k.name, p.holds.name(), try))
			for _, contract := range k.contracts {
				contract(d)
			}
			slowest = d.slowest
		}
		assert.Less(t, slowest, limit, "woken late, %d times", tries)
		if !t.Failed() {
			m.found.set(row, m.column, fmt.Sprintf("%d ms", slowest.Milliseconds()))
		}
	})
}

// renew: what is held without a lease is held for as long as its watchdog
// renews it. All kinds are held at the same time, in both directions, as this
// takes a while.
func (m meeting) renew(pairs []pair) {
	duels := map[pair][]*duel{}
	for _, p := range pairs {
		for _, k := range kinds {
			if k.renewed && m.has(k) {
				d := m.duel(m.T, k, p, fmt.Sprintf("interop:watchdog:%s:%s", k.name, p.holds.name()))
				d.holder("t1").ask("lock", noLease)
				duels[p] = append(duels[p], d)
			}
		}
	}
	time.Sleep(2 * watchdog)
	for _, p := range pairs {
		row := fmt.Sprintf("watchdog, %s holds", p.holds.name())
		m.found.set(row, m.column, "FAILED")
		m.Run(row, func(t *testing.T) {
			for _, d := range duels[p] {
				d.T = t
				d.rivals("t1").isRefused()
				d.holder("t1").unlock()
				d.rivals("t1").getsIt()
			}
			if !t.Failed() {
				m.found.set(row, m.column, "holds")
			}
		})
	}
}

// connect makes a client of lockclient that speaks Redisson's old or present
// protocol.
func connect(t *testing.T, address string, old bool) *lockclient.Client {
	return clientOver(t, redis.NewClient(&redis.Options{Addr: address}), old)
}

func clientOver(t *testing.T, rdb redis.UniversalClient, old bool) *lockclient.Client {
	t.Cleanup(func() { rdb.Close() })
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	options := []lockclient.Option{
		lockclient.WithWatchdog(watchdog),
		lockclient.WithPoll(time.Hour), // so that nothing but a message wakes
	}
	if old {
		options = append(options, lockclient.Compat316())
	}
	c := lockclient.New(transport, lockclient.System(), options...)
	t.Cleanup(c.Close)
	return c
}
