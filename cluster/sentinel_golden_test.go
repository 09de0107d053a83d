package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// deployment is one master with replicas and Sentinels that watch it.
type deployment struct {
	replicas, sentinels, quorum int
	downAfter, failoverTimeout  time.Duration
	host                        string // of all; "": 127.0.0.1
}

// names are the processes in the order of their ports.
func (d deployment) names() []string {
	names := []string{"m1"}
	for i := range d.replicas {
		names = append(names, fmt.Sprintf("r%d", i+1))
	}
	for i := range d.sentinels {
		names = append(names, fmt.Sprintf("s%d", i+1))
	}
	return names
}

// sentinelTarget is what a golden file runs against: processes of ours in
// virtual time, or redis-server's.
type sentinelTarget interface {
	ask(name string, cmd [][]byte) resp.Value
	sleep(d time.Duration)
	stop(name string)
	start(name string)
	freeze(name string)
	thaw(name string)
	takeEvents(name string) []event
	port() int // of the first process
}

// Golden files (testdata/sentinel/*.txt) hold what redis-server 7.0.15
// answers and does. They run against this package always and, when REDIS_BINARY
// is the path of a redis-server, against that one's processes too, on the ports
// from REDIS_PORT on; -rewrite records from it. Blocks:
//
//	run [replicas=N] [sentinels=N] [quorum=N] [down-after=MS] [failover-timeout=MS]
//	    Starts a master m1, its replicas r1 …, Sentinels s1 …, and waits until all know each other.
//	do [at=NAME]
//	    Each line is a command in redis-cli's quoting. @NAME stands for the port of a process,
//	    #NAME for its id. What Redis keeps in hash tables is shown in order (sortHashes).
//	stop NAME, start NAME, freeze NAME, thaw NAME
//	    Kills a process, starts it again; holds it, lets it go on.
//	sleep MILLISECONDS
//	events [at=NAME] [only=CHANNEL|…]
//	    What a Sentinel has published since it was last asked.
//
// In all output a process's port is shown as its name, its id as #NAME, and the
// value of a field that depends on the moment as ~ (volatileFields), offsets in ROLE too.
func TestSentinelGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/sentinel/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	binary := os.Getenv("REDIS_BINARY")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if binary != "" {
			t.Run("redis/"+name, func(t *testing.T) {
				t.Parallel() // most of the time it waits
				runSentinelGolden(t, file, func(cfg deployment) sentinelTarget { return newRealWorld(t, binary, cfg) })
			})
		}
		if binary == "" || !rewriting() {
			t.Run("cluster/"+name, func(t *testing.T) {
				runSentinelGolden(t, file, func(cfg deployment) sentinelTarget { return newVirtualWorld(t, cfg, 1) })
			})
		}
	}
}

func rewriting() bool {
	return slices.ContainsFunc(os.Args, func(arg string) bool {
		return strings.HasSuffix(arg, "-rewrite") || strings.HasSuffix(arg, "-rewrite=true")
	})
}

// sentinelGolden is the run of one file.
type sentinelGolden struct {
	cfg    deployment
	target sentinelTarget
	names  namer
}

func runSentinelGolden(t *testing.T, file string, start func(deployment) sentinelTarget) {
	g := &sentinelGolden{}
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		if d.Rewrite {
			require.NotEmpty(t, os.Getenv("REDIS_BINARY"), "-rewrite records from redis-server: set REDIS_BINARY")
		}
		at := "s1"
		if d.HasArg("at") {
			d.ScanArgs(t, "at", &at)
		}
		switch d.Cmd {
		case "run":
			g.cfg = readDeployment(t, d)
			g.target = start(g.cfg)
			g.names = meetEachOther(t, g.cfg, g.target)
		case "do":
			return g.do(t, d, at)
		case "stop":
			g.target.stop(d.CmdArgs[0].Key)
		case "start":
			g.target.start(d.CmdArgs[0].Key)
			g.nameRunID(d.CmdArgs[0].Key)
		case "freeze":
			g.target.freeze(d.CmdArgs[0].Key)
		case "thaw":
			g.target.thaw(d.CmdArgs[0].Key)
		case "sleep":
			millis, err := strconv.Atoi(d.CmdArgs[0].Key)
			require.NoError(t, err)
			g.target.sleep(time.Duration(millis) * time.Millisecond)
		case "events":
			return g.events(t, d, at)
		default:
			d.Fatalf(t, "unknown block")
		}
		return ""
	})
}

