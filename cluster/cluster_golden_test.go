package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// clusterTarget is what a golden file runs against: nodes of ours in virtual
// time, or redis-server's. Nodes are numbered from 1 on.
type clusterTarget interface {
	// ask sends a client's command; sent reports whether there is a reply.
	ask(node ID, client string, cmd [][]byte) (v resp.Value, sent bool)
	// next is what a client was sent unasked, or the reply of a command that was blocked.
	next(node ID, client string) (v resp.Value, sent bool)
	sleep(d time.Duration)
	stop(node ID)
	start(node ID)
	port(node ID) int
}

// Golden files (testdata/cluster/*.txt) hold what the nodes of a cluster of
// redis-server 7.0.15 answer. They run against this package always and, when
// REDIS_BINARY is the path of a redis-server, against that one's processes too, on
// the ports from REDIS_PORT on; -rewrite records from it. Blocks:
//
//	run [masters=N] [replicas=N] [nodes=N] [timeout=MS]
//	    Starts nodes n1 …, masters first, and makes a cluster of them; with
//	    nodes=N they are left as they are, without slots and knowing nobody.
//	do [at=NAME] [client=NAME] [sort] [blocks]
//	    Each line is a command in redis-cli's quoting. @NAME stands for the port of a node, #NAME
//	    for its id. sort: orders the elements of each reply. blocks: there is no reply.
//	recv [at=NAME] [client=NAME]
//	    What has come for a client that no command waited for.
//	await [at=NAME]
//	    A command, then a regular expression in the next line: it is asked
//	    again and again until its reply matches.
//	stop NAME, start NAME
//	    Kills a node, starts it again.
//	sleep MILLISECONDS
//
// In all output a node's port is shown as its name, its id as #NAME. Masked are
// the times in CLUSTER NODES, the values of volatileClusterFields, and the
// lines of CLUSTER INFO that count messages. Lines of one reply are sorted,
// since Redis keeps its nodes in a hash table.
func TestClusterGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/cluster/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	binary := os.Getenv("REDIS_BINARY")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if binary != "" {
			t.Run("redis/"+name, func(t *testing.T) {
				t.Parallel() // most of the time it waits
				runClusterGolden(t, file, func(nodes, timeout int) clusterTarget {
					return newRealCluster(t, binary, nodes, timeout)
				})
			})
		}
		if binary == "" || !rewriting() {
			t.Run("cluster/"+name, func(t *testing.T) {
				runClusterGolden(t, file, func(nodes, timeout int) clusterTarget {
					return virtualCluster{newBusNet(t, nodes, goldenParameters(timeout)...)}
				})
			})
		}
	}
}

// goldenParameters are those of all nodes of golden files: what takes seconds
// by default takes one.
func goldenParameters(timeout int) []string {
	return []string{
		"cluster-node-timeout", strconv.Itoa(timeout), "repl-ping-replica-period", "1", "repl-diskless-sync-delay", "0",
	}
}

// clusterGolden is the run of one file.
type clusterGolden struct {
	t      *testing.T
	target clusterTarget
	names  namer
}

func runClusterGolden(t *testing.T, file string, start func(nodes, timeout int) clusterTarget) {
	g := &clusterGolden{t: t}
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		if d.Rewrite {
			require.NotEmpty(t, os.Getenv("REDIS_BINARY"), "-rewrite records from redis-server: set REDIS_BINARY")
		}
		g.t = t
		at, client := "n1", "a"
		if d.HasArg("at") {
			d.ScanArgs(t, "at", &at)
		}
		if d.HasArg("client") {
			d.ScanArgs(t, "client", &client)
		}
		switch d.Cmd {
		case "run":
			g.run(d, start)
		case "do":
			return g.do(d, nodeNumber(at), client)
		case "recv":
			return g.receive(nodeNumber(at), client, d.Expected)
		case "await":
			g.await(d, nodeNumber(at))
		case "stop":
			g.target.stop(nodeNumber(d.CmdArgs[0].Key))
		case "start":
			g.target.start(nodeNumber(d.CmdArgs[0].Key))
		case "sleep":
			millis, err := strconv.Atoi(d.CmdArgs[0].Key)
			require.NoError(t, err)
			g.target.sleep(time.Duration(millis) * time.Millisecond)
		default:
			d.Fatalf(t, "unknown block")
		}
		return ""
	})
}

