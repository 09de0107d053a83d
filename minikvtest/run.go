package minikvtest

import (
	"crypto/tls"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/internal/certificates"
	"minikv/server/engine"
	"minikv/topology"
)

// Option changes how servers are run. An option that makes no sense, such as a parameter
// that redis-server does not know, fails the test.
type Option func(*settings)

// settings is what options change.
type settings struct {
	topology.Config
	strict    bool
	lines     int
	encrypted bool
	change    []func(*tls.Config)
}

// Virtual makes time stand still until Clock is told to move it.
func Virtual() Option { return func(s *settings) { s.Virtual = true } }

// StartAt is Virtual, with time beginning at date, 1970 or later. Virtual alone begins at
// the computer's date.
func StartAt(date time.Time) Option {
	return func(s *settings) { s.Virtual, s.Begin = true, date }
}

// Seed makes every random choice depend on n: names of nodes, RANDOMKEY, elections,
// faults that strike at random. With 0, the default, choices differ each time.
func Seed(n uint64) Option { return func(s *settings) { s.Config.Seed = n } }

// Strict fails the test when a client uses a command that redis-server 7.0.15 knows and
// minikv does not; docs/commands.md lists them. The test goes on. Commands that
// redis-server does not know either are answered as it answers them.
func Strict() Option { return func(s *settings) { s.strict = true } }

// InMemory opens no port: clients reach the servers through Dial and DialContext. It is
// the default in a bubble of testing/synctest.
func InMemory() Option { return func(s *settings) { s.Config.InMemory = true } }

// TLS has the servers' ports speak TLS, and nothing else, as a Redis does whose plain port
// is 0. They have a certificate for localhost, 127.0.0.1 and ::1, which the clients' side,
// Servers.TLSConfig, trusts. change may alter the servers' side before it is used: for
// example, with ClientAuth as tls.RequireAndVerifyClientCert they insist on the certificate
// of TLSConfig. What connects in memory, by Dial, speaks no TLS. In memory alone there are
// no ports: then TLS fails the test.
func TLS(change ...func(*tls.Config)) Option {
	return func(s *settings) { s.encrypted, s.change = true, append(s.change, change...) }
}

// Param sets a parameter of redis.conf on all nodes, such as requirepass. A name or value
// that redis-server would refuse fails the test.
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

// User declares a user on all nodes, as a line of redis.conf does: its name and rules
// such as "on", ">secret", "~lock:*", "+set". The default user may still do everything,
// unless it is declared as well. Replicas and Sentinels then log in with the parameters
// masteruser and masterauth. Users are not declared on the Sentinels themselves.
func User(name string, rules ...string) Option {
	return func(s *settings) { s.Node.Users = append(s.Node.Users, append([]string{name}, rules...)) }
}

// Delay is how long each message between nodes takes; the default is 0.
func Delay(d time.Duration) Option { return func(s *settings) { s.Config.Delay = d } }

// Lag is how long messages from a master to its replicas take. It counts only if it is
// longer than Delay; the default is Delay.
func Lag(d time.Duration) Option { return func(s *settings) { s.Config.Lag = d } }

// Remember keeps the past of every node, at least a minute of it, so that
// Restart(LoseLast(…)) can go back to it. It costs time and memory.
func Remember() Option { return func(s *settings) { s.Config.Remember = true } }

// DownAfter is how long a node must be silent until a Sentinel, or another node of a
// cluster, takes it for down. The defaults are Redis's: 30 s for Sentinels, 15 s in a
// cluster.
func DownAfter(d time.Duration) Option {
	return func(s *settings) {
		s.Plan.DownAfter = d
		Param("cluster-node-timeout", millis(d))(s)
	}
}

// TraceLines is how many lines of the trace a failing test shows: 50 by default, none
// with 0.
func TraceLines(n int) Option { return func(s *settings) { s.lines = n } }

// traced is how many events a trace keeps.
const traced = 20000

// Server is a single node. It has the methods of both Servers and Node.
type Server struct {
	*Servers
	*Node
}

// Run runs one node until the test ends. An address or option that cannot be used fails
// the test.
func Run(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := run(t, cluster.Plan{Masters: 1}, options)
	return &Server{s, s.nodes[0]}
}

// In returns the same server for t, a subtest or a benchmark's run: see Servers.In.
func (s *Server) In(t testing.TB) *Server {
	t.Helper()
	in := s.Servers.In(t)
	return &Server{in, in.nodes[0]}
}

// RunNodes runs n independent masters, m1, m2 …, as Redlock needs them, until the test
// ends.
func RunNodes(t testing.TB, n int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: n}, options)
}

// RunReplicated runs a master, m1, and its replicas, r1 …, until the test ends.
func RunReplicated(t testing.TB, replicas int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: 1, Replicas: replicas}, options)
}

// RunSentinel runs a master, m1, its replicas, r1 …, and three Sentinels, s1 to s3, until
// the test ends. The Sentinels watch the master under the name mymaster. As Redis's do, a
// Sentinel that was held up for two seconds only watches for the next 30 (TILT); on a
// machine where that happens, SENTINEL DEBUG TILT-TRIGGER 60000 keeps it from that.
func RunSentinel(t testing.TB, replicas int, options ...Option) *Servers {
	t.Helper()
	return run(t, cluster.Plan{Masters: 1, Replicas: replicas, Sentinels: 3}, options)
}

// RunCluster runs a cluster until the test ends. Its masters, m1 …, share the slots; each
// has that many replicas, r1 … in their masters' order.
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
	client := s.encrypt(t)
	top, err := topology.Start(s.Config)
	if err != nil {
		t.Fatalf("minikvtest: %v", err)
	}
	servers := newServers(t, top, plan)
	servers.password, servers.bubble, servers.tls = s.Node.Parameters["requirepass"], bubble, client
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

// certified is what all servers of this process have to show; made when it is first needed.
var certified = sync.OnceValues(func() (*certificates.Set, error) { return certificates.Make() })

// encrypt sets what the servers' ports speak, and returns the clients' side; nil: plain TCP.
func (s *settings) encrypt(t testing.TB) (client *tls.Config) {
	t.Helper()
	if !s.encrypted {
		return nil
	}
	set, err := certified()
	if err == nil {
		s.Config.TLS, err = set.Serve()
	}
	if err == nil {
		client, err = set.Dial()
	}
	if err != nil {
		t.Fatalf("minikvtest: TLS: %v", err)
	}
	for _, change := range s.change {
		change(s.Config.TLS)
	}
	return client
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
