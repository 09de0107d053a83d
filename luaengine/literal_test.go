package luaengine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script with very many literals is compiled in a time that grows with them, not
// with their square: the compiler, which compares each with all that it has, is left
// few. They have the values that are written.
func TestManyLiterals(t *testing.T) {
	const n = 30_000
	var b strings.Builder
	b.WriteString("local t = {")
	for i := range n {
		fmt.Fprintf(&b, "%d.5, 's%d', ", i, i%5000)
	}
	b.WriteString("} local sum, long = 0, 0\nfor i, v in ipairs(t) do\n")
	b.WriteString("if i % 2 == 1 then sum = sum + v else long = long + #v end end\n")
	b.WriteString("return {#t, sum, long, t[1], t[2] .. t[59999], t[60000], 17777.5 .. 's', ({s4999 = 's4998'})['s4999']}")
	e := New(fakeResolve)
	reply := runScript(e, newFakeHost(), b.String(), nil, nil)
	require.Empty(t, reply.Str)
	s, err := e.Compile(b.String())
	require.NoError(t, err)
	require.Less(t, len(s.chunk.fn.Proto.Constants), 1000)
	require.Len(t, reply.List, 8)
	require.EqualValues(t, 2*n, reply.List[0].Int)
	require.EqualValues(t, n/2*(n-1)+n/2, reply.List[1].Int)
	require.EqualValues(t, n/5000*(10*2+90*3+900*4+4000*5), reply.List[2].Int)
	require.EqualValues(t, 0, reply.List[3].Int)
	require.Equal(t, "s029999.5", reply.List[4].Str)
	require.Equal(t, "s4999", reply.List[5].Str)
	require.Equal(t, "17777.5s", reply.List[6].Str)
	require.Equal(t, "s4998", reply.List[7].Str)
}

// Many names, blanks and comments that gopher-lua does not know, and many of them, keep
// nobody waiting either.
func TestLongScripts(t *testing.T) {
	e := New(fakeResolve)
	for what, piece := range map[string]func(i int) string{
		"globals": func(i int) string { return fmt.Sprintf("g%d()\n", i) },
		"methods": func(i int) string { return fmt.Sprintf("local t t:m%d()\n", i) },
		"methods of a table": func(i int) string {
			return fmt.Sprintf("function t:m%d() end\n", i)
		},
	} {
		var b strings.Builder
		b.WriteString("if ARGV[1] == 'never' then local t = {}\n")
		for i := range maxNames {
			b.WriteString("do " + piece(i) + " end\n")
		}
		_, err := e.Compile(b.String() + "end return 7")
		require.ErrorContains(t, err, "constant table overflow", what)
	}
	fields := "local t = {}\n"
	for i := range 3 * maxNames / 2 {
		fields += fmt.Sprintf("t.f%d = %d\n", i, i)
	}
	reply := runScript(e, newFakeHost(), fields+"return t.f20000", nil, nil)
	require.EqualValues(t, 20000, reply.Int, "%+v", reply)
	const many = 2_000_000
	reply = runScript(e, newFakeHost(), strings.Repeat("\v", many)+strings.Repeat("--[x\n", many/4)+"return 7", nil, nil)
	require.EqualValues(t, 7, reply.Int, "%+v", reply)
}