func nodeNumber(name string) ID {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "n"))
	return ID(n)
}

// run starts the nodes and makes a cluster of them as redis-cli --cluster
// create does, with replicas in the order of their masters.
func (g *clusterGolden) run(d *datadriven.TestData, start func(nodes, timeout int) clusterTarget) {
	masters, replicas, nodes, timeout := 3, 0, 0, 2000
	for name, value := range map[string]*int{
		"masters": &masters, "replicas": &replicas, "nodes": &nodes, "timeout": &timeout,
	} {
		if d.HasArg(name) {
			d.ScanArgs(g.t, name, value)
		}
	}
	alone := nodes > 0
	if !alone {
		nodes = masters * (1 + replicas)
	}
	g.target = start(nodes, timeout)
	g.nameNodes(nodes)
	if !alone {
		g.form(masters, replicas)
	}
}

// nameNodes has the nodes' ids and ports be shown as names.
func (g *clusterGolden) nameNodes(nodes int) {
	g.names = namer{}
	for id := ID(1); int(id) <= nodes; id++ {
		g.names.add(g.one(id, "CLUSTER MYID").Str, fmt.Sprintf("#n%d", id))
	}
	for id := ID(1); int(id) <= nodes; id++ {
		name := fmt.Sprintf("n%d", id)
		g.names.add(strconv.Itoa(g.target.port(id)+busPortOffset), "bus")
		g.names.add(strconv.Itoa(g.target.port(id)), name)
	}
}