func readDeployment(t *testing.T, d *datadriven.TestData) deployment {
	cfg := deployment{replicas: 2, sentinels: 3, quorum: 2}
	down, timeout := 3000, 10000
	for name, value := range map[string]*int{
		"replicas": &cfg.replicas, "sentinels": &cfg.sentinels, "quorum": &cfg.quorum,
		"down-after": &down, "failover-timeout": &timeout,
	} {
		if d.HasArg(name) {
			d.ScanArgs(t, name, value)
		}
	}
	cfg.downAfter = time.Duration(down) * time.Millisecond
	cfg.failoverTimeout = time.Duration(timeout) * time.Millisecond
	return cfg
}

// meetEachOther waits until every Sentinel knows the others and the replicas,
// and forgets what was published on the way.
func meetEachOther(t *testing.T, cfg deployment, target sentinelTarget) namer {
	words := func(line string) [][]byte {
		cmd, _ := resp.SplitArgs([]byte(line))
		return cmd
	}
	knows := func(sentinel string) bool {
		m := fields(target.ask(sentinel, words("SENTINEL MASTER mymaster")))
		return m["num-slaves"] == strconv.Itoa(cfg.replicas) &&
			m["num-other-sentinels"] == strconv.Itoa(cfg.sentinels-1) && m["flags"] == "master"
	}
	names := namer{}
	for i, name := range cfg.names() {
		names.add(strconv.Itoa(target.port()+i), name)
		if name[0] != 's' {
			continue
		}
		for tries := 0; !knows(name); tries++ {
			require.Less(t, tries, 100, "%s does not know all", name)
			target.sleep(200 * time.Millisecond)
		}
		names.add(target.ask(name, words("SENTINEL MYID")).Str, "#"+name)
	}
	target.sleep(3 * time.Second)
	for _, name := range cfg.names() {
		if name[0] == 's' {
			target.takeEvents(name)
			for _, r := range target.ask(name, words("SENTINEL REPLICAS mymaster")).List {
				names.add(fields(r)["runid"], "#"+names.name(fields(r)["port"]))
			}
			names.add(fields(target.ask(name, words("SENTINEL MASTER mymaster")))["runid"], "#m1")
		}
	}
	return names
}

// fields is a reply of names and values as a map.
func fields(v resp.Value) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(v.List); i += 2 {
		m[v.List[i].Str] = v.List[i+1].Str
	}
	return m
}

// connects reports whether a reply is about a master at port 1, where nobody listens, in the
// moment in which a Sentinel tries again to connect there: it is not disconnected then.
func connects(v resp.Value) bool {
	m := fields(v)
	return m["port"] == "1" && m["flags"] != "" && !strings.Contains(m["flags"], "disconnected")
}

func (g *sentinelGolden) do(t *testing.T, d *datadriven.TestData, at string) string {
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		cmd, ok := resp.SplitArgs([]byte(g.names.unmask(line)))
		require.True(t, ok, line)
		v := g.target.ask(at, cmd)
		for tries := 0; tries < 50 && connects(v); tries++ {
			g.target.sleep(20 * time.Millisecond)
			v = g.target.ask(at, cmd)
		}
		hideVolatile(v)
		hideOffsets(v)
		hideManual(line, v)
		sortHashes(line, v, g.names)
		text := g.names.mask(resp.Describe(v))
		text = infoText.ReplaceAllString(text, `"(INFO)"`)
		out.WriteString(text + "\n")
	}
	return out.String()
}

// nameRunID learns the id that a server has got by its start.
func (g *sentinelGolden) nameRunID(name string) {
	info := g.target.ask(name, [][]byte{[]byte("INFO"), []byte("server")}).Str
	if found := runIDLine.FindStringSubmatch(info); found != nil && name[0] != 's' {
		g.names.add(found[1], "#"+name)
	}
}

var runIDLine = regexp.MustCompile(`run_id:([0-9a-f]{40})`)

// infoText is what INFO-CACHE shows of a server.
var infoText = regexp.MustCompile(`"# Server\\r\\nredis_version:7.*"`)

func (g *sentinelGolden) events(t *testing.T, d *datadriven.TestData, at string) string {
	var only string
	if d.HasArg("only") {
		d.ScanArgs(t, "only", &only)
	}
	var out strings.Builder
	for _, e := range g.target.takeEvents(at) {
		if only == "" || slices.Contains(strings.Split(only, "|"), e.channel) {
			out.WriteString(g.names.mask(e.String()) + "\n")
		}
	}
	return out.String()
}

// volatileFields are those whose values depend on the moment.
var volatileFields = []string{
	"last-ping-sent", "last-ok-ping-reply", "last-ping-reply", "info-refresh", "role-reported-time",
	"last-hello-message", "link-pending-commands", "slave-repl-offset", "s-down-time", "o-down-time",
	"master-link-down-time", "id",
}

