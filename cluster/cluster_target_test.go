package cluster

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

// virtualCluster is a virtual network as the target of a golden file.
type virtualCluster struct{ *busNet }

func (c virtualCluster) ask(node ID, client string, cmd [][]byte) (resp.Value, bool) {
	s := c.sendArgs(node, client, cmd)
	for tries := 0; s.Blocked() && tries < 200; tries++ {
		c.busNet.run(time.Millisecond)
	}
	return c.next(node, client)
}

func (c virtualCluster) next(node ID, client string) (resp.Value, bool) {
	c.busNet.run(20 * time.Millisecond)
	s := c.clients[strconv.Itoa(int(node))+"/"+client]
	if s == nil {
		return resp.Value{}, false
	}
	v, n, err := resp.Parse(s.Out)
	require.NoError(c.t, err)
	s.Out = s.Out[n:]
	return v, n > 0
}

func (c virtualCluster) sleep(d time.Duration) { c.busNet.run(d) }
func (c virtualCluster) stop(node ID)          { c.kill(node) }
func (c virtualCluster) start(node ID)         { c.restart(node, true) }
func (c virtualCluster) port(node ID) int      { _, port := c.dir.Endpoint(node); return port }

// realCluster is processes of redis-server.
type realCluster struct {
	t          *testing.T
	binary     string
	folder     string
	base       int
	parameters []string
	servers    []*redisserver.Process // nil: stopped
	clients    map[string]*realConn
}

// newRealCluster starts processes of a redis-server; they end with the test.
func newRealCluster(t *testing.T, binary string, nodes, timeout int) *realCluster {
	c := &realCluster{
		t: t, binary: binary, folder: t.TempDir(), base: realPorts(t), clients: map[string]*realConn{},
		parameters: goldenParameters(timeout), servers: make([]*redisserver.Process, nodes),
	}
	for i := range c.servers {
		c.start(ID(i + 1))
	}
	return c
}

func (c *realCluster) port(node ID) int      { return c.base + int(node) - 1 }
func (c *realCluster) sleep(d time.Duration) { time.Sleep(d) }

func (c *realCluster) start(node ID) {
	name := fmt.Sprintf("n%d", node)
	args := []string{"--port", strconv.Itoa(c.port(node)), "--bind", "127.0.0.1", "--save", "", "--dir", c.folder,
		"--dbfilename", name + ".rdb", "--cluster-enabled", "yes", "--cluster-config-file", name + ".conf"}
	for i := 0; i < len(c.parameters); i += 2 {
		args = append(args, "--"+c.parameters[i], c.parameters[i+1])
	}
	c.servers[node-1] = startReal(c.t, c.binary, args...)
	info, _ := c.ask(node, "a", [][]byte{[]byte("INFO"), []byte("server")})
	require.Contains(c.t, info.Str, fmt.Sprintf("process_id:%d\r\n", c.servers[node-1].Pid),
		"another listens at port %d", c.port(node))
}

func (c *realCluster) stop(node ID) {
	if c.servers[node-1] == nil {
		return
	}
	c.servers[node-1].End()
	c.servers[node-1] = nil
	for name, client := range c.clients {
		if name[:len(name)-len(name[1:])] == strconv.Itoa(int(node)) {
			_ = client.socket.Close()
			delete(c.clients, name)
		}
	}
}

// client waits until the process listens, which on a busy machine takes its time.
func (c *realCluster) client(node ID, name string) *realConn {
	key := strconv.Itoa(int(node)) + "/" + name
	for tries := 0; c.clients[key] == nil && tries < 600; tries++ {
		socket, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.port(node)))
		if err == nil {
			c.t.Cleanup(func() { _ = socket.Close() })
			c.clients[key] = &realConn{socket: socket}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.NotNil(c.t, c.clients[key], "no connection to n%d", node)
	return c.clients[key]
}

func (c *realCluster) ask(node ID, client string, cmd [][]byte) (resp.Value, bool) {
	conn := c.client(node, client)
	conn.send(c.t, cmd)
	return conn.next(c.t, 2*time.Second)
}

func (c *realCluster) next(node ID, client string) (resp.Value, bool) {
	return c.client(node, client).next(c.t, 50*time.Millisecond)
}
