package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// Golden files (testdata/control) tell what MINIKV does. Blocks:
//
//	start         minikv with these options, as exec starts it; at free ports
//	do at=NODE    each line is a command over one connection of that node's;
//	              without at= of the control port's; m1b is a second one of m1's
//	send at=NODE  a command whose reply is not waited for
//	recv at=NODE  that reply
//	lose at=NODE  a command whose reply gets lost
//
// Masked in replies: addresses, by their node's name; dates.
func TestControl(t *testing.T) {
	datadriven.Walk(t, "testdata/control", func(t *testing.T, path string) {
		g := &golden{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return g.run(d) })
	})
}

type golden struct {
	t         *testing.T
	addresses map[string]string
	clients   map[string]*client
}

// client is one connection.
type client struct {
	conn net.Conn
	buf  []byte
}

func (g *golden) run(d *datadriven.TestData) string {
	if d.Cmd == "start" {
		g.start(strings.Fields(d.Input))
		return ""
	}
	at := "control"
	if d.HasArg("at") {
		d.ScanArgs(g.t, "at", &at)
	}
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		if d.Cmd != "recv" {
			words, ok := resp.SplitArgs([]byte(line))
			require.True(g.t, ok, line)
			g.send(at, words)
		}
		if d.Cmd != "send" {
			limit := 10 * time.Second
			if d.Cmd == "lose" {
				limit = 100 * time.Millisecond
			}
			out.WriteString(g.mask(g.receive(at, limit)) + "\n")
		}
	}
	return out.String()
}

// start starts servers, which end with the test.
func (g *golden) start(options []string) {
	conf, opts, _, err := parseExec(append(options, "--", "nothing"))
	require.NoError(g.t, err)
	b, err := begin(conf, opts, &logger{out: &bytes.Buffer{}, least: 9})
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, b.close()) })
	names := append(opts.plan.Names(), "control")
	g.addresses, g.clients = map[string]string{}, map[string]*client{}
	for i, address := range append(append(b.places.Nodes, b.places.Sentinels...), b.places.Control) {
		g.addresses[names[i]] = address
	}
}

func (g *golden) send(at string, words [][]byte) {
	if g.clients[at] == nil {
		conn, err := net.Dial("tcp", g.addresses[strings.TrimRight(at, "b")])
		require.NoError(g.t, err)
		g.t.Cleanup(func() { _ = conn.Close() })
		g.clients[at] = &client{conn: conn}
	}
	args := make([]string, len(words))
	for i, word := range words {
		args[i] = string(word)
	}
	_, err := g.clients[at].conn.Write(resp.AppendCommand(nil, args...))
	require.NoError(g.t, err)
}

// receive reads one reply; a connection that is closed, or silent for so long,
// is told as such, and made anew for the next command.
func (g *golden) receive(at string, limit time.Duration) string {
	c := g.clients[at]
	require.NoError(g.t, c.conn.SetReadDeadline(time.Now().Add(limit)))
	for {
		v, n, err := resp.Parse(c.buf)
		require.NoError(g.t, err)
		if n > 0 {
			c.buf = c.buf[n:]
			return resp.Describe(v)
		}
		part := make([]byte, 4096)
		got, err := c.conn.Read(part)
		if err != nil {
			delete(g.clients, at)
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				return "no reply"
			}
			return "connection closed"
		}
		c.buf = append(c.buf, part[:got]...)
	}
}

var someDate = regexp.MustCompile(`\b1[789]\d{11}\b`)

func (g *golden) mask(reply string) string {
	for name, address := range g.addresses { //tidy:unordered no address is a part of another
		reply = strings.ReplaceAll(reply, address, name+":PORT")
	}
	return someDate.ReplaceAllString(reply, "DATE")
}

// Without --control MINIKV names the flag, on one server and on several nodes.
func TestUncontrolled(t *testing.T) {
	for _, options := range [][]string{nil, {"--cluster", "1x1"}, {"--sentinel", "1x0"}, {"--control", "no"}} {
		g := &golden{t: t}
		g.start(append(options, "--control", "no"))
		for at, address := range g.addresses { //tidy:unordered each by itself
			if address != "" {
				g.send(at, [][]byte{[]byte("minikv"), []byte("LOCKS")})
				require.Equal(t, "(error) ERR MINIKV is refused: start minikv with --control", g.receive(at, time.Minute))
			}
		}
	}
}

