package luaengine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/gopher-lua/parse"
)

// TestEachLineHasItsNode: a tree takes as many lines as were noted for its text.
func TestEachLineHasItsNode(t *testing.T) {
	scripts := append(corpus(t), lockScripts(t)...)
	for seed := range uint64(400) {
		g := &generator{choices: noise(seed, 400)}
		scripts = append(scripts, g.program())
	}
	for _, script := range scripts {
		text, lines, fault := recognise(script, 0)
		if fault != "" {
			continue
		}
		stmts, err := parse.Parse(strings.NewReader(text), "")
		if err != nil {
			continue
		}
		l := &liner{lines: append(lines, 0)}
		l.stmts(stmts)
		require.Equal(t, []int{0}, l.lines, script)
	}
}
