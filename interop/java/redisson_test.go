package java

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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
	later     bool // Redisson 3.16 does not have it
	silent    bool // its waiters are not woken by messages
	renewed   bool // the watchdog renews it
	contracts []func(*duel)
}

var kinds = []kind{
	{name: "mutex", renewed: true, contracts: []func(*duel){excludes, counts}},
	{name: "fenced", later: true, renewed: true, contracts: []func(*duel){excludes, counts, fences}},
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
			fmt.Println("Redisson", name)
			t.Run(name, func(t *testing.T) { meet(t, &found, name, built, b) })
		}
	}
	fmt.Print("\n", found.markdown())
	t.Run("document", func(t *testing.T) {
		if len(backends) < 2 {
			t.Skip("the document's table needs redis-server too")
		}
		found.compare(t, *rewrite)
	})
}

// meet has both parties meet on one backend's servers, and fills a column.
func meet(t *testing.T, found *table, column string, built redisson, b backend) {
	old := built.folder == "redisson3"
	var addresses []string
	here := &gophers{ctx: t.Context(), held: map[place][]*lockclient.Held{}}
	for range masters {
		address := b.start(t)
		addresses = append(addresses, address)
		here.clients = append(here.clients, connect(t, address, old))
	}
	server := redis.NewClient(&redis.Options{Addr: addresses[0]})
	t.Cleanup(func() { server.Close() })
	there := built.start(t, watchdog, addresses)

	m := meeting{t, found, column, old, here, server}
	pairs := [][2]party{{here, there}, {there, here}}
	for _, pair := range pairs {
		d := m.duel(t, kinds[0], pair[0], pair[1])
		d.limit = callLimit // the first of all takes its time
		excludes(d)
	}
	for _, k := range kinds {
		for _, pair := range pairs {
			m.cell(k, pair[0], pair[1])
		}
	}
}

// meeting fills a column of the table.
type meeting struct {
	*testing.T
	found  *table
	column string
	old    bool
	here   party
	server *redis.Client
}

// cell runs the contracts of a kind in one direction.
func (m meeting) cell(k kind, holds, waits party) {
	row, result := fmt.Sprintf("%s, %s holds", k.name, holds.name()), "-"
	if !m.old || !k.later {
		m.Run(row, func(t *testing.T) {
			d := m.duel(t, k, holds, waits)
			result = "FAILED"
			for _, contract := range k.contracts {
				contract(d)
			}
			if !t.Failed() {
				result = fmt.Sprintf("%d ms", d.slowestWakeUp.Milliseconds())
			}
		})
	}
	m.found.set(row, m.column, result)
}

func (m meeting) duel(t *testing.T, k kind, holds, waits party) *duel {
	return &duel{T: t, kind: k.name, silent: k.silent, key: fmt.Sprintf("interop:%s:%s", k.name, holds.name()),
		holds: holds, waits: waits, here: m.here, server: m.server, limit: wakeLimit}
}

// connect makes a client of lockclient that speaks Redisson's old or present
// protocol.
func connect(t *testing.T, address string, old bool) *lockclient.Client {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { rdb.Close() })
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	options := []lockclient.Option{lockclient.WithWatchdog(watchdog)}
	if old {
		options = append(options, lockclient.Compat316())
	}
	c := lockclient.New(transport, lockclient.System(), options...)
	t.Cleanup(c.Close)
	return c
}
