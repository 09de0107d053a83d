package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"minikv/server"
)

// DialContext connects a client in memory to the node with that address or name. It has
// the form that clients expect of a dialer; network is ignored. A node that is down
// refuses the connection, as its computer would.
func (t *Topology) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	n, err := t.named(address)
	if err != nil {
		return nil, fmt.Errorf("topology: dial: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("topology: dial %s: %w", address, err)
	}
	return n.Dial()
}

// firstClientPort is what clients in memory seem to come from.
const firstClientPort, clientPorts = 32768, 28232

// Dial connects a client in memory; a node that is down refuses.
func (n *Node) Dial() (net.Conn, error) {
	at := n.listening.TCPAddr
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: syscall.ECONNREFUSED}
	n.life.RLock()
	defer n.life.RUnlock()
	if n.down.Load() {
		return nil, refused
	}
	port := firstClientPort + int(n.topology.clients.Add(1)-1)%clientPorts
	conn, err := n.server.Dial(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, at)
	if errors.Is(err, server.ErrClosed) {
		return nil, refused
	}
	return conn, err
}
