package luaengine

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzGrammar sees that the recogniser reads any text to an end, and that what it finds
// is what is said of a text that does not compile.
func FuzzGrammar(f *testing.F) {
	for _, text := range []string{
		"return 1", "if a then b() end", "x = {1, a = 2; [3] = '\\65'}", "f\n(1)", "x = [==[ ]=] ]==] --[[ a", "\x00.\x00",
		"local function f(...) return ... end repeat local a until a", "for i = 1, 2 do break end for k, v in t do end",
		"a.b, c[1] = 1e3, -x^2 .. 'a' o:m{} ", "goto x", "\"\\999", "[=", "return (((((", "\r\n\n\r'\\\r\n'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _, fault := recognise(text, 0)
		_, err := New(fakeResolve).Compile(text)
		if err == nil || fault == "" || strings.HasPrefix(text, "#!") {
			return
		}
		require.Equal(t, "ERR Error compiling script (new function): user_script:"+oneLine(fault), err.Error())
	})
}

// TestLongTextsThatAreNotLua sees that reading takes a time that grows as the text does,
// and a stack that does not.
func TestLongTextsThatAreNotLua(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct{ head, link string }{
		{"", "("}, {"", "a"}, {"", "a "}, {"", "if "}, {"", "if a then "}, {"", "{"}, {"", "["}, {"", "[="},
		{"", "+"}, {"", "--[["},
		{"return ", "- "}, {"return ", "a.."}, {"return ", "not "},
		{"return ", "{{},"}, {"", "'"}, {"'", `\9`}, {"'", "\\\n"},
		{"", "]"}, {"[[", "]"}, {"[==[", "]="}, {"", "a,"}, {"local ", "a,"}, {"", "local a "}, {"", "do local a end "},
		{"", "function a() "}, {"", "x=function() x=a end "},
		{"local a ", "f(function() return a end) "}, {"", "a.b"},
		{"a", ".b"}, {"a", "[1]"}, {"a", "()"}, {"a", "\n"}, {"", "\x00"}, {"", "1"}, {"", "1."}, {"", ".1 "}, {"", "\xff"},
		{"return {", "a,"}, {"return {", "a=1,"}, {"return 1", "+1"}, {"return 1", "^1"}, {"", ";"}, {"", "a=1 "},
	} {
		text := c.head + strings.Repeat(c.link, size/len(c.link)) + " ="
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, _, fault := recognise(text, 0)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		require.NotEmpty(t, fault, c.link)
		require.Less(t, took, 5*time.Second, c.link)
		require.LessOrEqual(t, after.StackInuse, before.StackInuse+1<<20, c.link)
	}
}
