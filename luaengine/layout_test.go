package luaengine

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLayout(t *testing.T) {
	for script, want := range map[string]string{
		"": "",
		"if (redis.call('exists', KEYS[1]) == 0) then redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; " +
			"return 1;": `if (redis.call('exists', KEYS[1]) == 0) then
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end;
return 1;
`,
		"local a,b=1 , -2 while a<-b do a=a+1 b=- b-1 if a==3 then break elseif not b then " +
			"repeat a=#{1,2} until true else f{x=1;y=2} end end return a": `local a, b = 1, -2
while a < -b do
  a = a + 1
  b = -b - 1
  if a == 3 then
    break
  elseif not b then
    repeat
      a = #{1, 2}
    until true
  else
    f {x = 1; y = 2}
  end
end
return a
`,
		"local function f(x) return x.y:z('a;b'..[[ c ]]) end " +
			"table.sort(t, function(a,b) return a<b end) -- done": `local function f(x)
  return x.y:z('a;b' .. [[ c ]])
end
table.sort(t, function(a, b)
  return a < b
end) -- done
`,
	} {
		require.Equal(t, want, Layout(script))
	}
}

// TestLayoutChangesNothing: scripts of the lock client, in one line as other
// clients send them, have the same tokens and compile when laid out, and laying
// out twice is the same as once.
func TestLayoutChangesNothing(t *testing.T) {
	e := New(fakeResolve)
	for _, path := range scriptFiles(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var words []string
		for _, one := range tokens(string(text)) {
			if one.kind != aComment {
				words = append(words, one.text)
			}
		}
		oneLine := strings.Join(words, " ")
		pretty := Layout(oneLine)
		require.Equal(t, words, texts(tokens(pretty)), path)
		require.Equal(t, pretty, Layout(pretty), path)
		_, err = e.Compile(pretty)
		require.NoError(t, err, pretty)
		require.Less(t, longestLine(pretty), 121, path)
	}
}

func texts(list []token) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.text)
	}
	return out
}

func longestLine(s string) int {
	longest := 0
	for _, line := range strings.Split(s, "\n") {
		longest = max(longest, len(line))
	}
	return longest
}

// FuzzLayout: whatever the text, its tokens stay.
func FuzzLayout(f *testing.F) {
	f.Add(acquireScript)
	f.Add("a = 'x\\")
	f.Add("--[[ x ]] [==[ ]=] 0x1p 1..2 function( end end }")
	f.Fuzz(func(t *testing.T, script string) {
		require.Equal(t, texts(tokens(script)), texts(tokens(Layout(script))))
	})
}
