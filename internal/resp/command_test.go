package resp

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/redcon"
)

// readAll returns the commands in src, each joined by '|', and the error that
// ended them.
func readAll(r *CommandReader, src io.Reader) (commands []string, err error) {
	for {
		cmd, err := r.Next()
		if err != nil {
			return commands, err
		}
		if len(cmd) > 0 {
			commands = append(commands, string(bytes.Join(cmd, []byte("|"))))
		}
		if cmd != nil {
			continue
		}
		if _, err := r.Fill(src); err != nil {
			return commands, err
		}
	}
}

// Each case was recorded from redis-server 7.0.15; an empty error means that
// the connection stayed open.
func TestCommandReader(t *testing.T) {
	for _, c := range []struct{ in, commands, err string }{
		{"*1\r\n$4\r\nPING\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n", "PING a|", ""},
		{"PING\n  SET  a\t\"b c\" \r\n", "PING SET|a|b c", ""},
		{"\r\n\n*0\r\n*-10\r\nPING\r\n", "PING", ""},
		{"*1\rX$4\rZPINGabPING\r\n", "PING PING", ""},
		{"*1048577\r\n", "", ""},
		{"*2147483647\r\n", "", ""},
		{"*2147483648\r\n", "", "invalid multibulk length"},
		{"*x\r\n", "", "invalid multibulk length"},
		{"*\r\n", "", "invalid multibulk length"},
		{"*01\r\n", "", "invalid multibulk length"},
		{"*+1\r\n", "", "invalid multibulk length"},
		{"*-0\r\n", "", "invalid multibulk length"},
		{"*1\r\nx", "", ""},
		{"*1\r\nxa\r\n", "", "expected '$', got 'x'"},
		{"*1\r\n\x80\r\n", "", "expected '$', got '\x80'"},
		{"*1\r\n$-1\r\n", "", "invalid bulk length"},
		{"*1\r\n$04\r\n", "", "invalid bulk length"},
		{"*1\r\n$536870912\r\n", "", ""},
		{"*1\r\n$536870913\r\n", "", "invalid bulk length"},
		{"PING\r\nPING \"a\r\n", "PING", "unbalanced quotes in request"},
		{"PING 'a'b\r\n", "", "unbalanced quotes in request"},
		{"PI\x00NG\r\nPING\r\n", "", ""},
		{strings.Repeat("a", 65536), "", ""},
		{strings.Repeat("a", 65537), "", "too big inline request"},
		{"*" + strings.Repeat("1", 65537), "", "too big mbulk count string"},
		{"*1\r\n$" + strings.Repeat("1", 65537), "", "too big bulk count string"},
	} {
		want := "EOF"
		if c.err != "" {
			want = "Protocol error: " + c.err
		}
		for _, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			commands, err := readAll(NewCommandReader(), src)
			assert.EqualError(t, err, want, "%.40q", c.in)
			assert.Equal(t, c.commands, strings.Join(commands, " "), "%.40q", c.in)
		}
	}
}

func TestUnauthenticatedLimits(t *testing.T) {
	for in, want := range map[string]string{
		"*11\r\n":              "Protocol error: unauthenticated multibulk length",
		"*10\r\n$16385\r\n":    "Protocol error: unauthenticated bulk length",
		"*10\r\n$16384\r\n":    "EOF",
		"*1\r\n$4\r\nPING\r\n": "EOF",
	} {
		r := NewCommandReader()
		r.Unauthenticated = true
		_, err := readAll(r, strings.NewReader(in))
		assert.EqualError(t, err, want, "%q", in)
	}
}

func TestQueryBufferLimit(t *testing.T) {
	r := NewCommandReader()
	r.MaxQuery = func() int64 { return leastLimit }
	require.NoError(t, r.Feed([]byte("*1\r\n$1048580\r\n")))
	_, err := r.Next()
	require.NoError(t, err)
	require.NoError(t, r.Feed(make([]byte, leastLimit)))
	err = r.Feed([]byte("x"))
	assert.ErrorIs(t, err, ErrQueryBuffer)
}

