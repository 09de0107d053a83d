package luaengine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestLongRows: what redis-server compiles in a moment compiles, or is refused, in
// one; with the square of its length each of these would take minutes.
func TestLongRows(t *testing.T) {
	const many = 500_000
	row := func(head, link, tail string, n int) string { return head + strings.Repeat(link, n) + tail }
	e, h := New(fakeResolve), newFakeHost()
	for _, c := range []struct{ script, want string }{
		{row("return ", "1+", "1", 9_000), "9001"},
		{row("local a=1 return ", "a+", "1", 9_000), "9001"},
		{row("local a=1 return ", "a-", "1", 5), "-4"},
		{row("local a=1 return 3000", "-a", "", 2_000), "1000"},
		{row("return ", "nil or ", "7", 9_000), "7"},
		{row("local a=1 ", "if a then a=a+1 end ", "return a", 30_000), "30001"},
		{row("local f=function() return 5 end local a='x' return ", "f()+", "1", 500), "2501"},
		{"return #string.gsub('x','.',('%0'):rep(" + "500000))", "500000"},
		{row("return ", "1+", "1", maxRow), "10001"},
		{row("local a=1 return ", "a+", "1", maxRow+1), "too many operators in a row"},
		{row("return ", "1+", "1", many), "too many operators in a row"},
		{row("return #{", "1,", "}", maxSteps*maxElements+10), "25560"},
		{row("local a={} return a", ".b", "", many), "too many operators in a row"},
		{row("local a=1 ", "if a then a=1 end ", "return a", many/10), "control structure too long"},
		{row("local a=1 ", "if a then a=1 end ", row("local f=function() end ", "if a then a=1 end ", "", many/25), many/25),
			"control structure too long"},
		{row("local a=1 ", "if a then a=1 end ", row("local f=function(a) ", "if a then a=1 end ", "end return 7", many/25),
			many/25), "7"}, // each function has its own
		{row("local a=1 if a==2 then return 1 ", "elseif a==3 then return 2 ", "else return 7 end", 1_000), "7"},
		{row("return ", "(", "1", many), "too many syntax levels"},
		{row("return ", "{", "", many), "too many syntax levels"},
		{"local function f(n) coroutine.yield(n) return f(n+1) end local next = coroutine.wrap(f) next(1) " +
			"for i = 1, 50000 do next() end return next()", "50002"},
		{row("", "do ", "", many), "too many syntax levels"},
		{row("return ", "- ", "1", many), "too many syntax levels"},
		{row("return ", "not ", "1", many), "too many syntax levels"},
		{row("return ", "#", "''", many), "too many syntax levels"},
		{row("local f ", "f=function() end ", "return 7", 29_000), "7"},
		{row("local f ", "f=function() end ", "return 7", 40_000), "1: chunk is too large"},
		{row("return 7 ", "\n--[[x]]", "", maxSize), "7"},
		{row("local a ", "a=1 ", "return 7", maxSize/3-2), "7"},
		{row("local a ", "a=1 ", "return 7", maxSize/3+1), "1: chunk is too large"},
		{row("local a={} ", "a[1],", "a[1]=1", many), "more than 199 variables in assignment"},
	} {
		reply := runScript(e, h, c.script, nil, nil)
		name := c.script[:min(len(c.script), 40)]
		if reply.Kind == resp.Error {
			require.Contains(t, reply.Str, c.want, name)
		} else {
			require.Equal(t, "(integer) "+c.want, show(reply, ""), name)
		}
	}
}
