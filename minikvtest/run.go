package minikvtest

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/server/engine"
	"minikv/topology"
)

// Option changes how servers are run.
type Option func(*settings)

// settings is what options change.
type settings struct {
	topology.Config
	strict bool
	lines  int
}

// Virtual makes time stand still until Clock is told to move it.
func Virtual() Option { return func(s *settings) { s.Virtual = true } }

// StartAt is Virtual, with the date at which time begins; otherwise that is today's.
func StartAt(date time.Time) Option {
	return func(s *settings) { s.Virtual, s.Begin = true, date }
}

// Seed makes every choice by chance depend on n: names of nodes, RANDOMKEY,
// elections, faults that strike at random. 0 is a different one each time.
func Seed(n uint64) Option { return func(s *settings) { s.Config.Seed = n } }

// Strict fails the test when a client uses a command that redis-server 7.0.15
// knows and minikv does not; docs/commands.md lists them. Commands that
// redis-server does not know either are answered as it answers them.
func Strict() Option { return func(s *settings) { s.strict = true } }

// InMemory opens no port: clients reach the servers through Dial and
// DialContext. In a bubble of testing/synctest it is chosen without asking.
func InMemory() Option { return func(s *settings) { s.Config.InMemory = true } }

// Param sets a parameter of redis.conf on all nodes, such as requirepass.
func Param(name, value string) Option {
	if known := engine.ParameterName(name); known != "" {
		name = known
	}
	return func(s *settings) {
		if s.Node.Parameters == nil {
			s.Node.Parameters = map[string]string{}
		}
		s.Node.Parameters[name] = value
	}
}

// User declares a user on all nodes, as a line of redis.conf does: its name and
// rules such as "on", ">secret", "~lock:*", "+set". The default user still may do
// everything, unless it is declared as well. Replicas and Sentinels then log in with the
// parameters masteruser and masterauth; a Sentinel itself has no users declared.
func User(name string, rules ...string) Option {
	return func(s *settings) { s.Node.Users = append(s.Node.Users, append([]string{name}, rules...)) }
}

// Delay is how long each message between nodes takes; without it none.
func Delay(d time.Duration) Option { return func(s *settings) { s.Config.Delay = d } }

// Lag is how long what masters send their replicas takes, if longer than Delay.
func Lag(d time.Duration) Option { return func(s *settings) { s.Config.Lag = d } }

// Remember keeps the past of every node, at least a minute of it, so that
// Restart(LoseLast(…)) can go back to it. It costs time and memory.
func Remember() Option { return func(s *settings) { s.Config.Remember = true } }

// DownAfter is after which silence a Sentinel or a node of a cluster takes
// another for down; without it Redis's defaults, 30 and 15 seconds.
func DownAfter(d time.Duration) Option {
	return func(s *settings) {
		s.Plan.DownAfter = d
		Param("cluster-node-timeout", millis(d))(s)
	}
}

// TraceLines is how many lines of the trace a failing test shows; 50 without
// it, 0 for none.
func TraceLines(n int) Option { return func(s *settings) { s.lines = n } }

// traced is how many events a trace keeps.
const traced = 20000

// Server is a single node.
type Server struct {
	*Servers
	*Node
}

// Run runs one node until the test ends.
func Run(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := run(t, cluster.Plan{Masters: 1}, options)
	return &Server{s, s.nodes[0]}
}

// In is the same server, for a subtest t or a benchmark's: see Servers.In.
func (s *Server) In(t testing.TB) *Server {
	t.Helper()
	in := s.Servers.In(t)
	return &Server{in, in.nodes[0]}
}

// RunNodes runs n independent masters, m1, m2 …, as Redlock wants them.
func RunNodes(t testing.TB, n int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: n}, options)
}

// RunReplicated runs a master, m1, and its replicas, r1 ….
func RunReplicated(t testing.TB, replicas int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: 1, Replicas: replicas}, options)
}

// RunSentinel runs a master, m1, its replicas, r1 …, and three Sentinels, s1 to
// s3, that watch it under the name mymaster.
func RunSentinel(t testing.TB, replicas int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: 1, Replicas: replicas, Sentinels: 3}, options)
}

// RunCluster runs a cluster whose masters, m1 …, share the slots, and replicas
// of each, r1 … in their masters' order.
func RunCluster(t testing.TB, masters, replicas int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: masters, Replicas: replicas, Cluster: true}, options)
}

func run(t testing.TB, plan cluster.Plan, options []Option) *Servers {
	t.Helper()
	t = callable(t)
	s := settings{lines: 50}
	s.Plan = plan
	s.Trace = traced
	s.Grown = true
	bubble := bubble()
	s.Config.InMemory = bubble != ""
	for _, option := range options {
		option(&s)
	}
	if plan.Sentinels == 0 {
		s.Plan.DownAfter = 0
	}
	if !plan.Cluster {
		delete(s.Node.Parameters, "cluster-node-timeout")
	}
	if s.strict {
		s.Unsupported = func(node, command string) {
			t.Errorf("minikvtest: %s: %s is not supported: see docs/commands.md", node, command)
		}
	}
	checkParameters(t, s.Node.Parameters)
	checkUsers(t, s.Node.Users)
	top, err := topology.Start(s.Config)
	if err != nil {
		t.Fatalf("minikvtest: %v", err)
	}
	servers := newServers(t, top, plan)
	servers.password, servers.bubble = s.Node.Parameters["requirepass"], bubble
	t.Cleanup(func() {
		if t.Failed() {
			servers.showTrace(s.lines)
		}
		top.Close()
		if bubble != "" {
			time.Sleep(aftermath)
		}
	})
	return servers
}

// aftermath is how long a bubble lasts after its test: goroutines of clients end
// some time after Close, and a bubble must not end before them.
const aftermath = 10 * time.Second

// bubble is the number of the bubble of testing/synctest that the caller is in, "" outside of one,
// as the first line of a goroutine's stack has it.
func bubble() string {
	var stack [200]byte
	head, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), "]:\n")
	_, number, _ := strings.Cut(head, "synctest bubble ")
	return number
}

// errBubble is what is wrong with who uses servers of another bubble.
var errBubble = errors.New("minikvtest: the servers do not run in this bubble of testing/synctest: " +
	"call Run within synctest.Test")
