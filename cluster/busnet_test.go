package cluster

import (
	"container/heap"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/server/engine"
)

// busNet is a virtual network of members: one queue of events, in the order of
// their times.
type busNet struct {
	t       *testing.T
	now     time.Duration
	queue   netQueue
	count   int
	dir     Directory
	members []*netMember
	delay   time.Duration              // of every message
	cut     func(from, to ID) bool     // messages that do not get through; nil: none
	held    []Message                  // those that have not
	log     []string                   // of all members
	clients map[string]*engine.Session // by member and name
	lua     *luaengine.Engine
}

// netMember is a member and what surrounds it.
type netMember struct {
	*Member
	net    *busNet
	dead   bool
	tickAt time.Duration // of the tick that is planned; 0: none
	drift  time.Duration // of its wall clock
}

// Wall and Mono make it its own clock.
func (m *netMember) Wall() time.Time {
	return time.UnixMilli(1_800_000_000_000).Add(m.net.now + m.drift)
}
func (m *netMember) Mono() time.Duration { return m.net.now }

type netEvent struct {
	at     time.Duration
	number int
	run    func()
}

type netQueue []netEvent

func (q netQueue) Len() int { return len(q) }
func (q netQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q netQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *netQueue) Push(e any)   { *q = append(*q, e.(netEvent)) }
func (q *netQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// newBusNet makes nodes that do not know each other.
func newBusNet(t *testing.T, nodes int, parameters ...string) *busNet {
	net := emptyNet(t, nodes)
	for i := range net.dir {
		cfg := net.busConfig(ID(i + 1))
		net.addMember(ID(i+1), func(m *Member) ClusterBus { return newBus(m, cfg) }, parameters)
	}
	return net
}

// newClusterNet makes a cluster that is configured from the start.
func newClusterNet(t *testing.T, masters, replicas int, parameters ...string) *busNet {
	net := emptyNet(t, masters*(1+replicas))
	for i := range net.dir {
		layout, err := NewLayout(net.dir, masters, replicas, source(7), net.busConfig(ID(i+1)))
		require.NoError(t, err)
		net.addMember(ID(i+1), layout.Bus, parameters)
	}
	return net
}

func emptyNet(t *testing.T, nodes int) *busNet {
	net := &busNet{
		t: t, now: time.Hour, delay: time.Millisecond, clients: map[string]*engine.Session{},
		lua: luaengine.New(engine.Resolve),
	}
	for i := range nodes {
		net.dir = append(net.dir, "127.0.0.1:"+strconv.Itoa(21400+i))
	}
	return net
}

// source is a random source.
func source(seed uint64) func() uint64 {
	return func() uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed ^ seed>>33
	}
}

func (net *busNet) busConfig(id ID) BusConfig {
	return BusConfig{Log: func(level int, text string) {
		net.log = append(net.log, fmt.Sprintf("%d %d: %s", net.now.Milliseconds(), id, text))
	}}
}

func (net *busNet) addMember(id ID, bus func(m *Member) ClusterBus, parameters []string) {
	conf := map[string]string{"cluster-enabled": "yes", "cluster-node-timeout": "2000"}
	for i := 0; i+1 < len(parameters); i += 2 {
		conf[parameters[i]] = parameters[i+1]
	}
	m := &netMember{net: net}
	m.Member = NewMember(MemberConfig{
		ID: id, Directory: net.dir, Bus: bus,
		Node: engine.Config{Clock: m, Random: source(uint64(id)), Parameters: conf, Lua: net.lua},
	})
	net.members = append(net.members, m)
	m.Tick()
	m.settle()
}

func (net *busNet) at(when time.Duration, run func()) {
	net.count++
	heap.Push(&net.queue, netEvent{max(when, net.now), net.count, run})
}

// settle does what a shell does after each call of a member.
func (m *netMember) settle() {
	for m.Unblocked() != nil {
	}
	m.Dirty()
	for _, msg := range m.Outbox() {
		m.net.deliver(msg)
	}
	if wait, ok := m.NextDeadline(); ok && !m.dead {
		wait = max(wait, time.Millisecond)
		if due := m.net.now + wait; m.tickAt <= m.net.now || due < m.tickAt {
			m.tickAt = due
			m.net.at(due, func() {
				if m.tickAt == due && !m.dead {
					m.tickAt = 0
					m.Tick()
					m.settle()
				}
			})
		}
	}
}

// deliver brings a message to its receiver.
func (net *busNet) deliver(msg Message) { net.at(net.now+net.delay, func() { net.arrive(msg) }) }

