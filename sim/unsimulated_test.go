//go:build unix

package sim

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/lockclient"
	"minikv/luaengine"
	"minikv/server/engine"
)

// BenchmarkUnsimulated is what no simulator can get below: a lock/unlock cycle of 1,000
// clients whose requests are calls of the server, in a time that stands still. Beside it
// are its two scripts, run alone, and one push and pop of a heap with one switch of
// coroutines, of which a cycle in the simulator has fourteen.
func BenchmarkUnsimulated(b *testing.B) {
	defer sweepSeldom()()
	lua := NewLua()
	var t struct{ cycles, scripts, bare time.Duration }
	const n = 20_000
	for b.Loop() {
		t.cycles += unsimulated(b, lua, n)
		t.scripts += scripts(b, lua, n/10)
		t.bare += bare(n, 1)
	}
	b.ReportMetric(per(t.cycles, n*b.N), "ns/cycle")
	b.ReportMetric(per(t.scripts, n/10*b.N), "ns/scripts")
	b.ReportMetric(per(t.bare, n*b.N), "ns/bare")
}

// unsimulated has 1,000 clients lock and unlock in turn, n times in all, each a lock of its own.
func unsimulated(b *testing.B, lua *luaengine.Engine, n int) time.Duration {
	b.Helper()
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1, Lua: lua})
	defer w.Stop()
	var drawn uint64
	rt, ctx := still{lockclient.System(), &drawn}, context.Background()
	locks := make([]*lockclient.Lock, 1000)
	for i := range locks {
		t := &direct{node: w.nodes[0], session: w.nodes[0].proc.NewSession("c" + strconv.Itoa(i))}
		of := lockclient.New(t, rt, lockclient.WithID(fmt.Sprintf("%032x", i)))
		locks[i] = of.Mutex(lockName(int32(i)))
	}
	began := processor()
	for i := range n {
		h, err := locks[i%len(locks)].Lock(ctx)
		if err == nil {
			err = h.Unlock(ctx)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return processor() - began
}

// direct is a Transport that calls a server as a function: nothing is between them.
type direct struct {
	node    *node
	session *engine.Session
	args    []string // of the last request
}

func (d *direct) Eval(_ context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	d.args = append(d.args[:0], "EVALSHA", s.SHA, strconv.Itoa(len(keys)))
	d.args = append(append(d.args, keys...), args...)
	r, err := d.ask(d.args)
	if err != nil {
		d.session.Out = d.session.Out[:0]
		d.node.byHand("SCRIPT", "LOAD", s.Text)
		return d.ask(d.args)
	}
	return r, err
}

func (d *direct) Do(_ context.Context, _ string, args ...string) (lockclient.Reply, error) {
	return d.ask(args)
}

func (d *direct) ask(args []string) (lockclient.Reply, error) {
	d.node.do(d.session, args)
	d.node.proc.Dirty()
	v, n, err := resp.Parse(d.session.Out)
	if err != nil || n != len(d.session.Out) || v.Kind == resp.Error {
		return lockclient.Reply{}, fmt.Errorf("%q: %v", d.session.Out, err)
	}
	d.session.Out = d.session.Out[:0]
	return toReply(&v), nil
}

func (d *direct) Subscribe(
	context.Context, string, bool, func(string), func(),
) (lockclient.Subscription, error) {
	return nil, lockclient.ErrNotSent
}

func (d *direct) Topology() lockclient.Topology { return lockclient.Topology{} }

// still is a Runtime that costs nothing: its time stands still, its timers never fire.
type still struct {
	lockclient.Runtime
	drawn *uint64
}

func (s still) Mono() time.Duration { return time.Second }

func (s still) Random(p []byte) {
	for i := range p {
		*s.drawn++
		p[i] = byte(mix(*s.drawn))
	}
}

func (s still) Go(f func()) { f() }

func (s still) NewTimer(func()) lockclient.Timer { return noTimer{} }

func (s still) WithDeadline(parent context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return parent, func() {}
}

func (s still) WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	c := &endable{Context: parent}
	return c, func(cause error) { c.err = cause }
}

func (s still) WithValue(parent context.Context, key, value any) context.Context {
	return &valueCtx{parent, key, value}
}

// endable is a context for which nobody waits.
type endable struct {
	context.Context
	err error
}

func (c *endable) Err() error { return c.err }

type noTimer struct{}

func (noTimer) Set(time.Duration) {}

func (noTimer) Stop() {}