// form makes a cluster of the nodes.
func (g *clusterGolden) form(masters, replicas int) {
	l := &Layout{plan: Plan{Masters: masters, Replicas: replicas, Cluster: true}}
	nodes := ID(l.plan.Size())
	for id := ID(1); id <= nodes; id++ {
		if l.plan.MasterOf(id) == id {
			r := l.slotsOf(id)
			g.one(id, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", r.first, r.last))
		}
		g.one(id, fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", id))
	}
	for id := ID(2); id <= nodes; id++ {
		g.one(id, fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d", g.target.port(1)))
	}
	all := regexp.MustCompile(fmt.Sprintf("cluster_known_nodes:%d", nodes))
	for id := ID(1); id <= nodes; id++ {
		g.until(id, "CLUSTER INFO", all)
	}
	for id := ID(1); id <= nodes; id++ {
		if master := l.plan.MasterOf(id); master != id {
			g.until(id, fmt.Sprintf("CLUSTER REPLICATE #n%d", master), regexp.MustCompile("OK"))
		}
	}
	for id := ID(1); id <= nodes; id++ {
		g.until(id, "CLUSTER INFO", regexp.MustCompile("cluster_state:ok"))
		g.untilNot(id, "CLUSTER NODES", regexp.MustCompile("disconnected|handshake"))
		if l.plan.MasterOf(id) != id {
			g.until(id, "INFO replication", regexp.MustCompile("master_link_status:up"))
		}
	}
	for id := ID(1); id <= nodes; id++ { // a master hears only those that it knows as its replicas
		for replica := ID(masters + 1); replica <= nodes; replica++ {
			g.until(id, "CLUSTER NODES", regexp.MustCompile(g.names.unmask(
				fmt.Sprintf("#n%d .*slave #n%d", replica, l.plan.MasterOf(replica)))))
		}
	}
	for id := ID(1); id <= nodes; id++ { // a replica is listed once it has data
		g.untilNot(id, "CLUSTER SHARDS", regexp.MustCompile("loading"))
	}
}

// one runs a command and returns its reply.
func (g *clusterGolden) one(id ID, line string) resp.Value {
	cmd, ok := resp.SplitArgs([]byte(g.names.unmask(line)))
	require.True(g.t, ok, line)
	v, sent := g.target.ask(id, "a", cmd)
	require.True(g.t, sent, "no reply: %s", line)
	return v
}

func (g *clusterGolden) until(id ID, line string, wanted *regexp.Regexp) {
	g.waitFor(id, line, func(text string) bool { return wanted.MatchString(text) })
}

func (g *clusterGolden) untilNot(id ID, line string, unwanted *regexp.Regexp) {
	g.waitFor(id, line, func(text string) bool { return !unwanted.MatchString(text) })
}

// waitFor asks until the reply is right.
func (g *clusterGolden) waitFor(id ID, line string, right func(text string) bool) {
	var text string
	for range 300 {
		v := g.one(id, line)
		if text = v.Str; v.Kind != resp.Bulk && v.Kind != resp.Verbatim {
			text = resp.Describe(v)
		}
		if right(text) {
			return
		}
		g.target.sleep(100 * time.Millisecond)
	}
	require.Fail(g.t, "never right", "n%d: %s\n%s", id, line, text)
}

func (g *clusterGolden) await(d *datadriven.TestData, id ID) {
	lines := strings.Split(d.Input, "\n")
	require.Len(g.t, lines, 2, d.Pos)
	g.until(id, lines[0], regexp.MustCompile(g.names.unmask(lines[1])))
}

func (g *clusterGolden) do(d *datadriven.TestData, id ID, client string) string {
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		cmd, ok := resp.SplitArgs([]byte(g.names.unmask(line)))
		require.True(g.t, ok, line)
		v, sent := g.target.ask(id, client, cmd)
		for range 50 {
			if !triedLink.MatchString(v.Str) {
				break
			}
			time.Sleep(10 * time.Millisecond)
			v, sent = g.target.ask(id, client, cmd)
		}
		if d.HasArg("blocks") {
			require.False(g.t, sent, "did not block: %s", line)
			out.WriteString("(blocks)\n")
			continue
		}
		require.True(g.t, sent, "no reply: %s", line)
		if d.HasArg("sort") {
			sortElements(v, g.names)
		}
		out.WriteString(g.show(v))
		for range len(cmd) - 2 { // SSUBSCRIBE of several channels
			if !strings.HasSuffix(strings.ToUpper(string(cmd[0])), "SUBSCRIBE") {
				break
			}
			if v, sent := g.target.next(id, client); sent {
				out.WriteString(g.show(v))
			}
		}
	}
	return out.String()
}

// receive waits a moment for more than what is expected, and longer for that.
func (g *clusterGolden) receive(id ID, client, expected string) string {
	var out strings.Builder
	for tries := 0; tries < 40; {
		v, sent := g.target.next(id, client)
		switch {
		case sent:
			out.WriteString(g.show(v))
		case out.Len() >= len(expected):
			return out.String()
		default:
			tries++
		}
	}
	return out.String()
}

// volatileClusterFields are those of CLUSTER SHARDS and LINKS whose values depend on the moment.
var volatileClusterFields = map[string]bool{
	"replication-offset": true, "create-time": true, "send-buffer-allocated": true,
}

var (
	nodeTimes = regexp.MustCompile(`( [0-9a-f-]+) \d+ \d+ (\d+) (connected|disconnected)`)
	// triedLink is a link to a node that fails, which redis-server tries to make anew ten
	// times a second, for a moment each.
	triedLink   = regexp.MustCompile(`fail\??(?:,\S+)? \S+ \d+ \d+ \d+ connected`)
	messageLine = regexp.MustCompile(`(?m)^cluster_stats_messages_.*\n`)
)

// show describes a reply, masked. A text of several lines is shown as such.
func (g *clusterGolden) show(v resp.Value) string {
	hideFields(v)
	mask := func(text string) string {
		return g.names.mask(nodeTimes.ReplaceAllString(text, "$1 PING PONG $2 $3"))
	}
	if v.Kind != resp.Bulk && v.Kind != resp.Verbatim || !strings.Contains(v.Str, "\n") {
		return mask(resp.Describe(v)) + "\n"
	}
	text := messageLine.ReplaceAllString(strings.ReplaceAll(v.Str, "\r\n", "\n"), "")
	lines := strings.Split(strings.TrimSuffix(mask(text), "\n"), "\n")
	sort.Strings(lines)
	return strings.Join(lines, "\n") + "\n"
}

func hideFields(v resp.Value) {
	for i := range v.List {
		hideFields(v.List[i])
		if i > 0 && volatileClusterFields[v.List[i-1].Str] {
			v.List[i] = resp.Str("~")
		}
	}
}
