package server_test

// The tests of what only the loop promises, which serves the sockets of Linux.

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dialLocal connects clients to a new server at a socket of the file system.
func dialLocal(t *testing.T, count int) []*client {
	t.Helper()
	s, _ := start(t)
	path := serveLocal(t, s)
	var clients []*client
	for range count {
		c := dialPath(t, path)
		c.do("PING", "+PONG\r\n")
		clients = append(clients, c)
	}
	return clients
}

// A client of such a socket is known by its path, as on redis-server.
func TestLocalClients(t *testing.T) {
	clients := dialLocal(t, 2)
	c, watcher := clients[0], clients[1]
	c.send("CLIENT INFO\r\n")
	_, err := c.in.ReadString('\n')
	require.NoError(t, err)
	line, err := c.in.ReadString('\n')
	require.NoError(t, err)
	path := c.socket.RemoteAddr().String()
	require.Contains(t, line, " addr="+path+":0 laddr="+path+":0 ")
	require.Contains(t, line, " flags=U ")
	_, err = c.in.ReadString('\n')
	require.NoError(t, err)
	watcher.do("MONITOR", "+OK\r\n")
	c.do("GET k", "$-1\r\n")
	line, err = watcher.in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, " [0 unix:"+path+"] \"GET\" \"k\"")
}

// Whose command came first is served first, whatever else the machine is busy with.
func TestOrderOfArrival(t *testing.T) {
	clients := dialLocal(t, 3)
	pusher := clients[2]
	for i := range 3000 {
		first, second := clients[i%2], clients[1-i%2]
		first.send("BLPOP l 0\r\n")
		second.send("BLPOP l 0\r\n")
		pusher.do("RPUSH l a b", ":2\r\n")
		first.expect("*2\r\n$1\r\nl\r\n$1\r\na\r\n")
		second.expect("*2\r\n$1\r\nl\r\n$1\r\nb\r\n")
	}
}

// What one client reads is what the one before it wrote.
func TestOrderOfCommands(t *testing.T) {
	clients := dialLocal(t, 8)
	clients[0].do("SET k before", "+OK\r\n")
	last := "before"
	for i := range 500 {
		for j, c := range clients {
			c.send(fmt.Sprintf("GETSET k %d.%d\r\n", i, j))
		}
		for j, c := range clients {
			c.expect(fmt.Sprintf("$%d\r\n%s\r\n", len(last), last))
			last = fmt.Sprintf("%d.%d", i, j)
		}
	}
}

// A blocked client's later commands are executed behind those that were there already.
func TestOrderOfUnblocked(t *testing.T) {
	clients := dialLocal(t, 2)
	for range 300 {
		clients[0].send("BLPOP l 0\r\nRPUSH m late\r\n")
		clients[1].send("RPUSH l x\r\nRPUSH m early\r\n")
		clients[0].expect("*2\r\n$1\r\nl\r\n$1\r\nx\r\n:2\r\n")
		clients[1].expect(":1\r\n:1\r\n")
		clients[1].do("DEL m", ":1\r\n")
	}
}

// Who is sent away while nobody reads what it is sent, and whoever leaves then,
// leaves no descriptor behind.
func TestDescriptorsAreClosed(t *testing.T) {
	s, address := start(t)
	value := strings.Repeat("v", 1_000_000)
	killer := dial(t, address)
	killer.send(command("SET", "k", value))
	killer.expect("+OK\r\n")
	before := descriptors(t)
	var clients []*client
	for range 5 {
		c := dial(t, address)
		c.send(strings.Repeat("GET k\r\n", 20))
		c.expect("$1000000\r\n")
		clients = append(clients, c)
	}
	killer.do("CLIENT KILL TYPE normal", ":5\r\n")
	require.Eventually(t, func() bool { return sessions(s) == 1 }, 10*time.Second, time.Millisecond)
	for _, c := range clients {
		require.NoError(t, c.socket.Close())
	}
	require.Eventually(t, func() bool { return descriptors(t) <= before }, 5*time.Second, time.Millisecond)
	killer.do("PING", "+PONG\r\n")
}

// descriptors is how many this process has.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
