package topology

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/resp"
)

// Load from 200 connections while commands are lost, delayed and refused, and
// nodes die, freeze, restart and are cut off: there is no panic, every reply is
// well-formed and belongs to its request, and neither goroutines nor memory
// grow. MINIKV_LOAD is how long it lasts; 2s otherwise.
func TestLoad(t *testing.T) {
	lasts := 2 * time.Second
	if text := os.Getenv("MINIKV_LOAD"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	const rounds, connections = 4, 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	before := runtime.NumGoroutine()
	top, err := Start(Config{
		Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}, Trace: 1000, Seed: seed,
	})
	require.NoError(t, err)
	defer top.Close()
	l := &load{t: t, top: top}
	var heaps, goroutines []int
	for round := range rounds {
		until := time.Now().Add(lasts / rounds)
		var all sync.WaitGroup
		for i := range connections {
			all.Go(func() { l.client(rand.New(rand.NewPCG(seed, uint64(round*connections+i))), until) })
		}
		all.Go(func() { l.nemesis(rand.New(rand.NewPCG(seed, uint64(1<<32+round))), until) })
		all.Wait()
		l.calm()
		goal, few := math.MaxInt, before
		if round > 0 {
			goal, few = heaps[0]+mayGrow, goroutines[0]+mayBeMore
		}
		heaps, goroutines = append(heaps, l.heap(goal)), append(goroutines, l.goroutines(few))
	}
	t.Logf("%d replies, %d faults; after each round %v KiB of heap, %v goroutines", l.replies, l.faults, heaps, goroutines)
	require.Greater(t, l.replies, 100)
	require.LessOrEqual(t, slices.Max(heaps[1:]), heaps[0]+mayGrow, "KiB of heap after each round: %v", heaps)
	require.LessOrEqual(t, slices.Max(goroutines[1:]), goroutines[0]+mayBeMore,
		"goroutines after each round: %v", goroutines)
	top.Close()
	require.LessOrEqual(t, l.goroutines(before+1), before+1)
}

// load is one run.
type load struct {
	t   *testing.T
	top *Topology

	mu      sync.Mutex
	replies int
	faults  int
}

// mayGrow is by how many KiB the heap may differ after two rounds, mayBeMore by how many
// the goroutines may.
const mayGrow, mayBeMore = 20 << 10, 2

