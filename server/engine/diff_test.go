package engine

import (
	flags "flag"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

var (
	diffSeed     = flags.Int64("diff.seed", 0, "seed of random commands and programs; 0: by the clock")
	diffCommands = flags.Int("diff.commands", 20_000, "how many random commands are compared")
	diffScripts  = flags.Int("diff.scripts", 3_000, "how many random programs are compared")
	diffKeep     = flags.Bool("diff.keep", false, "keep each difference that is found as a golden file")
)

// TestRandomCommandsAgainstRedis sends random commands to the engine and to the
// server at REDIS_SERVER (host:port, empty) and compares what each of several
// clients receives. Episodes begin with empty servers; one that shows a
// difference is made as short as possible.
func TestRandomCommandsAgainstRedis(t *testing.T) {
	d, seed := newDiffer(t)
	d.compareRandom(seed, readForms(t), *diffCommands)
}

// newDiffer prepares the server at REDIS_SERVER, and tells how the run is repeated.
func newDiffer(t *testing.T) (d *differ, seed int64) {
	address := redisserver.Address(t)
	seed = seedOfRun()
	t.Logf("replay: REDIS_SERVER=%s go test ./server/engine -run %s -diff.seed=%d -diff.commands=%d",
		address, t.Name(), seed, *diffCommands)
	d = &differ{t: t, real: newRealTarget(t, address), rules: readRules(t), counts: map[string]int{}}
	d.real.ask(control, "CONFIG", "SET", "hz", "500") // its timeouts end at ticks
	t.Cleanup(d.leave)
	return d, seed
}

// compareRandom sends so many random commands in episodes.
func (d *differ) compareRandom(seed int64, forms []diffForm, commands int) {
	random := rand.New(rand.NewSource(seed))
	const size, progress, most = 200, 100_000, 5
	differences := 0
	for sent := 0; sent < commands && differences < most; sent += size {
		steps := episode(random, forms, size)
		if d.listening {
			steps = playable(steps)
		}
		if sent > 0 && sent%progress == 0 {
			d.t.Logf("%d commands, %d differences", sent, differences)
		}
		found := d.run(steps, true)
		if found != nil && slices.ContainsFunc(steps, func(s diffStep) bool { return s.brief }) {
			d.t.Logf("%s: redis-server %s, engine %s", steps[found.at].line, found.want, found.got)
			found = d.run(steps, false) // a busy machine may let a brief lifetime end too soon
		}
		if found != nil {
			differences++
			short, found := d.shrink(steps[:found.at+1], found)
			d.t.Errorf("a difference, after\n%s\nredis-server:\n%s\nengine:\n%s", text(short), found.want, found.got)
			if *diffKeep {
				d.keep(short, fmt.Sprintf("testdata/found_%d_%d.txt", seed, differences))
			}
		}
	}
	d.report(differences)
}

// seedOfRun is a new one each time unless one is given.
func seedOfRun() int64 {
	if *diffSeed != 0 {
		return *diffSeed
	}
	return time.Now().UnixNano()
}

// mismatch is the step at which two servers part ways.
type mismatch struct {
	at        int
	want, got string
}

// differ compares the engine with a server.
type differ struct {
	t      *testing.T
	real   *realTarget
	ours   *engineTarget
	rules  []diffRule
	counts map[string]int
	queues map[string][][][]byte // of the transactions, by client
	ids    map[string]string     // of the clients, by their names in commands

	listening bool         // see TestPubSubAgainstRedis
	replicas  *replicaPair // what replicas are told is compared as well; nil: there are none
}

// diffDefaults are the parameters that random commands change.
const diffDefaults = "CONFIG SET hash-max-listpack-entries 512 hash-max-listpack-value 64 set-max-intset-entries 512 " +
	"zset-max-listpack-entries 128 zset-max-listpack-value 64 notify-keyspace-events '' maxmemory-policy noeviction " +
	"min-replicas-to-write 0 " +
	"slowlog-log-slower-than -1 stream-node-max-entries 100 stream-node-max-bytes 4096 hll-sparse-max-bytes 3000 " +
	"list-max-listpack-size -2 list-compress-depth 0"

// diffLimited makes a user as whom clients may send random commands.
const diffLimited = "ACL SETUSER limited reset on nopass +@all -@hyperloglog -lrange -config|get &ch1 &new* " +
	"~key[0-4] %R~key5 %W~key6 ~names* ~hll* ~[^k]* (+get +set ~key7) (+lrange %R~key[67])"

// briefly is longer than any brief lifetime.
const briefly = 7 * time.Millisecond

// diffLazy has keys expire when they are met, and not when a server has time.
const diffLazy = "DEBUG SET-ACTIVE-EXPIRE 0"

// diffPlain has elements of lists stand alone in their nodes from the size on that
// redis-server begins with.
const diffPlain = "DEBUG QUICKLIST-PACKED-THRESHOLD 0"

// leave makes the server what it was before, for the tests that come after.
func (d *differ) leave() {
	defaults, _ := resp.SplitArgs([]byte(diffDefaults))
	d.real.send(control, defaults)
	_, ok := d.real.next(control, true)
	require.True(d.t, ok)
	for _, words := range []string{
		"CLIENT UNPAUSE", "CONFIG SET hz 10 slowlog-log-slower-than 10000", "FLUSHALL", "SCRIPT FLUSH", "FUNCTION FLUSH",
		"ACL LOG RESET", "DEBUG SET-ACTIVE-EXPIRE 1", diffPlain,
	} {
		d.real.ask(control, strings.Fields(words)...)
	}
	d.forgetUsers()
}

// forgetUsers leaves the server with its default user.
func (d *differ) forgetUsers() {
	for _, name := range d.real.ask(control, "ACL", "USERS").List {
		if name.Str != "default" {
			d.real.ask(control, "ACL", "DELUSER", name.Str)
		}
	}
}

// begin makes both servers empty and connects the clients anew.
func (d *differ) begin() {
	defaults, _ := resp.SplitArgs([]byte(diffDefaults))
	d.ours = newEngineTarget()
	d.ours.node.lastID = 1 << 40 // no command names the ID of control or of a replica
	d.ours.connect(control, 2)
	d.ours.send(control, defaults)
	d.forgetUsers()
	d.real.send(control, defaults)
	_, ok := d.real.next(control, true)
	require.True(d.t, ok)
	for _, words := range []string{
		"CLIENT UNPAUSE", "FLUSHALL", "SCRIPT FLUSH", "FUNCTION FLUSH", "CONFIG RESETSTAT", "SLOWLOG RESET",
		"ACL LOG RESET", diffLazy, diffPlain, diffLimited,
	} {
		d.real.ask(control, strings.Fields(words)...)
	}
	d.ours.send(control, bytesOf(strings.Fields(diffLimited)))
	d.ours.send(control, bytesOf(strings.Fields(diffLazy)))
	for client, c := range d.real.clients { //tidy:unordered each is closed
		if client != control {
			_ = c.socket.Close()
		}
	}
	d.real.settle()
	d.queues, d.ids = map[string][][][]byte{}, map[string]string{}
	if d.replicas != nil {
		d.replicas.begin(d.ours.node)
	}
	for _, client := range everybody {
		d.connect(client)
	}
}

// connect gives a client the same ID at both servers.
func (d *differ) connect(client string) {
	proto := (&diffStep{client: client}).proto()
	d.real.connect(client, proto)
	d.real.settle() // it has accepted the connection
	id, err := strconv.ParseInt(d.real.id(client), 10, 64)
	require.NoError(d.t, err)
	d.ours.node.lastID = id - 1
	d.ours.connect(client, proto)
	delete(d.queues, client)
	d.ids["@"+strings.ReplaceAll(client, " ", "")] = strconv.FormatInt(id, 10)
}

// reconnect connects the clients anew that a command has killed, or that have left.
func (d *differ) reconnect(at int) *mismatch {
	for _, client := range everybody {
		if !d.ours.clients[client].Closing() {
			continue
		}
		if found := d.received(client, at); found != nil {
			return found
		}
		if !d.real.isClosed(client) {
			return &mismatch{at, client + " is still there", client + " is gone"}
		}
		d.ours.leave(client)
		d.connect(client)
	}
	return nil
}

// run plays steps on empty servers and returns the first difference, or nil.
func (d *differ) run(steps []diffStep, count bool) *mismatch {
	d.begin()
	brief := false
	for i, step := range steps {
		cmd, ok := resp.SplitArgs([]byte(step.line))
		require.True(d.t, ok, step.line)
		for k, word := range cmd {
			if id, ok := d.ids[string(word)]; ok {
				cmd[k] = []byte(id)
			}
		}
		if brief && is(withoutScript(cmd)[0], "RANDOMKEY") {
			continue // any key may then expire
		}
		if count {
			d.count(cmd)
		}
		if comparesDates(cmd) {
			time.Sleep(tick)
		}
		d.ours.clock.wall = time.Now()
		d.real.send(step.client, cmd)
		d.ours.send(step.client, cmd)
		var want, got string
		switch {
		case slices.Contains(talkers, step.client):
			want, got = d.replies(step.client, cmd)
		default:
			d.real.settle()
			if d.ours.wait(d.ours.clients[step.client]) {
				const pause = 10 * time.Millisecond // longer than any of CLIENT PAUSE, and than a tick
				d.real.sleep(pause)
				d.real.settle()
			}
		}
		if want != got {
			return &mismatch{i, want, got}
		}
		if found := d.reconnect(i); found != nil {
			return found
		}
		if brief = brief || step.brief; step.brief || brief && is(cmd[0], "EXEC") {
			time.Sleep(briefly)
			d.ours.endPauses()
		}
	}
	return d.leftovers(len(steps) - 1)
}

// tick is longer than the unit in which servers keep the dates of keys.
const tick = 2 * time.Millisecond

// comparesDates reports whether cmd may compare a lifetime that begins now to one that
// an earlier command began. Given the same lifetime, the date is a greater one only if
// a millisecond began in between, which the two clocks need not agree about.
func comparesDates(cmd [][]byte) bool {
	return is(cmd[0], "EXEC") || slices.ContainsFunc(cmd, func(word []byte) bool {
		return is(word, "GT") || is(word, "LT")
	})
}

// count counts a command by its name, and that of its subcommand.
func (d *differ) count(cmd [][]byte) {
	name := strings.ToUpper(string(cmd[0]))
	if row := byName(cmd[0]); row != nil && row.Sub != nil && len(cmd) > 1 {
		if sub, _ := row.resolve(cmd); sub != nil {
			name += " " + sub.Name
		}
	}
	d.counts[name]++
}

// replies are what the two servers send to a client, up to the reply to cmd; its bytes
// too, but for the coordinates of RESP3.
func (d *differ) replies(client string, cmd [][]byte) (want, got string) {
	pushes, reply := take(d.t, d.real, client, cmd)
	ourPushes, ourReply := take(d.t, d.ours, client, cmd)
	sameValue := resp.Describe(reply) == resp.Describe(ourReply)
	queue := d.queues[client]
	switch {
	case reply.Kind == resp.Status && reply.Str == "QUEUED":
		d.queues[client] = append(queue, cmd)
	case is(cmd[0], "EXEC") || is(cmd[0], "DISCARD") || is(cmd[0], "RESET") || is(cmd[0], "QUIT"):
		for i := range max(len(reply.List), len(ourReply.List)) {
			if i < len(queue) && i < len(reply.List) && i < len(ourReply.List) {
				d.compare(queue[i], &reply.List[i], &ourReply.List[i])
			}
		}
		d.queues[client] = nil
	default:
		d.compare(cmd, &reply, &ourReply)
	}
	want, got = pushes+resp.Describe(reply), ourPushes+resp.Describe(ourReply)
	if want == got && sameValue && !strings.HasPrefix(strings.ToUpper(string(withoutScript(cmd)[0])), "GEO") {
		return want + resp.Quote(string(d.real.raw)), got + resp.Quote(string(d.ours.raw))
	}
	return want, got
}

// take returns a client's reply to cmd, and the pushes that came before it.
func take(t *testing.T, tg target, client string, cmd [][]byte) (pushes string, reply resp.Value) {
	for {
		v, ok := tg.next(client, true)
		require.True(t, ok || !tg.isReal(), "no reply to %q", cmd)
		if v.Kind != resp.Push || !ok {
			return pushes, v
		}
		pushes += resp.Describe(v) + "\n"
	}
}

// monitored is a line of MONITOR: its time and address differ.
var monitored = regexp.MustCompile(`(?m)^\(status\) "\d+\.\d+ \[(\d+) [\d.]+:\d+\]|^\(status\) "\d+\.\d+ \[(\d+ lua)\]`)

// leftovers compares what the clients received that no reply was waited for.
func (d *differ) leftovers(at int) *mismatch {
	d.real.settle()
	for _, client := range everybody {
		if found := d.received(client, at); found != nil {
			return found
		}
	}
	if want, got := d.statistics(); want != got {
		return &mismatch{at, want, got}
	}
	if d.replicas != nil {
		if want, got := d.replicas.compare(); want != got {
			return &mismatch{at, "told its replica " + want, "told its replica " + got}
		}
	}
	return nil
}

// comparedStatistics are the lines of INFO that are compared, but for what the test
// itself sends to a server, and for times.
var comparedStatistics = regexp.MustCompile(`(?m)^(expired_keys|evicted_keys|total_error_replies|` +
	`tracking_total_\w+|pubsub\w+|cmdstat_[^:]*|errorstat_\w+|db\d):.*$`)

var (
	volatile   = regexp.MustCompile(`,(usec|usec_per_call|avg_ttl)=[\d.]+`)
	sentByTest = regexp.MustCompile(
		`^cmdstat_(slowlog|client|config|acl|publish|hello|info|debug|script|function|flushall)`)
)

// statistics compares what the servers have counted, and have: the first line that differs.
func (d *differ) statistics() (want, got string) {
	lines := func(tg target) (list []string) {
		for ok := !tg.isReal(); ok; { // what nobody has read
			_, ok = tg.next(control, false)
		}
		tg.send(control, bytesOf([]string{"INFO", "everything"}))
		v, ok := tg.next(control, true)
		require.True(d.t, ok)
		for _, line := range comparedStatistics.FindAllString(v.Str, -1) {
			line = volatile.ReplaceAllString(strings.TrimSpace(line), "")
			if !sentByTest.MatchString(line) {
				list = append(list, line)
			}
		}
		slices.Sort(list)
		tg.send(control, bytesOf([]string{"DEBUG", "DIGEST"}))
		v, ok = tg.next(control, true)
		require.True(d.t, ok)
		return append(list, "data "+v.Str)
	}
	a, b := lines(d.real), lines(d.ours)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return "nothing", b[i]
		case i >= len(b):
			return a[i], "nothing"
		case a[i] != b[i]:
			return a[i], b[i]
		}
	}
	return "", ""
}

