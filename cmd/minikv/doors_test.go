package main

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// CONFIG SET port has clients connect elsewhere, or changes nothing.
func TestPortChanges(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	_, takenPort, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)

	ports := freePorts(t, 2)
	first, second := strconv.Itoa(ports), strconv.Itoa(ports+1)
	p := launch(t, "--port", first, "--bind", "127.0.0.1")
	p.expectLine("Ready to accept connections")
	assert.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. "+
		"Check server logs.\r\n", ask(t, "tcp", "127.0.0.1:"+first, "CONFIG", "SET", "maxmemory", "1", "port", takenPort))
	assert.Equal(t, "*4\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n$4\r\nport\r\n$5\r\n"+first+"\r\n",
		ask(t, "tcp", "127.0.0.1:"+first, "CONFIG", "GET", "maxmemory", "port"))
	assert.Equal(t, "+OK\r\n", ask(t, "tcp", "127.0.0.1:"+first, "CONFIG", "SET", "port", second))
	assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+second, "PING"))
	// The first port is free again.
	assert.Equal(t, "+OK\r\n", ask(t, "tcp", "127.0.0.1:"+second, "CONFIG", "SET", "port", first))
	assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+first, "PING"))
}

// A node that others may know by its port keeps it, and says so.
func TestPortOfATopologyStays(t *testing.T) {
	port := strconv.Itoa(freePorts(t, 1))
	p := launch(t, "--port", port, "--bind", "127.0.0.1", "--strict")
	p.expectLine("Ready to accept connections")
	assert.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. "+
		"Check server logs.\r\n", ask(t, "tcp", "127.0.0.1:"+port, "CONFIG", "SET", "port", "1"))
	p.expectLine("CONFIG SET port: not possible at a node of a topology: start minikv with another --port")
	assert.Equal(t, "*2\r\n$4\r\nport\r\n$"+strconv.Itoa(len(port))+"\r\n"+port+"\r\n",
		ask(t, "tcp", "127.0.0.1:"+port, "CONFIG", "GET", "port"))
}

// A client is listed with the address that it came to, by which CLIENT KILL finds it, as on redis-server.
func TestLocalAddresses(t *testing.T) {
	needIPv6(t)
	port := freePorts(t, 2)
	p := launch(t, "--port", strconv.Itoa(port), "--control", strconv.Itoa(port+1))
	p.expectLine("Ready to accept connections")
	for _, address := range []string{"127.0.0.1:" + strconv.Itoa(port), "[::1]:" + strconv.Itoa(port),
		"127.0.0.1:" + strconv.Itoa(port+1)} {
		assert.Contains(t, ask(t, "tcp", address, "CLIENT", "LIST"), " laddr="+address+" ")
		assert.Equal(t, ":1\r\n", ask(t, "tcp", address, "CLIENT", "KILL", "LADDR", address, "SKIPME", "no"))
	}
	assert.Contains(t, ask(t, "tcp", "127.0.0.1:"+strconv.Itoa(port+1), "INFO", "server"),
		"\r\ntcp_port:"+strconv.Itoa(port+1)+"\r\n")
}
