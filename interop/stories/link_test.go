package stories

import (
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minikv/sim"
)

// link is the way from a client to a server, or from a replica to its master: a proxy. Each
// direction takes its time, and can be cut: what is sent then arrives when it is mended, in
// its order, unless its sender has reset the connection.
type link struct {
	address string // where it listens
	target  string
	delay   [2]sim.Range // there and back
	reads   bool         // messages, of which rules may strike some

	mu       sync.Mutex
	changed  *sync.Cond
	cut      [2]bool
	held     bool // what is sent back from now on waits
	follows  bool // it is a replica's: until the stream comes, only the first reply takes its time, as in the simulator
	rules    []*rule
	listener net.Listener // nil: who connects is refused
	conns    map[*wire]bool
}

// Directions of a link.
const (
	there = iota
	back
)

// wire is one connection over a link.
type wire struct {
	ends    [2]*net.TCPConn // of who has made it, and of the target
	traffic *traffic        // nil: nobody reads it
}

func newLink(target string, there, back sim.Range, reads bool) (*link, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	l := &link{address: address, target: target, delay: [2]sim.Range{there, back}, reads: reads, conns: map[*wire]bool{}}
	l.changed = sync.NewCond(&l.mu)
	return l, l.open()
}

// open has the link listen. A process that is being started may for a moment have the
// socket of who looked whether the address is free.
func (l *link) open() error {
	listener, err := net.Listen("tcp", l.address)
	for try := 0; err != nil && try < 100; try++ {
		time.Sleep(10 * time.Millisecond)
		listener, err = net.Listen("tcp", l.address)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.connect(conn.(*net.TCPConn))
		}
	}()
	return nil
}

// refuse has the link refuse who connects, as it is when nothing listens at its target. The
// connections that there are end by themselves.
func (l *link) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close()
		l.listener = nil
	}
}

// end ends the link and all that goes over it.
func (l *link) end() {
	l.refuse()
	l.mend()
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.conns {
		w.reset()
	}
}

// turn has the link lead elsewhere, and ends what goes over it.
func (l *link) turn(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
	for w := range l.conns {
		w.reset()
	}
}

func (l *link) setCut(direction int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut[direction] = true
}

// hold has what is sent back from now on wait. What is on its way arrives.
func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

func (l *link) isHeld(direction int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held && direction == back
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.held = [2]bool{}, false
	l.changed.Broadcast()
}

func (l *link) isCut(direction int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut[direction]
}

// passes waits until a direction is not cut, and reports whether it was.
func (l *link) passes(direction int) (waited bool) {
	return l.until(func() bool { return !l.cut[direction] })
}

// until waits until something is so, and reports whether it was not.
func (l *link) until(isSo func() bool) (waited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !isSo() {
		l.changed.Wait()
		waited = true
	}
	return waited
}

// connect carries one connection. It reaches the target as soon as the link is not cut.
func (l *link) connect(from *net.TCPConn) {
	l.passes(there)
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	to, err := net.Dial("tcp", target)
	if err != nil {
		_ = from.SetLinger(0)
		_ = from.Close()
		return
	}
	w := &wire{ends: [2]*net.TCPConn{from, to.(*net.TCPConn)}}
	if l.reads {
		w.traffic = newTraffic()
	}
	l.mu.Lock()
	l.conns[w] = true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.carry(w, there) })
	both.Go(func() { l.carry(w, back) })
	both.Wait()
	w.reset()
	l.mu.Lock()
	delete(l.conns, w)
	l.mu.Unlock()
}

// reset closes both ends; what has not arrived is lost.
func (w *wire) reset() {
	for _, end := range w.ends {
		_ = end.SetLinger(0)
		_ = end.Close()
	}
}

// parcel is some bytes on their way, or the end of what is sent: in order, or by a reset.
type parcel struct {
	bytes []byte
	reset bool
	due   time.Time
	held  bool // it was sent while the link was held
}

// carry carries one direction of a connection until that ends.
func (l *link) carry(w *wire, direction int) {
	from := w.ends[direction]
	parcels := make(chan parcel, 1<<10) // as many as a cut leaves on their way: the rest waits in its sender's socket
	var wasReset atomic.Bool
	var delivery sync.WaitGroup
	delivery.Go(func() { l.deliver(w, direction, parcels, &wasReset) })
	streams := !l.follows
	for buffer, first := make([]byte, 64<<10), true; ; first = false {
		n, err := from.Read(buffer)
		due := time.Now()
		streams = streams || beginsStream(buffer[:n])
		if first || streams {
			due = due.Add(drawn(l.delay[direction]))
		}
		for _, m := range w.messages(direction, buffer[:n]) {
			if late, lost := l.strike(direction, m); !lost {
				parcels <- parcel{bytes: m.bytes, due: due.Add(late), held: l.isHeld(direction)}
			}
		}
		if err != nil {
			wasReset.Store(err != io.EOF)
			parcels <- parcel{reset: err != io.EOF, due: due}
			break
		}
	}
	close(parcels)
	delivery.Wait()
}

// beginsStream reports whether a master says that its stream follows.
func beginsStream(reply []byte) bool {
	return bytes.HasPrefix(reply, []byte("+FULLRESYNC")) || bytes.HasPrefix(reply, []byte("+CONTINUE"))
}

// messages are those in what was read: if nobody tells them apart, all is one.
func (w *wire) messages(direction int, bytes []byte) []message {
	switch {
	case len(bytes) == 0:
		return nil
	case w.traffic == nil:
		return []message{{bytes: slices.Clone(bytes)}}
	}
	return w.traffic.read(direction, bytes)
}

// deliver has parcels arrive. A cut direction loses what nobody sends again.
func (l *link) deliver(w *wire, direction int, parcels <-chan parcel, wasReset *atomic.Bool) {
	to := w.ends[1-direction]
	var last time.Time
	lost := false
	for p := range parcels {
		if p.due.Before(last) {
			p.due = last
		}
		last = p.due
		time.Sleep(time.Until(p.due))
		if p.held {
			l.until(func() bool { return !l.held })
		}
		lost = l.passes(direction) && wasReset.Load() || lost
		switch {
		case p.reset:
			w.reset()
		case p.bytes == nil:
			_ = to.CloseWrite()
		case !lost:
			_, _ = to.Write(p.bytes) // if it has gone the other direction notices
		}
	}
}