// The control port is the one after the nodes', or the one that was asked for.
func TestControlPort(t *testing.T) {
	first := freePorts(t, 4)
	for _, c := range []struct{ value, port int }{{0, first + 2}, {first + 3, first + 3}} {
		words := []string{"--nodes", "2", "--port", strconv.Itoa(first), "--control"}
		if c.value != 0 {
			words = append(words, strconv.Itoa(c.value))
		}
		g := &golden{t: t}
		t.Run("", func(t *testing.T) {
			g.t = t
			g.start(words)
			require.Equal(t, "127.0.0.1:"+strconv.Itoa(c.port), g.addresses["control"])
			code, _, stderr := runExec("--control", strconv.Itoa(c.port), "--", "true")
			require.Equal(t, exitUsage, code)
			require.Equal(t, fmt.Sprintf("minikv: Failed listening on port %d (TCP), aborting: 127.0.0.1:%[1]d: "+
				"address already in use\n", c.port), stderr)
		})
	}
}

// A failover by MINIKV, in a cluster and with Sentinels around.
func TestControlledFailover(t *testing.T) {
	for _, options := range [][]string{{"--cluster", "2x1"}, {"--sentinel", "1x1"}, {"--replicas", "1"}} {
		g := &golden{t: t}
		g.start(append(options, "--control"))
		words, _ := resp.SplitArgs([]byte("MINIKV FAILOVER r1"))
		g.send("control", words)
		require.Equal(t, "OK", g.receive("control", time.Minute))
		require.Eventually(t, func() bool {
			words, _ = resp.SplitArgs([]byte("ROLE"))
			g.send("r1", words)
			return strings.Contains(g.receive("r1", time.Minute), "master")
		}, 20*time.Second, 10*time.Millisecond, "%q", options)
	}
}

// docs/control.md has MINIKV HELP in full; -rewrite puts it there.
func TestControlDocument(t *testing.T) {
	const file, before, after = "../../docs/control.md", "\n```text\n", "\n```\n"
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(have), before)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, after)
	require.True(t, ok)
	want := head + before + strings.Join(helpLines(), "\n") + after + tail
	if flag.Lookup("rewrite").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(have), "go test ./cmd/minikv -run TestControlDocument -rewrite")
	reply := newControl()
	reply.begin(nil)
	lines := reply.answer([]string{"minikv", "help"}).List
	require.Len(t, lines, len(helpLines()))
	for i, line := range helpLines() {
		require.Equal(t, resp.Simple(line), lines[i])
	}
}

// docs/control.md tells of each variable that a command finds in its environment.
func TestControlDocumentHasVariables(t *testing.T) {
	doc, err := os.ReadFile("../../docs/control.md")
	require.NoError(t, err)
	all := places{URL: "u", Nodes: []string{"n"}, Sentinels: []string{"s"}, Masters: []string{"m"}, Control: "c",
		Authority: "a", Cert: "b", Key: "k"}
	for _, variable := range all.environment(nil) {
		name, _, _ := strings.Cut(variable, "=")
		require.Contains(t, string(doc), "`"+name+"`")
	}
}

// What docs/control.md has of commands is in the golden file of its recipes.
func TestControlRecipes(t *testing.T) {
	doc, err := os.ReadFile("../../docs/control.md")
	require.NoError(t, err)
	recipes, err := os.ReadFile("testdata/control/recipes.txt")
	require.NoError(t, err)
	commands := regexp.MustCompile(`(?m)^> (.*?) *(# .*)?$`).FindAllStringSubmatch(string(doc), -1)
	require.NotEmpty(t, commands)
	for _, c := range commands {
		require.Contains(t, string(recipes), "\n"+c[1]+"\n")
	}
}

// Every verb has a golden file that shows it.
func TestVerbsAreShown(t *testing.T) {
	files, err := filepath.Glob("testdata/control/*.txt")
	require.NoError(t, err)
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(all, text...)
	}
	for i := range verbs {
		require.Contains(t, string(all), "\nMINIKV "+verbs[i].words)
	}
}