// hideVolatile replaces the values of volatile fields, and the ages of INFO-CACHE.
func hideVolatile(v resp.Value) {
	for i := range v.List {
		one := &v.List[i]
		hideVolatile(*one)
		if i+1 < len(v.List) && slices.Contains(volatileFields, one.Str) {
			v.List[i+1] = resp.Str("~")
		}
		if one.Kind == resp.Integer && one.Int > 0 && i+1 < len(v.List) && strings.HasPrefix(v.List[i+1].Str, "# Server") {
			*one = resp.Str("~")
		}
	}
}

// hideOffsets replaces the offsets in a master's ROLE.
func hideOffsets(v resp.Value) {
	if len(v.List) != 3 || v.List[0].Str != "master" {
		return
	}
	v.List[1] = resp.Str("~")
	for _, replica := range v.List[2].List {
		replica.List[2] = resp.Str("~")
	}
}

// hideManual leaves of what COMMAND DOCS says since when each command is there, and its group.
func hideManual(line string, v resp.Value) {
	if strings.HasPrefix(line, "COMMAND DOCS ") {
		hideManualOf(v)
	}
}

func hideManualOf(commands resp.Value) {
	sortPairs(commands.List)
	for i := 1; i < len(commands.List); i += 2 {
		entry := &commands.List[i]
		var kept []resp.Value
		for at := 0; at+1 < len(entry.List); at += 2 {
			switch entry.List[at].Str {
			case "subcommands":
				hideManualOf(entry.List[at+1])
				fallthrough
			case "since", "group":
				kept = append(kept, entry.List[at], entry.List[at+1])
			}
		}
		entry.List = kept
	}
}

// sortPairs orders names, each with what follows it.
func sortPairs(list []resp.Value) {
	pairs := slices.Collect(slices.Chunk(slices.Clone(list), 2))
	slices.SortFunc(pairs, func(a, b []resp.Value) int { return strings.Compare(a[0].Str, b[0].Str) })
	copy(list, slices.Concat(pairs...))
}

// sortHashes orders what Redis keeps in hash tables, whose order is another one in each
// process.
func sortHashes(line string, v resp.Value, names namer) {
	switch words := append(strings.Fields(strings.ToUpper(line)), "", ""); words[0] + " " + words[1] {
	case "SENTINEL MASTERS", "SENTINEL REPLICAS", "SENTINEL SLAVES", "SENTINEL SENTINELS", "COMMAND LIST":
		sortElements(v, names)
	case "ROLE ":
		if len(v.List) == 2 {
			sortElements(v.List[1], names)
		}
	}
}

// sortElements orders the elements of an array.
func sortElements(v resp.Value, names namer) {
	sort.SliceStable(v.List, func(i, j int) bool {
		return names.mask(resp.Describe(v.List[i])) < names.mask(resp.Describe(v.List[j]))
	})
}

// namer shows ports and ids as the names of processes.
type namer struct{ pairs [][2]string } // the longest texts first: a port may occur in an id

func (n *namer) add(text, name string) {
	if text == "" || n.name(text) != "" {
		return
	}
	at := slices.IndexFunc(n.pairs, func(pair [2]string) bool { return len(pair[0]) < len(text) })
	if at < 0 {
		at = len(n.pairs)
	}
	n.pairs = slices.Insert(n.pairs, at, [2]string{text, name})
}

func TestNamerKnowsIDsWithPortsInThem(t *testing.T) {
	names := namer{}
	names.add("21540", "m1")
	names.add("295099273c1c25b21540b4bc1c596b59f4f04eb5", "#s1")
	names.add("21541", "s1")
	require.Equal(t, "#s1 at s1, m1", names.mask("295099273c1c25b21540b4bc1c596b59f4f04eb5 at 21541, 21540"))
	require.Equal(t, "21540 295099273c1c25b21540b4bc1c596b59f4f04eb5", names.unmask("@m1 #s1"))
}

func (n *namer) name(text string) string {
	for _, pair := range n.pairs {
		if pair[0] == text {
			return pair[1]
		}
	}
	return ""
}

func (n *namer) mask(text string) string {
	for _, pair := range n.pairs {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// unmask puts ports in the place of @NAME and ids in that of #NAME.
func (n *namer) unmask(text string) string {
	for _, pair := range n.pairs {
		if pair[1][0] == '#' {
			text = strings.ReplaceAll(text, pair[1], pair[0])
		} else {
			text = strings.ReplaceAll(text, "@"+pair[1], pair[0])
		}
	}
	return text
}

// TestSentinelGoldenNamesEveryCommand keeps a command from being built without
// its replies having been compared with Redis's.
func TestSentinelGoldenNamesEveryCommand(t *testing.T) {
	files, err := filepath.Glob("testdata/sentinel/*.txt")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, one := range sentinelCommands {
		require.Regexp(t, `(?m)^SENTINEL `+one.name+`\b`, all.String())
	}
}
