package luaengine

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestGolden runs the scripts of testdata. Their replies were recorded from
// redis-server 7.0.15: with REDIS_SERVER=host:port the same files run against
// it, and -rewrite records them anew.
//
// A case is "eval keys=(a,b) args=(c)", then the script. Each file starts with
// no keys. SHA1s are masked, and so are addresses of tables and functions.
func TestGolden(t *testing.T) {
	if addr := os.Getenv("REDIS_SERVER"); addr != "" {
		datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
			c := dialServer(t, addr)
			c.do("FLUSHALL")
			runGolden(t, path, func(script string, keys, args []string) string {
				words := append([]string{"EVAL", script, strconv.Itoa(len(keys))}, keys...)
				return c.do(append(words, args...)...)
			})
		})
		return
	}
	for _, fast := range []bool{true, false} {
		t.Run(fmt.Sprintf("fast=%v", fast), func(t *testing.T) {
			datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
				e := New(fakeResolve)
				e.SetFastPass(fast)
				h := newFakeHost()
				runGolden(t, path, func(script string, keys, args []string) string {
					return show(runScript(e, h, script, keys, args), "")
				})
			})
		})
	}
}

func runScript(e *Engine, h Host, script string, keys, args []string) resp.Value {
	s, err := e.Compile(script)
	if err != nil {
		return resp.Err(err.Error())
	}
	return e.Run(s, h, words(keys...), words(args...), RunOptions{})
}

func runGolden(t *testing.T, path string, eval func(script string, keys, args []string) string) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		var keys, args []string
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "keys":
				keys = a.Vals
			case "args":
				args = a.Vals
			default:
				d.Fatalf(t, "unknown argument %s", a.Key)
			}
		}
		return mask(eval(d.Input, keys, args)) + "\n"
	})
}

var (
	anySHA     = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	anyAddress = regexp.MustCompile(`0x[0-9a-f]{6,}`)
)

func mask(s string) string {
	return anyAddress.ReplaceAllString(anySHA.ReplaceAllString(s, "SHA"), "ADDRESS")
}

// show prints a reply in its RESP2 form, as serverConn.read does.
func show(v resp.Value, indent string) string {
	switch v.Kind {
	case resp.Nil, resp.NilArray:
		return "(nil)"
	case resp.Status:
		return v.Str
	case resp.Error:
		return "(error) " + v.Str
	case resp.Integer, resp.Bool:
		return fmt.Sprintf("(integer) %d", v.Int)
	case resp.Double:
		return strconv.Quote(string(formatNumber(nil, v.Float64(), 17)))
	case resp.Array, resp.Map, resp.Set:
		lines := make([]string, len(v.List))
		for i, item := range v.List {
			lines[i] = show(item, indent+"   ")
		}
		return showList(lines, indent)
	}
	return strconv.Quote(v.Str)
}

func showList(items []string, indent string) string {
	if len(items) == 0 {
		return "(empty)"
	}
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = fmt.Sprintf("%d) %s", i+1, item)
	}
	return strings.Join(lines, "\n"+indent)
}

// serverConn is a connection to a real server.
type serverConn struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dialServer(t *testing.T, addr string) *serverConn {
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return &serverConn{t, c, bufio.NewReader(c)}
}

func (s *serverConn) do(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	_, err := io.WriteString(s.c, b.String())
	require.NoError(s.t, err)
	return s.read("")
}

func (s *serverConn) read(indent string) string {
	line, err := s.r.ReadString('\n')
	require.NoError(s.t, err)
	rest := strings.TrimSuffix(line[1:], "\r\n")
	switch line[0] {
	case '+':
		return rest
	case '-':
		return "(error) " + rest
	case ':':
		return "(integer) " + rest
	}
	n, err := strconv.Atoi(rest)
	require.NoError(s.t, err)
	if n < 0 {
		return "(nil)"
	}
	if line[0] == '$' {
		body := make([]byte, n+2)
		_, err := io.ReadFull(s.r, body)
		require.NoError(s.t, err)
		return strconv.Quote(string(body[:n]))
	}
	items := make([]string, n)
	for i := range items {
		items[i] = s.read(indent + "   ")
	}
	return showList(items, indent)
}
