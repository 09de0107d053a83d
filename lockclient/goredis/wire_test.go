package goredis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// second is the second of TestBrokenWires, where all is ten times as fast.
const second = 100 * time.Millisecond

// wires makes the connections of one client to its servers. What goes over them takes
// time, stalls and gets lost, as is drawn, until they are healed.
type wires struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	draws  *rand.Rand
	healed bool
	open   map[*wire]bool
}

// wire is one connection. When its client closes it, what has not arrived is dropped, as
// with adapter.AbortOnClose.
type wire struct {
	of        *wires
	near, far net.Conn // towards the client and the server

	mu     sync.Mutex
	stalls [2]time.Time // until when nothing moves, by direction
	cut    bool
	late   time.Time // until when requests that were under way at the cut still arrive
}

// direction is an index of wire.stalls.
type direction int

const (
	requests direction = iota
	replies
)

func newWires(dial func(context.Context, string, string) (net.Conn, error), seed, number uint64) *wires {
	return &wires{dial: dial, draws: rand.New(rand.NewPCG(seed, number)), open: map[*wire]bool{}}
}

// whole makes wires that never break.
func whole(dial func(context.Context, string, string) (net.Conn, error)) *wires {
	w := newWires(dial, 0, 0)
	w.healed = true
	return w
}

func (w *wires) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draws.IntN(n)
}

func (w *wires) upTo(d time.Duration) time.Duration { return time.Duration(w.draw(int(d) + 1)) }

func (w *wires) isHealed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.healed
}

// heal ends what is wrong.
func (w *wires) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.healed = true
	for o := range w.open {
		o.stall(0, requests, replies)
	}
}

// Dial is for go-redis.
func (w *wires) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := w.hesitate(ctx); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	far, err := w.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	client, near := net.Pipe()
	o := &wire{of: w, near: near, far: far}
	w.mu.Lock()
	w.open[o] = true
	w.mu.Unlock()
	go o.carry(near, far, requests)
	go o.carry(far, near, replies)
	go o.suffer()
	return client, nil
}

// DialRueidis is for rueidis.
func (w *wires) DialRueidis(ctx context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return w.Dial(ctx, "tcp", address)
}

// hesitate is what there is before a connection.
func (w *wires) hesitate(ctx context.Context) error {
	if w.isHealed() {
		return nil
	}
	switch w.draw(30) {
	case 0, 1:
		return errors.New("connection refused")
	case 2:
		return pass(ctx, w.upTo(20*second))
	}
	return pass(ctx, w.upTo(20*time.Millisecond))
}

// parcel is bytes under way.
type parcel struct {
	bytes []byte
	due   time.Time
}

// carry moves bytes in one direction.
func (o *wire) carry(from, to net.Conn, where direction) {
	parcels := make(chan parcel, 1000)
	go func() {
		defer close(parcels)
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				parcels <- parcel{append([]byte(nil), buf[:n]...), time.Now().Add(o.latency())}
			}
			if err != nil {
				break
			}
		}
		if where == requests {
			o.sever(0)
		}
	}()
	defer to.Close()
	lost := false
	for p := range parcels {
		lost = lost || !o.passes(p, where)
		if !lost {
			_, err := to.Write(p.bytes)
			lost = err != nil
		}
	}
}

func (o *wire) latency() time.Duration {
	switch {
	case o.of.isHealed():
		return 0
	case o.of.draw(20) == 0:
		return o.of.upTo(second)
	}
	return o.of.upTo(5 * time.Millisecond)
}

// passes waits until a parcel arrives, false if it gets lost.
func (o *wire) passes(p parcel, where direction) bool {
	time.Sleep(time.Until(p.due))
	for {
		o.mu.Lock()
		stall, cut, late := o.stalls[where], o.cut, o.late
		o.mu.Unlock()
		switch {
		case cut:
			return where == requests && time.Now().Before(late)
		case !time.Now().Before(stall):
			return true
		}
		time.Sleep(min(time.Until(stall), second/10))
	}
}

// sever breaks the wire. Requests under way still arrive for as long as late says.
func (o *wire) sever(late time.Duration) {
	o.mu.Lock()
	already := o.cut
	if !already {
		o.cut, o.late = true, time.Now().Add(late)
	}
	o.mu.Unlock()
	if already {
		return
	}
	o.of.mu.Lock()
	delete(o.of.open, o)
	o.of.mu.Unlock()
	_ = o.near.Close()
	time.AfterFunc(late, func() { _ = o.far.Close() })
}

func (o *wire) stall(d time.Duration, where ...direction) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range where {
		o.stalls[w] = time.Now().Add(d)
	}
}

func (o *wire) isCut() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}

// suffer has things go wrong until the wire is cut.
func (o *wire) suffer() {
	for {
		time.Sleep(o.of.upTo(20 * second))
		if o.isCut() || o.of.isHealed() {
			return
		}
		long := o.of.upTo(15 * second)
		switch o.of.draw(6) {
		case 0:
			o.sever(0)
		case 1:
			o.sever(o.of.upTo(2 * second)) // less than a client's WithTimeout
		case 2:
			o.stall(long, requests)
		case 3:
			o.stall(long, replies)
		case 4:
			o.stall(long, requests, replies)
		}
	}
}
