package luaengine

import (
	"fmt"
	"runtime"
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

// TestCompiledFunctionsAreSmall: a script of many functions takes no more than what is
// reckoned for its text.
func TestCompiledFunctionsAreSmall(t *testing.T) {
	e := New(fakeResolve)
	text := "local f " + strings.Repeat("f = function() return 1 end\n", 10_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, err := e.Compile(text)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int(after.HeapAlloc)-int(before.HeapAlloc), s.size())
	runtime.KeepAlive(e)
}
