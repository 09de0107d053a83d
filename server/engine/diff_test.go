package engine

import (
	flags "flag"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

var (
	diffSeed     = flags.Int64("diff.seed", 1, "seed of the random commands; 0: by the clock")
	diffCommands = flags.Int("diff.commands", 20_000, "how many random commands are compared")
)

// TestRandomCommandsAgainstRedis sends random commands to the engine and to the
// server at REDIS_SERVER (host:port, empty) and compares
// the replies, on a RESP2 and a RESP3 connection. Episodes begin with empty
// servers; one that shows a difference is made as short as possible.
func TestRandomCommandsAgainstRedis(t *testing.T) {
	address := os.Getenv("REDIS_SERVER")
	if address == "" {
		t.Skip("REDIS_SERVER is not set")
	}
	seed := *diffSeed
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("replay: REDIS_SERVER=%s go test ./server/engine -run TestRandomCommandsAgainstRedis -diff.seed=%d "+
		"-diff.commands=%d", address, seed, *diffCommands)
	d := &differ{t: t, real: newRealTarget(t, address), rules: readRules(t), counts: map[string]int{}}
	d.real.ask(control, "CONFIG", "SET", "hz", "500") // its timeouts end at ticks
	random := rand.New(rand.NewSource(seed))
	forms := strings.Split(strings.TrimSpace(diffGrammar), "\n")
	const episode = 200
	for sent := 0; sent < *diffCommands; sent += episode {
		steps := make([]diffStep, episode)
		for i := range steps {
			steps[i] = diffStep{[]string{"2", "3"}[random.Intn(2)], diffCommand(random, forms[random.Intn(len(forms))])}
		}
		if found := d.run(steps, true); found != nil {
			t.Logf("%s: redis-server %s, engine %s; shrinking", steps[found.at].line, found.want, found.got)
			t.Fatal(d.shrink(steps[:found.at+1], found))
		}
	}
	t.Log(d.report())
}

// diffStep is one command of one client; "2" and "3" name the clients' protocols.
type diffStep struct{ client, line string }

// mismatch is the step at which two servers part ways.
type mismatch struct {
	at        int
	want, got string
}

// differ compares the engine with a server.
type differ struct {
	t      *testing.T
	real   *realTarget
	rules  []diffRule
	counts map[string]int
}

// run plays steps on empty servers and returns the first difference, or nil.
func (d *differ) run(steps []diffStep, count bool) *mismatch {
	ours := newEngineTarget()
	d.real.ask(control, "FLUSHALL")
	d.real.ask(control, "SCRIPT", "FLUSH")
	for client, proto := range map[string]int{"2": 2, "3": 3} { //tidy:unordered one is like the other
		if c := d.real.clients[client]; c != nil {
			_ = c.socket.Close()
		}
		d.real.connect(client, proto)
		ours.connect(client, proto)
	}
	queues := map[string][][][]byte{}
	for i, step := range steps {
		cmd, ok := resp.SplitArgs([]byte(step.line))
		require.True(d.t, ok, step.line)
		ours.clock.wall = time.Now()
		d.real.send(step.client, cmd)
		ours.send(step.client, cmd)
		want, okWant := d.real.next(step.client, true)
		got, okGot := ours.next(step.client, true)
		require.True(d.t, okWant, "no reply to %s", step.line)
		if count {
			d.counts[strings.ToUpper(string(cmd[0]))]++
		}
		queue := queues[step.client]
		switch {
		case want.Kind == resp.Status && want.Str == "QUEUED":
			queues[step.client] = append(queue, cmd)
		case is(cmd[0], "EXEC") || is(cmd[0], "DISCARD"):
			d.normalizeAll(queue, &want)
			d.normalizeAll(queue, &got)
			queues[step.client] = nil
		default:
			d.normalize(cmd, &want)
			d.normalize(cmd, &got)
		}
		if a, b := resp.Describe(want), resp.Describe(got); a != b || okWant != okGot {
			return &mismatch{i, a, b}
		}
	}
	return nil
}

// shrink leaves out steps as long as a difference remains, and tells it.
func (d *differ) shrink(steps []diffStep, found *mismatch) string {
	const longest = 30 * time.Second
	end := time.Now().Add(longest)
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(steps)-1 && time.Now().Before(end); {
			shorter := slices.Delete(slices.Clone(steps), from, from+size)
			if again := d.run(shorter, false); again != nil {
				steps, found = shorter[:again.at+1], again
			} else {
				from += size
			}
		}
	}
	var text strings.Builder
	for _, step := range steps {
		fmt.Fprintf(&text, "RESP%s  %s\n", step.client, step.line)
	}
	return fmt.Sprintf("a difference, after\n%s\nredis-server:\n%s\nengine:\n%s", &text, found.want, found.got)
}

// report is how often each command was compared.
func (d *differ) report() string {
	names := make([]string, 0, len(d.counts))
	for name := range d.counts { //tidy:unordered sorted below
		names = append(names, name)
	}
	sort.Strings(names)
	var text strings.Builder
	text.WriteString("0 differences; commands compared:")
	for _, name := range names {
		fmt.Fprintf(&text, " %s %d", name, d.counts[name])
	}
	return text.String()
}

// diffRule says how the replies of a command are compared that need not be equal.
type diffRule struct {
	words []string // the command's first words
	rule  string   // set: in any order; shape: kinds and lengths; ignored
}

// readRules reads testdata/compare.txt: rule, command, and the reason behind #.
func readRules(t *testing.T) (rules []diffRule) {
	const most = 25
	text, err := os.ReadFile("testdata/diff/compare.txt")
	require.NoError(t, err)
	for _, line := range strings.Split(string(text), "\n") {
		line, reason, _ := strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		require.NotEmpty(t, strings.TrimSpace(reason), line)
		require.Contains(t, []string{"set", "shape", "ignored"}, words[0])
		rules = append(rules, diffRule{words[1:], words[0]})
	}
	require.LessOrEqual(t, len(rules), most)
	return rules
}

// normalizeAll is normalize for the replies of a transaction's commands.
func (d *differ) normalizeAll(queue [][][]byte, v *resp.Value) {
	for i := range v.List {
		if i < len(queue) {
			d.normalize(queue[i], &v.List[i])
		}
	}
}

// normalize takes out of a reply what its command's rule says may differ.
func (d *differ) normalize(cmd [][]byte, v *resp.Value) {
	for _, rule := range d.rules {
		if rule.covers(cmd) {
			switch rule.rule {
			case "set":
				sortReply(*v)
			case "shape":
				blank(v)
			case "ignored":
				*v = resp.Null
			}
		}
	}
}

func (r *diffRule) covers(cmd [][]byte) bool {
	for i, word := range r.words {
		if i >= len(cmd) || !is(cmd[i], word) {
			return false
		}
	}
	return true
}

// blank leaves the kinds and lengths of a reply; errors stay.
func blank(v *resp.Value) {
	if v.Kind != resp.Error {
		v.Str, v.Int = "", 0
	}
	for i := range v.List {
		blank(&v.List[i])
	}
}
