//go:build unix

package sim

import (
	"context"
	"iter"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/luaengine"
)

// BenchmarkSpeed prints, for one core, tracing off and the hash on: what an event
// costs in units of one bare push and pop of a heap and one switch of coroutines, among
// 1,000 clients and, with all that a run begins and ends with, among three; what
// a lock/unlock cycle with 1,000 clients costs in units of its two scripts, run alone,
// with work and a write in between and without; how many seeds of three clients and 60
// virtual seconds there are in a second; and how long a failover with a lease of 30 s
// takes. What is measured is processor time, in turn, so that a busy machine may do
// other things.
func BenchmarkSpeed(b *testing.B) {
	defer sweepSeldom()()
	lua := NewLua()
	cycles, pure := parsed(b, cyclesScenario), parsed(b, pureScenario)
	seeds := parsed(b, "world clients=3 lock=mutex hold=1s..5s think=1s..5s\nexpect exclusion=holds\nrun for=60s\n")
	failover, err := Find("failover_before_replication")
	require.NoError(b, err)
	var t struct{ bare, scripts, cycles, pure, seeds, failover time.Duration }
	var n struct{ bare, scripts, events, grants, pure, seeds, seedEvents, failovers int }
	for i := 0; b.Loop(); i++ {
		t.bare += bare(20_000, 1)
		n.bare += 20_000
		t.scripts += scripts(b, lua, 2000)
		n.scripts += 2000
		r, took := timed(b, cycles, Options{Seed: cycles.Seed, Lua: lua, For: time.Second})
		t.cycles += took
		n.events += int(r.Events)
		n.grants += r.Grants
		r, took = timed(b, pure, Options{Seed: cycles.Seed, Lua: lua, For: time.Second, Own: &Own{Run: lockAndUnlock}})
		t.pure += took
		n.pure += r.Grants
		for j := range 50 {
			r, took = timed(b, seeds, Options{Seed: uint64(50*i + j), Lua: lua})
			t.seeds += took
			n.seeds++
			n.seedEvents += int(r.Events)
			_, took = timed(b, failover, Options{Seed: uint64(50*i + j), Lua: lua})
			t.failover += took
			n.failovers++
		}
	}
	event, cycle := per(t.cycles, n.events), per(t.cycles, n.grants)
	b.ReportMetric(event, "ns/event")
	b.ReportMetric(event/per(t.bare, n.bare), "event/bare")
	b.ReportMetric(cycle, "ns/cycle")
	b.ReportMetric(cycle/per(t.scripts, n.scripts), "cycle/scripts")
	b.ReportMetric(per(t.pure, n.pure), "ns/pure-cycle")
	b.ReportMetric(per(t.pure, n.pure)/per(t.scripts, n.scripts), "pure-cycle/scripts")
	b.ReportMetric(1e9/per(t.seeds, n.seeds), "seeds/s")
	b.ReportMetric(float64(n.seedEvents)/float64(n.seeds), "events/seed")
	b.ReportMetric(per(t.seeds, n.seedEvents)/per(t.bare, n.bare), "seed-event/bare")
	b.ReportMetric(per(t.failover, n.failovers)/1e6, "ms/failover")
}

// BenchmarkCycle is a lock/unlock cycle of few clients and of many, whose data do not
// fit into a cache of the processor. bench/instructions.sh counts its instructions.
func BenchmarkCycle(b *testing.B) {
	defer sweepSeldom()()
	for clients, length := range map[int]time.Duration{3: 20 * time.Second, 1000: 200 * time.Millisecond} {
		b.Run(strconv.Itoa(clients), func(b *testing.B) {
			s, lua := parsed(b, pureScenario), NewLua()
			s.World.Clients = clients
			var took time.Duration
			var grants, events int
			for b.Loop() {
				r, t := timed(b, s, Options{Seed: s.Seed, Lua: lua, For: length, Own: &Own{Run: lockAndUnlock}})
				took, grants, events = took+t, grants+r.Grants, events+int(r.Events)
			}
			b.ReportMetric(per(took, grants), "ns/cycle")
			b.ReportMetric(float64(events)/float64(grants), "events/cycle")
			b.ReportMetric(float64(grants)/float64(b.N), "cycles/op")
		})
	}
}