// heap is how many KiB are in use once replicas have what was held back, and
// connections that were lost are forgotten.
func (l *load) heap(goal int) (least int) {
	least = math.MaxInt
	for range 100 {
		if least = min(least, int(heapInUse()>>10)); least <= goal {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return least
}

// goroutines is how few there are once those have ended that were about to.
func (l *load) goroutines(goal int) (fewest int) {
	fewest = math.MaxInt
	for range 1000 {
		if fewest = min(fewest, runtime.NumGoroutine()); fewest <= goal {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return fewest
}

// calm ends all faults and empties the nodes.
func (l *load) calm() {
	l.top.ClearFaults()
	l.top.Heal()
	for _, n := range l.top.Nodes() {
		n.ReleaseReplication()
		n.Slow(0)
		_ = n.Thaw()
		if n.Down() {
			require.NoError(l.t, n.Restart(true))
		}
	}
	for _, n := range l.top.Nodes() {
		_, _ = n.Command("FLUSHALL")
		_, _ = n.Command("SCRIPT", "FLUSH")
	}
}

// nemesis does harm until the time is over.
func (l *load) nemesis(r *rand.Rand, until time.Time) {
	nodes := l.top.Nodes()
	for time.Now().Before(until) {
		n := nodes[r.IntN(len(nodes))]
		other := nodes[r.IntN(len(nodes))]
		switch r.IntN(12) {
		case 0:
			n.Kill()
		case 1, 2, 3:
			require.NoError(l.t, n.Restart(r.IntN(2) == 0))
		case 4:
			n.Slow(time.Duration(r.IntN(2)) * 100 * time.Microsecond)
		case 5:
			_ = n.Freeze()
			time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
			_ = n.Thaw()
		case 6:
			_ = l.top.Partition([]string{n.Name()}, []string{other.Name()})
		case 7:
			l.top.Heal()
		case 8:
			_ = n.HoldReplication()
		case 9:
			n.ReleaseReplication()
		case 10:
			l.top.Locks()
			l.top.Trace().Overlaps("k1")
		default:
			l.top.ClearFaults()
		}
		_, err := l.top.Inject(randomFault(r))
		require.NoError(l.t, err)
		l.mu.Lock()
		l.faults++
		l.mu.Unlock()
		time.Sleep(time.Duration(5+r.IntN(30)) * time.Millisecond)
	}
}

func randomFault(r *rand.Rand) Fault {
	f := Fault{Command: []string{"*", "SET", "EVAL*", "G*"}[r.IntN(4)], Nth: 1 + r.IntN(50), Times: 1 + r.IntN(20)}
	if r.IntN(2) == 0 {
		f.Key = "k[0-3]"
	}
	switch r.IntN(5) {
	case 0:
		f.Error = "FAULT by order"
	case 1:
		f.DropReply, f.Close = true, r.IntN(2) == 0
	case 2:
		f.DropRequest, f.Close = true, r.IntN(2) == 0
	case 3:
		f.Close = true
	default:
		f.Delay = time.Duration(1+r.IntN(20)) * time.Millisecond
	}
	return f
}

// client connects again and again.
func (l *load) client(r *rand.Rand, until time.Time) {
	for time.Now().Before(until) {
		n := l.top.Nodes()[r.IntN(len(l.top.Nodes()))]
		dial := n.Dial
		if r.IntN(10) == 0 {
			dial = func() (net.Conn, error) { return net.DialTimeout("tcp", n.Address(), time.Second) }
		}
		conn, err := dial()
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		c := &loadClient{r: r, conn: conn, until: until}
		for time.Now().Before(until) && c.err == nil && r.IntN(100) > 0 {
			replies, wrong := c.batch()
			if wrong != "" {
				l.t.Errorf("%s: %s", n.Name(), wrong)
			}
			l.mu.Lock()
			l.replies += replies
			l.mu.Unlock()
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // or the system would keep its port for a minute
		}
		_ = conn.Close()
	}
}

// loadClient is one connection.
type loadClient struct {
	r      *rand.Rand
	conn   net.Conn
	until  time.Time // when the load ends
	resp3  bool
	number int
	buf    []byte
	err    error // of the connection: it is of no use any more
}

// batch sends some commands at once and reads their replies; the last is an
// echo, which shows that nothing came out of step.
func (c *loadClient) batch() (replies int, wrong string) {
	var out []byte
	count := 1 + c.r.IntN(8)
	for range count {
		out = resp.AppendCommand(out, c.command()...)
	}
	c.number++
	token := strconv.Itoa(c.number)
	out = resp.AppendCommand(out, "ECHO", token)
	deadline := time.Now().Add(2 * time.Second)
	if end := c.until.Add(200 * time.Millisecond); end.Before(deadline) {
		deadline = end
	}
	_ = c.conn.SetDeadline(deadline)
	if _, c.err = c.conn.Write(out); c.err != nil {
		return 0, ""
	}
	for range count {
		if _, wrong = c.reply(); wrong != "" || c.err != nil {
			return replies, wrong
		}
		replies++
	}
	v, wrong := c.reply()
	if wrong == "" && c.err == nil && v.Str != token && !strings.HasPrefix(v.Str, "FAULT") {
		wrong = fmt.Sprintf("ECHO %s: %s", token, resp.Describe(v))
	}
	return replies + 1, wrong
}

// command is one at random. It leaves the connection as it was, but for its protocol.
func (c *loadClient) command() []string {
	key := "k" + strconv.Itoa(c.r.IntN(20))
	switch c.r.IntN(16) {
	case 0:
		return []string{"SET", key, "v", "NX", "PX", strconv.Itoa(1 + c.r.IntN(100))}
	case 1:
		return []string{"SET", key, string(bytes.Repeat([]byte("x"), c.r.IntN(20_000))), "PX", "50"}
	case 2:
		return []string{"EVAL", "redis.call('set', KEYS[1], ARGV[1], 'PX', 50) return {1, 'a', {2}}", "1", key, "v"}
	case 3:
		return []string{"EVAL", "return redis.call('nosuch')", "0"}
	case 4:
		return []string{"BLPOP", key, "0.01"}
	case 5:
		return []string{"LPUSH", "list", "a"}
	case 6:
		return []string{"LTRIM", "list", "0", "5"}
	case 7:
		c.resp3 = !c.resp3
		return []string{"HELLO", map[bool]string{true: "3", false: "2"}[c.resp3]}
	case 8:
		return []string{"CLUSTER", "SLOTS"}
	case 9:
		return []string{"HSET", key, "f", "1"}
	case 10:
		return []string{"WAIT", "1", "5"}
	case 11:
		return []string{"PUBLISH", "channel", "hello"}
	case 12:
		return []string{"INFO", []string{"everything", "clients", "replication", "memory"}[c.r.IntN(4)]}
	case 13:
		return []string{"READONLY"}
	case 14:
		return []string{"DEL", key}
	}
	return []string{"GET", key}
}

// reply reads one; wrong says what was not well-formed.
func (c *loadClient) reply() (v resp.Value, wrong string) {
	for {
		v, n, err := resp.Parse(c.buf)
		if err != nil {
			return v, fmt.Sprintf("%v in %.100q", err, c.buf)
		}
		if n > 0 {
			c.buf = c.buf[n:]
			if v.Kind == resp.Push {
				continue
			}
			return v, ""
		}
		part := make([]byte, 16<<10)
		n, c.err = c.conn.Read(part)
		if c.err != nil {
			return v, ""
		}
		c.buf = append(c.buf, part[:n]...)
	}
}
