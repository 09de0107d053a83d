package main

import (
	"fmt"
	"runtime"
	"syscall"
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

// byteGenerator is a generator whose connections send the same bytes again and
// again. One thread drives all of them, as redis-benchmark does, since it
// shares the cores with the server: what it costs is the same for each server
// but leaves less to a fast one.
type byteGenerator struct {
	target    *target
	epoll     int
	events    [256]syscall.EpollEvent
	conns     map[int32]*generatorConn
	histogram *hdrhistogram.Histogram
	got       []byte // room for replies
	origin    time.Time
	now       time.Duration // since origin, when it was last looked at
}

// newGenerator connects and loads the scripts.
func newGenerator(t *target, r row) (generator, error) {
	if r.load.start != nil {
		return r.load.start(t, r)
	}
	for _, script := range r.load.scripts {
		if reply, err := t.ask("SCRIPT", "LOAD", script); err != nil || reply != sha(script) {
			return nil, fmt.Errorf("%s: SCRIPT LOAD: %q %w", t.name, reply, err)
		}
	}
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	g := &byteGenerator{target: t, epoll: epoll, conns: map[int32]*generatorConn{}}
	for i := range r.conns {
		c, err := newGeneratorConn(t.addr, r, i)
		if err == nil {
			g.conns[int32(c.fd)] = c
			g.got = make([]byte, max(len(g.got), c.longest()))
			err = g.watch(c)
		}
		if err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

// watch has the generator be told of each change of a connection.
func (g *byteGenerator) watch(c *generatorConn) error {
	const edgeTriggered = 1 << 31
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | edgeTriggered, Fd: int32(c.fd)}
	return syscall.EpollCtl(g.epoll, syscall.EPOLL_CTL_ADD, c.fd, &event)
}

// newHistogram takes latencies from 1 µs to 60 s with three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

func (g *byteGenerator) close() {
	for _, c := range g.conns {
		_ = syscall.Close(c.fd)
	}
	_ = syscall.Close(g.epoll)
}

// patience is how long after a round a server may take to answer.
const patience = 5 * time.Second

// measure implements generator.
func (g *byteGenerator) measure(d time.Duration) (sample, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g.histogram = newHistogram()
	before := g.target.cpu()
	g.origin = time.Now()
	operations, err := g.round(d)
	s := sample{operations: operations, histogram: g.histogram}
	s.ops = float64(s.operations) / time.Since(g.origin).Seconds()
	s.cpuPerOp = float64(g.target.cpu()-before) / float64(s.operations)
	return s, err
}

// look looks at the clock. Its monotonic half is enough and costs half.
func (g *byteGenerator) look() time.Duration {
	g.now = time.Since(g.origin)
	return g.now
}

// round has every connection begin, and begin again until the deadline; what was
// begun is brought to its end.
func (g *byteGenerator) round(deadline time.Duration) (operations int, err error) {
	for _, c := range g.conns {
		if err := c.begin(g.look()); err != nil {
			return 0, err
		}
	}
	for busy := len(g.conns); busy > 0; {
		n, err := syscall.EpollWait(g.epoll, g.events[:], int(patience.Milliseconds()))
		if err != nil && err != syscall.EINTR {
			return operations, err
		}
		if n == 0 || g.look() > deadline+patience {
			return operations, fmt.Errorf("%d connections wait for a reply", busy)
		}
		for _, event := range g.events[:max(n, 0)] {
			c := g.conns[event.Fd]
			done, err := c.proceed(g)
			if err != nil {
				return operations, err
			}
			if !done {
				continue
			}
			operations += c.operations
			if g.now > deadline {
				busy--
			} else if err := c.begin(g.now); err != nil {
				return operations, err
			}
		}
	}
	return operations, nil
}
