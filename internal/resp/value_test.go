package resp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wireForms lists each kind with its two wire forms and its description. The
// RESP3 form must parse back to the value itself.
var wireForms = []struct {
	value        Value
	resp2, resp3 string
	text         string
}{
	{Value{}, "", "", "(none)"},
	{Null, "$-1\r\n", "_\r\n", "(nil)"},
	{NullList, "*-1\r\n", "_\r\n", "(nil array)"},
	{OK, "+OK\r\n", "+OK\r\n", "OK"},
	{Simple("a\rb"), "+a b\r\n", "+a b\r\n", `(status) "a\rb"`},
	{Simple("1"), "+1\r\n", "+1\r\n", `(status) "1"`},
	{Err("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n", "(error) ERR a\r\nb"},
	{Int(math.MinInt64), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n", "(integer) -9223372036854775808"},
	{Str("a\r\n\x00\xff\"\\"), "$7\r\na\r\n\x00\xff\"\\\r\n", "$7\r\na\r\n\x00\xff\"\\\r\n", `"a\r\n\x00\xff\"\\"`},
	{Str(""), "$0\r\n\r\n", "$0\r\n\r\n", `""`},
	{List(), "*0\r\n", "*0\r\n", "(empty array)"},
	{List(One, List(Str("x"), Null), Zero), "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n:0\r\n",
		"*3\r\n:1\r\n*2\r\n$1\r\nx\r\n_\r\n:0\r\n", "1) (integer) 1\n2) 1) \"x\"\n   2) (nil)\n3) (integer) 0"},
	{Pairs(Str("k"), Int(1), Str("l"), List(One)), "*4\r\n$1\r\nk\r\n:1\r\n$1\r\nl\r\n*1\r\n:1\r\n",
		"%2\r\n$1\r\nk\r\n:1\r\n$1\r\nl\r\n*1\r\n:1\r\n", "1# \"k\" => (integer) 1\n2# \"l\" => 1) (integer) 1"},
	{Value{Kind: Set, List: []Value{One}}, "*1\r\n:1\r\n", "~1\r\n:1\r\n", "1~ (integer) 1"},
	{Value{Kind: Push, List: []Value{Str("m")}}, "*1\r\n$1\r\nm\r\n", ">1\r\n$1\r\nm\r\n", "1> \"m\""},
	{Float(1.5), "$3\r\n1.5\r\n", ",1.5\r\n", "(double) 1.5"},
	{Float(0.1), "$19\r\n0.10000000000000001\r\n", ",0.10000000000000001\r\n", "(double) 0.10000000000000001"},
	{Float(1e17), "$5\r\n1e+17\r\n", ",1e+17\r\n", "(double) 1e+17"},
	{Float(100000), "$6\r\n100000\r\n", ",100000\r\n", "(double) 100000"},
	{Float(math.Inf(-1)), "$4\r\n-inf\r\n", ",-inf\r\n", "(double) -inf"},
	{Number(19.397212564945221, "19.39721256494522095"), "$20\r\n19.39721256494522095\r\n", ",19.39721256494522095\r\n",
		"(double) 19.39721256494522095"},
	{Number(1.5, "1.5"), "$3\r\n1.5\r\n", ",1.5\r\n", "(double) 1.5"},
	{Flag(true), ":1\r\n", "#t\r\n", "(true)"},
	{Flag(false), ":0\r\n", "#f\r\n", "(false)"},
	{Value{Kind: BigNumber, Str: "12"}, "$2\r\n12\r\n", "(12\r\n", "(big number) 12"},
	{Value{Kind: Verbatim, Str: "hi"}, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n", `(verbatim) "hi"`},
	{VerbatimText("mkd", "hi"), "$2\r\nhi\r\n", "=6\r\nmkd:hi\r\n", `(verbatim) "hi"`},
	{List(Value{Kind: Attribute, List: []Value{Str("ttl"), One}}, Str("a")), "*1\r\n$1\r\na\r\n",
		"*1\r\n|1\r\n$3\r\nttl\r\n:1\r\n$1\r\na\r\n", "1) 1| \"ttl\" => (integer) 1\n2) \"a\""},
}

func TestWireForms(t *testing.T) {
	for _, c := range wireForms {
		assert.Equal(t, c.resp2, string(Append(nil, c.value, 2)), "RESP2 of %s", c.text)
		assert.Equal(t, c.resp3, string(Append(nil, c.value, 3)), "RESP3 of %s", c.text)
		assert.Equal(t, c.text, Describe(c.value))
	}
}

func TestParseIsIncrementalAndExact(t *testing.T) {
	for _, c := range wireForms {
		for _, wire := range []string{c.resp2, c.resp3} {
			for cut := range len(wire) {
				_, n, err := Parse([]byte(wire[:cut]))
				require.NoError(t, err, "%q", wire[:cut])
				require.Zero(t, n, "%q", wire[:cut])
			}
			if wire == "" {
				continue
			}
			v, n, err := Parse([]byte(wire + "+next\r\n"))
			require.NoError(t, err)
			assert.Equal(t, len(wire), n)
			if wire == c.resp3 {
				assert.Equal(t, wire, string(Append(nil, v, 3)))
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	deep := make([]byte, 0, 8192)
	for range maxDepth + 1 {
		deep = append(deep, "*1\r\n"...)
	}
	for wire, reason := range map[string]string{
		"x\r\n":              "unknown type 'x'",
		"\r\n":               "empty line",
		":1.5\r\n":           "invalid integer",
		",x\r\n":             "invalid double",
		"#x\r\n":             "invalid boolean",
		"$-2\r\n":            "invalid length",
		"%-1\r\n":            "invalid length",
		"*9999999999\r\n":    "invalid length",
		"$1\r\nabc":          "bulk string without its CRLF",
		"=2\r\nab\r\n":       "verbatim string without its format",
		"*2\r\n:1\r\n:x\r\n": "invalid integer",
		string(deep):         "nested too deep",
	} {
		_, n, err := Parse([]byte(wire))
		assert.Zero(t, n)
		assert.ErrorContains(t, err, reason, "%q", wire)
	}
}

func TestQuoteIsUndoneBySplitArgs(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	args, ok := SplitArgs([]byte(Quote(string(all)) + " x"))
	require.True(t, ok)
	assert.Equal(t, [][]byte{all, []byte("x")}, args)
}

// The expected splits were recorded from redis-server 7.0.15.
func TestSplitArgs(t *testing.T) {
	for line, want := range map[string][]string{
		"":                             nil,
		"  a\tb ":                      {"a", "b"},
		"\"\\x41\\n\\q\" 'it\\'s \\n'": {"A\nq", `it's \n`},
		"a\vb":                         {"a\vb"},
		`""`:                           {""},
		`a"b c"`:                       {"ab c"},
		`"\x4"`:                        {"x4"},
	} {
		args, ok := SplitArgs([]byte(line))
		require.True(t, ok, "%q", line)
		var got []string
		for _, a := range args {
			got = append(got, string(a))
		}
		assert.Equal(t, want, got, "%q", line)
	}
	for _, line := range []string{`"a`, `'a`, `"a"b`, `'a'b`, `"a\`} {
		_, ok := SplitArgs([]byte(line))
		assert.False(t, ok, "%q", line)
	}
}
