package luaengine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScriptsArePutAway: however many scripts there are, the compiled ones stay
// within a bound; what was put away runs as before, what is used stays.
func TestScriptsArePutAway(t *testing.T) {
	e, h := New(fakeResolve), newFakeHost()
	padding := "--" + strings.Repeat("x", 20_000)
	script := func(i int) string { return fmt.Sprintf("return %d %s", i, padding) }
	hot, err := e.Compile(script(0))
	require.NoError(t, err)
	first, err := e.Compile(script(1))
	require.NoError(t, err)
	for i := 2; i < 200; i++ {
		require.Equal(t, fmt.Sprintf("(integer) %d", i), show(runScript(e, h, script(i), nil, nil), ""))
		e.Run(hot, h, nil, nil, RunOptions{})
	}
	require.LessOrEqual(t, e.compiledSize, maxCompiled)
	require.NotNil(t, hot.chunk)
	require.Nil(t, first.chunk)
	require.Equal(t, "(integer) 1", show(e.Run(first, h, nil, nil, RunOptions{}), ""))
	require.NotNil(t, first.chunk)
}
