package engine

import (
	"os"
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
		require.Contains(t, []string{"set", "shape", "range", "ignored"}, words[0])
		rules = append(rules, diffRule{words[1:], words[0]})
	}
	require.LessOrEqual(t, len(rules), most)
	return rules
}

// compare makes two replies equal as far as their command's rule says that they
// may differ.
func (d *differ) compare(cmd [][]byte, want, got *resp.Value) {
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
		case "range":
			const most = 5000
			if diff := want.Int - got.Int; want.Kind == resp.Integer && got.Kind == resp.Integer && -most < diff && diff < most {
				got.Int = want.Int
			}
		case "ignored":
			*want, *got = resp.Null, resp.Null
		}
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