// arrive ends a message's way. Over a link that is cut it waits for the heal,
// as TCP sends again what got lost. A dead receiver's computer refuses it.
func (net *busNet) arrive(msg Message) {
	if net.cut != nil && net.cut(msg.From, msg.To) {
		net.held = append(net.held, msg)
		return
	}
	if msg.To == 0 || net.members[msg.To-1].dead {
		if msg.Body != (any)(Closed{}) {
			net.deliver(Nobody(msg))
		}
		return
	}
	to := net.members[msg.To-1]
	to.Receive(msg)
	to.settle()
}

// kill ends a process; all others are told by its computer.
func (net *busNet) kill(id ID) {
	net.members[id-1].dead = true
	for _, m := range net.members {
		if m.ID() != id {
			net.deliver(Message{From: id, To: m.ID(), Body: Closed{}})
		}
	}
}

// restart brings a killed process back.
func (net *busNet) restart(id ID, keepData bool) {
	m := net.members[id-1]
	m.dead = false
	m.Outbox()
	m.Restart(keepData)
	for name := range net.clients {
		if strings.HasPrefix(name, strconv.Itoa(int(id))+"/") {
			delete(net.clients, name)
		}
	}
	m.Tick()
	m.settle()
}

// partition stops messages between the groups. Nobody is told.
func (net *busNet) partition(groups ...[]ID) {
	group := map[ID]int{}
	for i, ids := range groups {
		for _, id := range ids {
			group[id] = i + 1
		}
	}
	net.cut = func(from, to ID) bool { return group[from] != group[to] }
	net.release()
}

func (net *busNet) heal() {
	net.cut = nil
	net.release()
}

// release lets the messages go on that have waited.
func (net *busNet) release() {
	held := net.held
	net.held = nil
	for _, msg := range held {
		net.at(net.now, func() { net.arrive(msg) })
	}
}

// run lets time pass.
func (net *busNet) run(d time.Duration) {
	end := net.now + d
	for len(net.queue) > 0 && net.queue[0].at <= end {
		e := heap.Pop(&net.queue).(netEvent)
		net.now = e.at
		e.run()
	}
	net.now = end
}

// until lets time pass until something is true, and returns how much that was.
func (net *busNet) until(limit time.Duration, what string, done func() bool) time.Duration {
	net.t.Helper()
	start := net.now
	for !done() {
		if net.now-start > limit {
			require.Fail(net.t, "not within "+limit.String()+": "+what, strings.Join(net.log, "\n")+"\n"+net.nodes(1))
		}
		net.run(10 * time.Millisecond)
	}
	return net.now - start
}

// send gives a client's command to a node.
func (net *busNet) send(id ID, client, line string) *engine.Session {
	args, ok := resp.SplitArgs([]byte(line))
	require.True(net.t, ok, line)
	return net.sendArgs(id, client, args)
}

func (net *busNet) sendArgs(id ID, client string, args [][]byte) *engine.Session {
	name := strconv.Itoa(int(id)) + "/" + client
	m := net.members[id-1]
	if net.clients[name] == nil {
		net.clients[name] = m.NewSession("127.0.0.1:50000")
	}
	s := net.clients[name]
	m.Do(s, args)
	m.settle()
	return s
}

// do runs a command line and returns the replies, letting time pass while the
// client is blocked.
func (net *busNet) do(id ID, line string) string { return net.doAs(id, "a", line) }

func (net *busNet) doAs(id ID, client, line string) string {
	s := net.send(id, client, line)
	for tries := 0; s.Blocked() && tries < 2000; tries++ {
		net.run(time.Millisecond)
	}
	return net.got(s)
}

// got is what a session was sent since the last look.
func (net *busNet) got(s *engine.Session) string {
	var all []string
	for rest := s.Out; len(rest) > 0; {
		value, n, err := resp.Parse(rest)
		require.NoError(net.t, err)
		require.NotZero(net.t, n)
		all = append(all, resp.Describe(value))
		rest = rest[n:]
	}
	s.Out = s.Out[:0]
	return strings.Join(all, "; ")
}

// expect checks pairs of a command line and its reply.
func (net *busNet) expect(id ID, pairs ...string) {
	net.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		require.Equal(net.t, pairs[i+1], net.do(id, pairs[i]), "node %d: %s", id, pairs[i])
	}
}

func (net *busNet) bus(id ID) *busNode { return net.members[id-1].Member.bus.(*busNode) }
func (net *busNet) name(id ID) string  { return net.bus(id).self.name }

// seen is how node id sees another one.
func (net *busNet) seen(id, other ID) *peer { return net.bus(id).byName[net.name(other)] }

// nodes is CLUSTER NODES of a node.
func (net *busNet) nodes(id ID) string { return net.bus(id).runNodes(nil).Str }
