package cluster

import (
	"fmt"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/server/engine"
)

// virtualWorld runs the processes of a Sentinel set in virtual time: a message
// takes latency, and everything is done in one order.
type virtualWorld struct {
	t       *testing.T
	now     time.Duration
	random  uint64
	steps   []worldStep // by their times, those of one time in the order of their making
	procs   []*worldProcess
	latency time.Duration
	held    []Message // sent across a cut: they arrive when it is gone, as TCP sends them again
}

type worldStep struct {
	at  time.Duration
	run func()
}

// worldProcess is one process and two of its clients.
type worldProcess struct {
	w       *virtualWorld
	name    string
	id      ID
	port    int
	proc    Process
	alive   bool
	frozen  bool
	held    []Message     // came while it was frozen
	offset  time.Duration // of its wall clock
	cut     map[ID]bool   // whom it does not reach
	control *engine.Session
	listens *engine.Session
	events  []event
}

// event is what a Sentinel has published.
type event struct{ channel, text string }

func (e event) String() string { return e.channel + " " + e.text }

// Wall and Mono make a process its own clock.
func (p *worldProcess) Wall() time.Time     { return worldStart.Add(p.w.now + p.offset) }
func (p *worldProcess) Mono() time.Duration { return p.w.now }

var worldStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const worldPort = 21500

// newVirtualWorld starts a master m1, its replicas r1 and so on, and Sentinels s1 and so on.
func newVirtualWorld(t *testing.T, cfg deployment, seed uint64) *virtualWorld {
	w := &virtualWorld{t: t, random: seed*2 + 1, latency: 300 * time.Microsecond}
	names := cfg.names()
	host := cfg.host
	if host == "" {
		host = "127.0.0.1"
	}
	dir := make(Directory, len(names))
	for i := range names {
		dir[i] = fmt.Sprintf("%s:%d", host, worldPort+i)
	}
	lua := luaengine.New(engine.Resolve)
	for i, name := range names {
		p := &worldProcess{w: w, name: name, id: ID(i + 1), port: worldPort + i, alive: true, cut: map[ID]bool{}}
		node := engine.Config{Clock: p, Random: w.draw, Lua: lua, Parameters: map[string]string{}}
		if name[0] == 'r' {
			node.Parameters["replicaof"] = fmt.Sprintf("%s %d", host, worldPort)
		}
		if name[0] == 's' {
			p.proc = NewSentinel(SentinelConfig{ID: p.id, Directory: dir, Node: node, Masters: []WatchedMaster{{
				Name: "mymaster", Host: host, Port: worldPort, Quorum: cfg.quorum,
				DownAfter: cfg.downAfter, FailoverTimeout: cfg.failoverTimeout,
			}}})
		} else {
			p.proc = NewMember(MemberConfig{ID: p.id, Directory: dir, Node: node})
		}
		w.procs = append(w.procs, p)
		p.connect()
	}
	for i, p := range w.procs {
		started := time.Duration(i) * 20 * time.Millisecond
		w.at(started, func() { p.wake() })
	}
	return w
}

func (w *virtualWorld) draw() uint64 {
	w.random = w.random*6364136223846793005 + 1442695040888963407
	return w.random >> 20 // the low bits of such a generator repeat
}

func (w *virtualWorld) at(when time.Duration, run func()) {
	i := sort.Search(len(w.steps), func(i int) bool { return w.steps[i].at > when })
	w.steps = append(w.steps, worldStep{})
	copy(w.steps[i+1:], w.steps[i:])
	w.steps[i] = worldStep{when, run}
}

// sleep lets time pass.
func (w *virtualWorld) sleep(d time.Duration) {
	end := w.now + d
	for len(w.steps) > 0 && w.steps[0].at <= end {
		next := w.steps[0]
		w.steps = w.steps[1:]
		w.now = max(w.now, next.at)
		next.run()
	}
	w.now = end
}

// connect makes the clients of the test.
func (p *worldProcess) connect() {
	p.control = p.proc.NewSession("127.0.0.1:50000")
	p.listens = nil
	if p.name[0] == 's' {
		p.listens = p.proc.NewSession("127.0.0.1:50001")
		p.proc.Do(p.listens, [][]byte{[]byte("PSUBSCRIBE"), []byte("*")})
		p.listens.Out = nil
	}
}