// A length is a claim; memory follows what arrives.
func TestClaimedLengthsAllocateNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		_, err := readAll(NewCommandReader(), strings.NewReader("*2147483647\r\n$536870912\r\nabc"))
		require.Equal(t, io.EOF, err)
		_, _, err = Parse([]byte("*2147483647\r\n$536870912\r\nabc"))
		require.NoError(t, err)
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// An idle connection that once received much holds little.
func TestBufferShrinks(t *testing.T) {
	r := NewCommandReader()
	src := bytes.NewReader(AppendCommand(nil, "SET", "a", strings.Repeat("x", 8<<20)))
	commands, err := readAll(r, src)
	require.Equal(t, io.EOF, err)
	require.Len(t, commands, 1)
	assert.LessOrEqual(t, cap(r.buf), maxRoom)
}

// The time for one large command must not depend on how it is cut.
func TestNoReparsing(t *testing.T) {
	const args = 100_000
	command := append([]string{"DEL"}, strings.Fields(strings.Repeat("k ", args-1))...)
	wire := AppendCommand(nil, command...)
	r := NewCommandReader()
	steps := 0
	src := iotest.OneByteReader(bytes.NewReader(wire))
	for {
		_, err := r.Fill(src)
		if err == io.EOF {
			break
		}
		cmd, err := r.Next()
		require.NoError(t, err)
		if steps++; cmd != nil {
			assert.Len(t, cmd, args)
		}
	}
	assert.Equal(t, len(wire), steps)
}

func FuzzCommandReader(f *testing.F) {
	for _, seed := range []string{
		"*1\r\n$4\r\nPING\r\n", "SET a \"b\\x41\"\r\n", "*2\r\n$1\r\na\r\n", "*0\r\n*-1\r\nPING\r\n",
		"*1\r\nx\r\n", "'a' b\n",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		whole, wholeErr := readAll(NewCommandReader(), bytes.NewReader(in))
		cut, cutErr := readAll(NewCommandReader(), &chunked{in: in, size: int(chunk)%7 + 1})
		assert.Equal(t, whole, cut)
		assert.Equal(t, wholeErr, cutErr)
		compareWithRedcon(t, whole, wholeErr)
	})
}

// compareWithRedcon writes the commands as multibulks and lets redcon's reader
// read them.
func compareWithRedcon(t *testing.T, commands []string, err error) {
	if err != io.EOF {
		return
	}
	var wire []byte
	for _, c := range commands {
		wire = AppendCommand(wire, strings.Split(c, "|")...)
	}
	reader := redcon.NewReader(bytes.NewReader(wire))
	for _, want := range commands {
		got, err := reader.ReadCommand()
		require.NoError(t, err)
		assert.Equal(t, want, string(bytes.Join(got.Args, []byte("|"))))
	}
}

type chunked struct {
	in   []byte
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in[:min(c.size, len(c.in))])
	c.in = c.in[n:]
	return n, nil
}

func FuzzParse(f *testing.F) {
	for _, c := range wireForms {
		f.Add([]byte(c.resp2))
		f.Add([]byte(c.resp3))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, n, err := Parse(in)
		if err != nil || n == 0 {
			return
		}
		require.LessOrEqual(t, n, len(in))
		for _, proto := range []int{2, 3} {
			wire := Append(nil, v, proto)
			again, m, err := Parse(wire)
			require.NoError(t, err, "%q", wire)
			require.Equal(t, len(wire), m)
			require.Equal(t, wire, Append(nil, again, proto))
		}
		require.NotEmpty(t, Describe(v))
		checkWithRedcon(t, in[:n])
	})
}

// checkWithRedcon lets redcon read the RESP2 form of a reply.
func checkWithRedcon(t *testing.T, in []byte) {
	v, _, _ := Parse(in)
	wire := Append(nil, v, 2)
	n, reply := redcon.ReadNextRESP(wire)
	require.Equal(t, len(wire), n, fmt.Sprintf("%q", wire))
	if v.Kind == Bulk {
		require.Equal(t, v.Str, string(reply.Data))
	}
}