// BenchmarkEvent prints what an event costs in units of BenchmarkSpeed when next to nothing
// is done in it: of clients that draw how long they sleep, and sleep, and of clients that
// ask a server for one key, whose question and answer are two messages. It prints the same
// in units of a push, a pop and a switch to one of as many coroutines as there are clients,
// whose stacks do not stay in the processor's first caches.
func BenchmarkEvent(b *testing.B) {
	defer sweepSeldom()()
	sleep := func(ctx context.Context, c *Client) error {
		return c.Sleep(ctx, time.Millisecond+time.Duration(c.Draw(4000))*time.Microsecond)
	}
	ask := func(ctx context.Context, c *Client) error {
		_, err := c.Transports()[0].Do(ctx, c.Key(), "TTL", c.Key())
		return err
	}
	for _, clients := range []int{3, 1000} {
		for _, event := range []struct {
			name string
			run  func(context.Context, *Client) error
		}{{"sleep", sleep}, {"message", ask}} {
			b.Run(event.name+"/"+strconv.Itoa(clients), func(b *testing.B) {
				s, lua := parsed(b, pureScenario), NewLua()
				s.World.Clients = clients
				own := &Own{Run: func(ctx context.Context, c *Client) {
					for event.run(ctx, c) == nil {
					}
				}}
				length := time.Duration(1_000_000/clients) * time.Millisecond
				var took, alone, among time.Duration
				var events, runs int
				for b.Loop() {
					alone, runs = alone+bare(20_000, 1), runs+20_000
					among += bare(20_000, clients)
					r, t := timed(b, s, Options{Seed: s.Seed, Lua: lua, For: length, Own: own})
					took, events = took+t, events+int(r.Events)
				}
				b.ReportMetric(per(took, events), "ns/event")
				b.ReportMetric(per(took, events)/per(alone, runs), "event/bare")
				b.ReportMetric(per(took, events)/per(among, runs), "event/bare-among")
			})
		}
	}
}

// sweepSeldom collects garbage as cmd/locksim does, until what it returns is called.
func sweepSeldom() (again func()) {
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

// pureScenario is cyclesScenario of clients that do nothing but lock and unlock.
const pureScenario = "# Cycles.\nworld clients=1000 per-lock=1 lock=own ttl=30s delay=1ms..5ms\n" +
	"expect exclusion=holds\nrun for=5s seed=1\n"

// lockAndUnlock is a client that does nothing else.
func lockAndUnlock(ctx context.Context, c *Client) {
	of := lockclient.New(c.Transports()[0], c.Runtime(), lockclient.WithID(c.ID()))
	lock := of.Mutex(c.Key())
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
}

func per(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / float64(n) }

// processor is the time that this process has used.
func processor() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func timed(b *testing.B, s *Scenario, opt Options) (*Report, time.Duration) {
	b.Helper()
	began := processor()
	r, err := s.Run(context.Background(), opt)
	require.NoError(b, err)
	return r, processor() - began
}

// bare takes n times one entry from a heap of 2,000, puts another into it, and
// switches to the next one of some coroutines and back.
func bare(n, coroutines int) time.Duration {
	var into []func() (struct{}, bool)
	for range coroutines {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			for yield(struct{}{}) {
			}
		})
		defer stop()
		into = append(into, next)
	}
	var q queue
	push := func(at time.Duration) {
		q.seq++
		q.heap = append(q.heap, slot{at: at, seq: q.seq})
		q.up(len(q.heap) - 1)
	}
	for i := range 2000 {
		push(time.Duration(mix(uint64(i)) % 1e9))
	}
	began, turn := processor(), 0
	for i := range n {
		at := q.heap[0].at
		q.drop()
		push(at + time.Duration(mix(uint64(i))%1e9))
		into[turn]()
		if turn++; turn == coroutines {
			turn = 0
		}
	}
	return processor() - began
}

// scripts runs the acquisition and the release of a lock n times on a node. Each
// release has a latch of its own, as a client's have: with the latch of one that
// was done, a release would do nothing.
func scripts(b *testing.B, lua *luaengine.Engine, n int) time.Duration {
	b.Helper()
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1, Lua: lua})
	defer w.Stop()
	c := oneClient(w, &Workload{Kind: "mutex", TTL: 30 * time.Second})
	l := c.redissons()[0].lock(plainSide, lockName(1))
	node := w.nodes[0]
	session := node.proc.NewSession("c1")
	evalSHA := func(q request) (command [][]byte) {
		args := slices.Concat([]string{"EVALSHA", q.script.SHA, strconv.Itoa(len(q.keys))}, q.keys, q.args)
		for _, a := range args {
			command = append(command, []byte(a))
		}
		return command
	}
	acquire, releases := evalSHA(plainSide.acquire(l, l.lease, 0, false)), make([][][]byte, n)
	for i := range releases {
		releases[i] = evalSHA(plainSide.release(l, strconv.Itoa(i)))
	}
	for _, q := range []request{plainSide.acquire(l, l.lease, 0, false), plainSide.release(l, "")} {
		node.byHand("SCRIPT", "LOAD", q.script.Text)
	}
	replies := make([]byte, 0, 64*n)
	began := processor()
	for _, release := range releases {
		for _, command := range [][][]byte{acquire, release} {
			node.proc.Do(session, command)
			replies = append(replies, session.Out...)
			session.Out = session.Out[:0]
		}
		node.proc.Dirty()
	}
	took := processor() - began
	require.Equal(b, strings.Repeat("$-1\r\n:1\r\n", n), string(replies), "each is granted, and freed")
	return took
}