// wake is the shell's timer: it ticks, and comes again when the process asks for it.
func (p *worldProcess) wake() {
	if p.alive && !p.frozen {
		p.proc.Tick()
		p.settle()
	}
}

// settle does what a shell does after each call.
func (p *worldProcess) settle() {
	for p.proc.Unblocked() != nil {
	}
	p.proc.Dirty()
	p.listen()
	for _, m := range p.proc.Outbox() {
		p.w.post(p, m)
	}
	if p.proc.ShutdownRequested() != nil {
		p.w.kill(p)
		return
	}
	if wait, ok := p.proc.NextDeadline(); ok {
		p.w.at(p.w.now+max(wait, 100*time.Microsecond), p.wakeOnce())
	}
}

// wakeOnce is wake unless the process was called since.
func (p *worldProcess) wakeOnce() func() {
	return func() {
		if wait, ok := p.proc.NextDeadline(); ok && wait == 0 {
			p.wake()
		}
	}
}

// listen reads what the process has published.
func (p *worldProcess) listen() {
	if p.listens == nil {
		return
	}
	for len(p.listens.Out) > 0 {
		v, n, err := resp.Parse(p.listens.Out)
		require.NoError(p.w.t, err)
		p.listens.Out = p.listens.Out[n:]
		p.events = append(p.events, event{v.List[2].Str, v.List[3].Str})
	}
}

// post carries a message. For the dead their computer answers.
func (w *virtualWorld) post(from *worldProcess, m Message) {
	if m.To < 1 || int(m.To) > len(w.procs) {
		w.at(w.now, func() { from.receive(Message{From: m.To, To: m.From, Conn: m.Conn, Body: Closed{}}) })
		return
	}
	to := w.procs[m.To-1]
	if from.cut[to.id] || to.cut[from.id] {
		w.held = append(w.held, m)
		return
	}
	w.at(w.now+w.latency, func() {
		switch {
		case to.alive:
			to.receive(m)
		case m.Body != (any)(Closed{}):
			from.receive(Message{From: m.To, To: m.From, Conn: m.Conn, Body: Closed{}})
		}
	})
}

// join ends what cuts p off.
func (w *virtualWorld) join(p *worldProcess) {
	clear(p.cut)
	held := w.held
	w.held = nil
	for _, m := range held {
		w.post(w.procs[m.From-1], m)
	}
}

func (p *worldProcess) receive(m Message) {
	switch {
	case p.frozen:
		p.held = append(p.held, m)
	case p.alive:
		p.proc.Receive(m)
		p.settle()
	}
}

// kill ends a process; the others' connections to it end.
func (w *virtualWorld) kill(p *worldProcess) {
	p.alive, p.frozen, p.held = false, false, nil
	for _, other := range w.procs {
		if other != p {
			w.post(p, Message{From: p.id, To: other.id, Body: Closed{}})
		}
	}
}

func (w *virtualWorld) restart(p *worldProcess) {
	p.proc.Restart(true)
	p.alive = true
	p.connect()
	p.wake()
}

// ask sends a command to a process and returns its reply.
func (w *virtualWorld) ask(name string, cmd [][]byte) resp.Value {
	p := w.find(name)
	if p.control.Closing() { // killed by a Sentinel
		p.control = p.proc.NewSession("127.0.0.1:50000")
	}
	p.proc.Do(p.control, cmd)
	v, n, err := resp.Parse(p.control.Out)
	require.NoError(w.t, err)
	require.Positive(w.t, n, "no reply from %s to %q", name, cmd)
	p.control.Out = p.control.Out[n:]
	p.settle()
	return v
}

func (w *virtualWorld) find(name string) *worldProcess {
	for _, p := range w.procs {
		if p.name == name {
			return p
		}
	}
	require.Fail(w.t, "no process "+name)
	return nil
}

// What a golden file needs of a target:

func (w *virtualWorld) stop(name string)  { w.kill(w.find(name)) }
func (w *virtualWorld) start(name string) { w.restart(w.find(name)) }
func (w *virtualWorld) port() int         { return worldPort }

func (w *virtualWorld) freeze(name string) { w.find(name).frozen = true }

func (w *virtualWorld) thaw(name string) {
	p := w.find(name)
	p.frozen = false
	held := p.held
	p.held = nil
	p.wake()
	for _, m := range held {
		p.receive(m)
	}
}

func (w *virtualWorld) takeEvents(name string) []event {
	p := w.find(name)
	taken := p.events
	p.events = nil
	return taken
}