// received compares what a client has received.
func (d *differ) received(client string, at int) *mismatch {
	want, got := d.drain(d.real, client), d.drain(d.ours, client)
	for i := range max(len(want), len(got)) {
		var a, b string
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			return &mismatch{at, client + " received " + a, client + " received " + b}
		}
	}
	return nil
}

// shrink leaves out steps as long as a difference remains.
func (d *differ) shrink(steps []diffStep, found *mismatch) ([]diffStep, *mismatch) {
	const longest = 30 * time.Second
	end := time.Now().Add(longest)
	for size := (len(steps) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(steps) && time.Now().Before(end); {
			shorter := slices.Delete(slices.Clone(steps), from, from+size)
			if len(shorter) == 0 {
				break
			}
			if again := d.run(shorter, false); again != nil {
				steps, found = shorter[:again.at+1], again
			} else {
				from += size
			}
		}
	}
	return steps, found
}

// keep writes steps as a golden file with redis-server's replies.
func (d *differ) keep(steps []diffStep, file string) {
	var b strings.Builder
	const address = `^\(status\) "\d+\.\d+ \[(\d+) [\d.]+:\d+\] -> (status) "TIME [$1 ADDRESS]`
	b.WriteString("# Found by random commands.\nmask\n" + address + "\n----\n")
	d.begin()
	g := &golden{target: d.real, clients: map[string]bool{}}
	require.NoError(d.t, g.addMasks(address))
	block := func(verb, input, client string, proto int) {
		client = strings.ReplaceAll(client, " ", "")
		args := []datadriven.CmdArg{{Key: "client", Vals: []string{client}}}
		header := fmt.Sprintf("%s client=%s", verb, client)
		if verb == "do" {
			args = append(args, datadriven.CmdArg{Key: "proto", Vals: []string{strconv.Itoa(proto)}})
			header += fmt.Sprintf(" proto=%d\n%s", proto, input)
		}
		out, err := g.block(d.t, &datadriven.TestData{Cmd: verb, Input: input, CmdArgs: args})
		require.NoError(d.t, err)
		fmt.Fprintf(&b, "\n%s\n----\n%s", header, g.mask(out))
	}
	for _, step := range steps {
		block("do", step.line, step.client, step.proto())
		if step.brief {
			time.Sleep(briefly)
			fmt.Fprintf(&b, "\nsleep %d\n----\n", briefly.Milliseconds())
		}
	}
	for _, client := range everybody {
		if g.clients[strings.ReplaceAll(client, " ", "")] {
			block("recv", "", client, 0)
		}
	}
	fmt.Fprintf(&b, "\ndo\n%s 10000\n----\nOK\n", strings.TrimSuffix(diffDefaults, " -1"))
	require.NoError(d.t, os.WriteFile(file, []byte(b.String()), 0o644))
	d.t.Logf("kept as %s", file)
}

// report tells how often each command was compared.
func (d *differ) report(differences int) {
	names := make([]string, 0, len(d.counts))
	total := 0
	for name, n := range d.counts { //tidy:unordered sorted below
		names = append(names, name)
		total += n
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, " %s %d", name, d.counts[name])
	}
	d.t.Logf("%d commands, %d differences; commands compared:%s", total, differences, &b)
}
