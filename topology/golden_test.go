package topology

import (
	"flag"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/redisserver"
)

var realServers = flag.String("redis-server", "", "run the golden files against processes of this redis-server; "+
	"with -rewrite record from them")

// Golden files (testdata/*.txt) tell what a master m1 and its replicas r1 and
// r2 answer. They were recorded from processes of redis-server 7.0.15:
//
//	go test ./topology -run TestGolden -redis-server /usr/bin/redis-server -rewrite
//
// Blocks:
//
//	do node=NAME [only=WORD]      each line is a command over one connection of that node's;
//	                  of replies the lines with the word
//	until node=NAME TEXT   repeats the command of the block until its reply contains the text
//	sleep MILLISECONDS
//
// In commands {NAME} stands for a node's port. Masked in replies: ports, by
// their node's name; IDs of 40 digits; how many seconds ago something was; numbers, sizes
// and addresses of clients.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		g := &golden{clients: map[string]*client{}}
		run := func(t *testing.T, start func(t *testing.T)) {
			g.t = t
			start(t)
			datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return g.run(d) })
		}
		if *realServers != "" {
			run(t, g.startReal)
			return
		}
		synctest.Test(t, func(t *testing.T) { // in which nothing is late on a busy machine
			time.Sleep(10_000 * 24 * time.Hour) // a bubble begins in 2000, when dates had a digit less
			run(t, g.startOurs)
		})
	})
}

type golden struct {
	t         *testing.T
	addresses map[string]string
	dial      func(name string) (net.Conn, error)
	clients   map[string]*client
}

func (g *golden) startOurs(t *testing.T) {
	const port = 40001 // no other number in a reply is like it
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 2}, InMemory: true, Port: port})
	g.addresses = map[string]string{}
	for _, n := range top.Nodes() {
		g.addresses[n.Name()] = n.Address()
	}
	g.dial = func(name string) (net.Conn, error) { return top.Node(name).Dial() }
}

// startReal starts a master and two replicas, and waits until they are connected.
func (g *golden) startReal(t *testing.T) {
	g.addresses = map[string]string{}
	g.dial = func(name string) (net.Conn, error) { return net.Dial("tcp", g.addresses[name]) }
	master := ""
	for _, name := range []string{"m1", "r1", "r2"} {
		address, err := redisserver.FreeAddress()
		require.NoError(t, err)
		_, port, _ := net.SplitHostPort(address)
		g.addresses[name] = address
		args := []string{"--port", port, "--save", "", "--dir", t.TempDir(), "--repl-diskless-sync-delay", "0"}
		if master == "" {
			master = port
		} else {
			args = append(args, "--replicaof", "127.0.0.1 "+master)
		}
		startServer(t, *realServers, args...)
		time.Sleep(500 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
}

// startServer starts a redis-server that ends with the test, whatever becomes of that.
func startServer(t *testing.T, binary string, args ...string) {
	server, err := redisserver.Start(binary, args...)
	require.NoError(t, err)
	t.Cleanup(server.End)
}

func (g *golden) client(name string) *client {
	if g.clients[name] == nil {
		conn, err := g.dial(name)
		require.NoError(g.t, err)
		g.t.Cleanup(func() { _ = conn.Close() })
		g.clients[name] = &client{t: g.t, conn: conn}
	}
	return g.clients[name]
}

func (g *golden) run(d *datadriven.TestData) string {
	if d.Cmd == "sleep" {
		millis, err := strconv.Atoi(d.CmdArgs[0].Key)
		require.NoError(g.t, err)
		time.Sleep(time.Duration(millis) * time.Millisecond)
		return ""
	}
	var name string
	d.ScanArgs(g.t, "node", &name)
	c := g.client(name)
	if d.Cmd == "until" {
		return g.until(c, d)
	}
	only := ""
	d.MaybeScanArgs(g.t, "only", &only)
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		for _, one := range strings.Split(g.mask(c.do(g.fill(line))), "\n") {
			if strings.Contains(one, only) {
				out.WriteString(one + "\n")
			}
		}
	}
	return out.String()
}

// until waits for a reply.
func (g *golden) until(c *client, d *datadriven.TestData) string {
	text := d.CmdArgs[1].Key
	for range 1000 {
		if strings.Contains(g.mask(c.do(g.fill(d.Input))), text) {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Sprintf("never contains %q\n", text)
}

// fill puts ports in the place of names.
func (g *golden) fill(line string) string {
	for _, name := range []string{"m1", "r1", "r2"} {
		_, port, _ := net.SplitHostPort(g.addresses[name])
		line = strings.ReplaceAll(line, "{"+name+"}", port)
	}
	return line
}

var (
	someID  = regexp.MustCompile(`[0-9a-f]{40}`)
	seconds = regexp.MustCompile(`(lag=|seconds_ago:|since_seconds:)-?\d+`)
	numbers = regexp.MustCompile(`\b(id|addr|laddr|fd|age|idle|[aq]\w+-?\w+|multi-mem|rb[sp]|o[blm]\w+|tot-mem)=\S+ `)
)

func (g *golden) mask(reply string) string {
	reply = someID.ReplaceAllString(reply, "ID") // before the ports, which may occur in it
	for _, name := range []string{"m1", "r1", "r2"} {
		_, port, _ := net.SplitHostPort(g.addresses[name])
		reply = strings.ReplaceAll(reply, port, name)
	}
	reply = seconds.ReplaceAllString(reply, "${1}N")
	if strings.Contains(reply, "laddr=") {
		reply = numbers.ReplaceAllString(strings.ReplaceAll(reply, `\n`, "\n"), "")
	}
	return strings.ReplaceAll(reply, `\r\n`, "\n")
}
