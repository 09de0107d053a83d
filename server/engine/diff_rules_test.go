package engine

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// diffRule says how the replies of a command are compared that need not be equal.
type diffRule struct {
	words []string // the command's first words
	rule  string   // see compare.txt
}

// readRules reads testdata/diff/compare.txt: rule, command, and the reason behind #.
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
		require.Contains(t, []string{"set", "shape", "drawn", "range", "ignored", "clients"}, words[0])
		rules = append(rules, diffRule{words[1:], words[0]})
	}
	require.LessOrEqual(t, len(rules), most)
	return rules
}

// compare makes two replies equal as far as their command's rule says that they
// may differ.
func (d *differ) compare(cmd [][]byte, want, got *resp.Value) {
	cmd = withoutScript(cmd)
	for _, rule := range d.rules {
		if !rule.covers(cmd) {
			continue
		}
		switch rule.rule {
		case "set":
			sortReply(*want)
			sortReply(*got)
		case "shape":
			blank(want)
			blank(got)
		case "drawn":
			if !listsAll(cmd, want) {
				blank(want)
				blank(got)
			}
		case "range":
			near(want, got)
			nearInside(want, got)
		case "clients":
			want.Str, got.Str = d.clientLines(want.Str), d.clientLines(got.Str)
		case "ignored":
			*want, *got = resp.Null, resp.Null
		}
	}
}

// listsAll reports whether a reply has fewer elements than the command, NAME key
// count, asks for.
func listsAll(cmd [][]byte, reply *resp.Value) bool {
	if len(cmd) < 3 {
		return false
	}
	count, ok := parseInt(cmd[2])
	return ok && int64(len(reply.List)) < count
}

// near makes two numbers equal that are less than 5000 apart.
func near(want, got *resp.Value) {
	const most = 5000
	if diff := want.Int - got.Int; want.Kind == resp.Integer && got.Kind == resp.Integer && -most < diff && diff < most {
		got.Int = want.Int
	}
}

// nearInside does so with the times in the replies about streams, and with no
// other number: behind the name seen-time or idle, and in what tells of a pending
// entry, which are its ID, in most lists its consumer, a time, and how often it
// was delivered.
func nearInside(want, got *resp.Value) {
	if len(want.List) != len(got.List) {
		return
	}
	list := want.List
	if n := len(list); (n == 3 || n == 4) && entryID.MatchString(list[0].Str) && list[n-1].Kind == resp.Integer {
		near(&list[n-2], &got.List[n-2])
	}
	for i := range list {
		if i%2 == 1 && (list[i-1].Str == "seen-time" || list[i-1].Str == "idle") {
			near(&list[i], &got.List[i])
		}
		nearInside(&list[i], &got.List[i])
	}
}

var entryID = regexp.MustCompile(`^\d+-\d+$`)

// TestTimesMayDiffer shows which numbers inside a reply need not be equal.
func TestTimesMayDiffer(t *testing.T) {
	d := &differ{rules: readRules(t)}
	after := func(name string, n int64) resp.Value {
		return resp.List(resp.Pairs(resp.Str("name"), resp.Str("idle"), resp.Str(name), resp.Int(n)))
	}
	pending := func(millis, deliveries int64) resp.Value {
		return resp.List(resp.List(resp.Str("1-0"), resp.Int(millis), resp.Int(deliveries)))
	}
	pendingOf := func(millis, deliveries int64) resp.Value {
		return resp.List(resp.List(resp.Str("1-0"), resp.Str("c"), resp.Int(millis), resp.Int(deliveries)))
	}
	for _, c := range []struct {
		command   string
		want, got resp.Value
		equal     bool
	}{
		{"XINFO CONSUMERS s g", after("idle", 7), after("idle", 8), true},
		{"XINFO CONSUMERS s g", after("pending", 7), after("pending", 8), false},
		{"XINFO STREAM s FULL", after("seen-time", 7), after("seen-time", 5006), true},
		{"XINFO STREAM s FULL", after("seen-time", 7), after("seen-time", 5007), false},
		{"XINFO STREAM s FULL", after("pel-count", 7), after("pel-count", 8), false},
		{"XINFO STREAM s FULL", pending(7, 1), pending(8, 1), true},
		{"XINFO STREAM s FULL", pending(7, 1), pending(7, 2), false},
		{"XINFO STREAM s FULL", pendingOf(7, 1), pendingOf(8, 1), true},
		{"XPENDING s g - + 1", pendingOf(7, 1), pendingOf(8, 1), true},
		{"XPENDING s g - + 1", pendingOf(7, 1), pendingOf(7, 2), false},
		{"XPENDING s g - + 1", pendingOf(7, 1), resp.List(), false},
		{"XAUTOCLAIM s g c 0 0", pendingOf(7, 1), pendingOf(8, 1), false},
		{"PTTL k", resp.Int(7), resp.Int(8), true},
		{"STRLEN k", resp.Int(7), resp.Int(8), false},
	} {
		want, got := resp.Describe(c.want), resp.Describe(c.got)
		d.compare(bytesOf(strings.Fields(c.command)), &c.want, &c.got)
		require.Equal(t, c.equal, resp.Describe(c.want) == resp.Describe(c.got), "%s:\n%s\n%s", c.command, want, got)
	}
}

func (r *diffRule) covers(cmd [][]byte) bool {
	for i, word := range r.words {
		if i >= len(cmd) || !matchGlob(word, strings.ToUpper(string(cmd[i]))) {
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
