package topology

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"minikv/server"
)

// address is where a node listens.
type address struct {
	*net.TCPAddr
	listener net.Listener // of the present process, or the latest; nil in memory
	reserved *os.File     // keeps the port while no process listens; nil if nothing does
}

// listen opens the addresses of all nodes, or none. In memory there are only
// their names, from port 1 on unless another is given: where nobody listens.
func listen(cfg Config, count int) (addresses []address, err error) {
	if most := 65535 - count + 1; cfg.Port < 0 || cfg.Port > most {
		return nil, fmt.Errorf("topology: port %d of %d nodes: expected 0 to %d", cfg.Port, count, most)
	}
	for i := range count {
		next := 0
		if cfg.Port != 0 || cfg.InMemory {
			next = max(cfg.Port, 1) + i
		}
		if cfg.InMemory {
			addresses = append(addresses, address{TCPAddr: &net.TCPAddr{IP: net.ParseIP(cfg.Host), Port: next}})
			continue
		}
		listener, err := server.Bind("tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(next)))
		if err != nil {
			releaseAll(addresses)
			return nil, fmt.Errorf("topology: node %d of %d: %w", i+1, count, err)
		}
		addresses = append(addresses, address{listener.Addr().(*net.TCPAddr), listener, nil})
	}
	return addresses, nil
}

// openAgain opens an address that was in use a moment ago, for another process.
func (a *address) openAgain() (err error) {
	if a.listener == nil {
		return nil
	}
	const tries, pause = 20, 5 * time.Millisecond
	for range tries {
		var listener net.Listener
		if listener, err = server.Bind("tcp", a.String()); err == nil {
			a.listener = listener
			_ = a.reserved.Close()
			return nil
		}
		time.Sleep(pause)
	}
	return err
}

// close ends listening; the port is kept for the node's next process.
func (a *address) close() {
	if a.listener != nil {
		_ = a.listener.Close()
		a.reserved = reserve(a.TCPAddr)
	}
}

// release gives up the address.
func (a *address) release() {
	if a.listener != nil {
		_ = a.listener.Close()
	}
	_ = a.reserved.Close()
}

func releaseAll(addresses []address) {
	for i := range addresses {
		addresses[i].release()
	}
}
