package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"minikv/server/engine"
)

// Reach connects to another server, as engine.Config.Dial does. It stops waiting for that
// when s is closed.
func (s *Server) Reach(host string, port int, timeout time.Duration) (engine.Peer, error) {
	if port < 0 || host == "" {
		return nil, fmt.Errorf("server: reach %q: no host, or no port %d", host, port)
	}
	dialer := net.Dialer{Timeout: timeout}
	socket, err := dialer.DialContext(s.life, "tcp", net.JoinHostPort(host, strconv.Itoa(port&0xffff)))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EHOSTUNREACH):
		return nil, engine.ErrRefused
	case err != nil:
		return nil, fmt.Errorf("server: reach %q: %w", host, err)
	case !s.remember(socket):
		return nil, ErrClosed
	}
	return &peer{server: s, socket: socket, in: bufio.NewReader(socket), timeout: timeout}, nil
}

// peer implements engine.Peer.
type peer struct {
	server  *Server
	socket  net.Conn
	in      *bufio.Reader
	timeout time.Duration
}

const (
	// writtenAtOnce is for how much of a request, or of a reply, a timeout counts anew.
	writtenAtOnce = 64 << 10
	// longestLine is how much of a line is read at once.
	longestLine = 1023
)

func (p *peer) Write(text []byte) error {
	for len(text) > 0 {
		chunk := text[:min(len(text), writtenAtOnce)]
		_ = p.socket.SetWriteDeadline(now().Add(p.timeout))
		if _, err := p.socket.Write(chunk); err != nil {
			return explain(err)
		}
		text = text[len(chunk):]
	}
	return nil
}

func (p *peer) Line() (string, error) {
	_ = p.socket.SetReadDeadline(now().Add(p.timeout))
	var line strings.Builder
	for line.Len() < longestLine {
		b, err := p.in.ReadByte()
		switch {
		case err != nil:
			return "", explain(err)
		case b == '\n':
			return strings.TrimSuffix(line.String(), "\r"), nil
		}
		line.WriteByte(b)
	}
	return line.String(), nil
}

func (p *peer) Close() { p.server.forget(p.socket) }

// explain makes an error one of those that the engine knows.
func explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return engine.ErrTimeout
	}
	return err
}
