package luaengine

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// TestLongListReply: a reply has all elements of a list, however long it is.
func TestLongListReply(t *testing.T) {
	const n = longestArray + 5
	reply := runScript(New(fakeResolve), newFakeHost(),
		"local t = {} for i = 1, tonumber(ARGV[1]) do t[i] = i end return t", nil, []string{strconv.Itoa(n)})
	require.Len(t, reply.List, n)
	require.EqualValues(t, n, reply.List[n-1].Int)
}

// TestLongListIsRead: what a command replies is a list of which a script sees each element.
func TestLongListIsRead(t *testing.T) {
	e := New(fakeResolve)
	e.start()
	const n = longestArray + 5
	list := make([]resp.Value, n)
	for i := range list {
		list[i] = resp.Int(int64(i + 1))
	}
	table := e.arrayToLua(e.main, list).(*lua.LTable)
	require.Equal(t, n, length(table))
	require.Equal(t, lua.LNumber(n), element(table, n))
	require.Equal(t, lua.LNil, element(table, n+1))
}
