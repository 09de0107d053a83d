package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sample is one round of one row on one server.
type sample struct {
	ops        float64 // operations a second
	cpuPerOp   float64 // of the server, in ns
	histogram  *hdrhistogram.Histogram
	operations int
}

// generator drives one row on one server.
type generator interface {
	// measure drives it for d.
	measure(d time.Duration) (sample, error)
	close()
}

// byteGenerator is a generator whose connections send the same bytes again and again.
type byteGenerator struct {
	target      *target
	conns       []*generatorConn
	unpipelined bool // each request waits for the reply to the one before
}

// generatorConn sends the same bytes again and again.
type generatorConn struct {
	socket     net.Conn
	request    []byte
	want       []byte
	got        []byte
	operations int // of one exchange
	histogram  *hdrhistogram.Histogram
}

// newGenerator connects and loads the scripts.
func newGenerator(t *target, r row) (generator, error) {
	if r.load.start != nil {
		return r.load.start(t, r)
	}
	g := &byteGenerator{target: t, unpipelined: r.pipeline == 1}
	for _, script := range r.load.scripts {
		if reply, err := t.ask("SCRIPT", "LOAD", script); err != nil || reply != sha(script) {
			return nil, fmt.Errorf("%s: SCRIPT LOAD: %q %w", t.name, reply, err)
		}
	}
	for i := range r.conns {
		c, err := newGeneratorConn(t.addr, r, i)
		if err != nil {
			g.close()
			return nil, err
		}
		g.conns = append(g.conns, c)
	}
	return g, nil
}

func newGeneratorConn(addr string, r row, number int) (*generatorConn, error) {
	socket, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &generatorConn{socket: socket, histogram: newHistogram()}
	for c.operations < r.pipeline {
		request, reply, operations := r.load.step(number)
		c.request = append(c.request, request...)
		c.want = append(c.want, reply...)
		c.operations += operations
	}
	c.got = make([]byte, len(c.want))
	return c, nil
}

// newHistogram takes latencies from 1 µs to 60 s with three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

func (g *byteGenerator) close() {
	for _, c := range g.conns {
		_ = c.socket.Close()
	}
}

// patience is how long after a round a server may take to answer.
const patience = 5 * time.Second

// measure implements generator.
func (g *byteGenerator) measure(d time.Duration) (sample, error) {
	var wg sync.WaitGroup
	exchanges := make([]int, len(g.conns))
	errs := make([]error, len(g.conns))
	before, begun := g.target.cpu(), time.Now()
	deadline := begun.Add(d)
	for i, c := range g.conns {
		_ = c.socket.SetDeadline(deadline.Add(patience))
		wg.Go(func() {
			for time.Now().Before(deadline) && errs[i] == nil {
				errs[i] = c.exchange(g.unpipelined)
				exchanges[i]++
			}
		})
	}
	wg.Wait()
	elapsed, used := time.Since(begun), g.target.cpu()-before
	s := sample{histogram: newHistogram()}
	for i, c := range g.conns {
		s.operations += exchanges[i] * c.operations
		s.histogram.Merge(c.histogram)
		c.histogram.Reset()
	}
	s.ops = float64(s.operations) / elapsed.Seconds()
	s.cpuPerOp = float64(used) / float64(s.operations)
	return s, errors.Join(errs...)
}

// exchange sends the connection's requests, all at once or one by one, and
// checks the replies.
func (c *generatorConn) exchange(unpipelined bool) error {
	begun := time.Now()
	if unpipelined {
		return c.oneByOne()
	}
	if _, err := c.socket.Write(c.request); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.socket, c.got); err != nil {
		return err
	}
	_ = c.histogram.RecordValue(time.Since(begun).Microseconds())
	return c.check(len(c.want))
}

// oneByOne sends each request when the one before is answered.
func (c *generatorConn) oneByOne() error {
	sent, got := 0, 0
	for got < len(c.want) {
		begun := time.Now()
		end := sent + requestLength(c.request[sent:])
		if _, err := c.socket.Write(c.request[sent:end]); err != nil {
			return err
		}
		sent = end
		next := got + replyLength(c.want[got:])
		if n, err := io.ReadFull(c.socket, c.got[got:next]); err != nil {
			return fmt.Errorf("after %q: %w", c.got[:got+n], err)
		}
		got = next
		_ = c.histogram.RecordValue(time.Since(begun).Microseconds())
	}
	return c.check(got)
}

func (c *generatorConn) check(n int) error {
	if !bytes.Equal(c.got[:n], c.want[:n]) {
		return fmt.Errorf("wrong replies: got %q, want %q", c.got[:n], c.want[:n])
	}
	return nil
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
