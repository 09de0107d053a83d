package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// generatorConn goes through the same exchanges again and again.
type generatorConn struct {
	fd         int
	exchanges  []exchange
	operations int // of all exchanges

	at       int           // the exchange under way; len(exchanges): none is
	sent     int           // bytes of its request
	received int           // bytes of its replies
	begun    time.Duration // on the generator's clock
}

// exchange is what is sent at once, and the bytes that answer it.
type exchange struct{ request, want []byte }

func newGeneratorConn(addr string, r row, number int) (*generatorConn, error) {
	c := &generatorConn{}
	var all exchange
	for c.operations < r.pipeline {
		request, reply, operations := r.load.step(number)
		all.request = append(all.request, request...)
		all.want = append(all.want, reply...)
		c.operations += operations
	}
	c.exchanges = []exchange{all}
	if r.pipeline == 1 {
		c.exchanges = all.split()
	}
	c.at = len(c.exchanges)
	var err error
	c.fd, err = connect(addr)
	return c, err
}

// connect opens a socket that is read and written without waiting.
func connect(addr string) (fd int, err error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return -1, err
	}
	fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	err = errors.Join(
		syscall.Connect(fd, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}),
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.SetNonblock(fd, true))
	if err != nil {
		_ = syscall.Close(fd)
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

// split makes each request an exchange of its own.
func (e exchange) split() (parts []exchange) {
	for len(e.request) > 0 {
		n, m := requestLength(e.request), replyLength(e.want)
		parts = append(parts, exchange{e.request[:n], e.want[:m]})
		e = exchange{e.request[n:], e.want[m:]}
	}
	return parts
}

// longest is the length of the longest replies.
func (c *generatorConn) longest() (length int) {
	for _, e := range c.exchanges {
		length = max(length, len(e.want))
	}
	return length
}

// begin sends the first request.
func (c *generatorConn) begin(now time.Duration) error {
	c.at = 0
	return c.start(now)
}

func (c *generatorConn) start(now time.Duration) error {
	c.sent, c.received, c.begun = 0, 0, now
	return c.send()
}

// send writes what the server takes of the request.
func (c *generatorConn) send() error {
	request := c.exchanges[c.at].request
	for c.sent < len(request) {
		n, err := writeNow(c.fd, request[c.sent:])
		switch err {
		case 0:
			c.sent += n
		case syscall.EAGAIN:
			return nil
		case syscall.EINTR:
		default:
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// proceed writes and reads what is possible, checks it and begins the next
// exchange. It reports whether the last one is done.
func (c *generatorConn) proceed(g *byteGenerator) (done bool, err error) {
	if c.at == len(c.exchanges) {
		return false, nil
	}
	e := &c.exchanges[c.at]
	if err := c.send(); err != nil {
		return false, err
	}
	for c.received < len(e.want) {
		got := g.got[:len(e.want)-c.received]
		n, err := readNow(c.fd, got)
		switch {
		case err == syscall.EAGAIN:
			return false, nil
		case err == syscall.EINTR:
			continue
		case err != 0:
			return false, fmt.Errorf("read: %w", err)
		case n == 0:
			return false, io.ErrUnexpectedEOF
		}
		if want := e.want[c.received : c.received+n]; !bytes.Equal(got[:n], want) {
			return false, fmt.Errorf("wrong replies: got %q, want %q", got[:n], want)
		}
		c.received += n
		if n < len(got) {
			return false, nil // the rest will be told of
		}
	}
	now := g.look()
	_ = g.histogram.RecordValue((now - c.begun).Microseconds())
	if c.at++; c.at == len(c.exchanges) {
		return true, nil
	}
	return false, c.start(now)
}

// requestLength is the length of the first request in b: from one '*' to the next.
func requestLength(b []byte) int {
	if next := bytes.Index(b, []byte("\r\n*")); next >= 0 {
		return next + 2
	}
	return len(b)
}

// replyLength is the length of the first reply in b: a line, or a bulk string.
func replyLength(b []byte) int {
	line := bytes.Index(b, []byte("\r\n")) + 2
	if b[0] != '$' || b[1] == '-' {
		return line
	}
	n := 0
	for _, digit := range b[1 : line-2] {
		n = n*10 + int(digit-'0')
	}
	return line + n + 2
}
