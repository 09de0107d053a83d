package server

import (
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// socket is the carrier of a connection that the loop serves.
type socket struct {
	*conn
	loop *loop
	fd   int // -1: closed; it is closed under the outbox's lock only

	readable bool // there may be something to read
	writable bool // the peer takes more
	left     bool // the peer sends nothing more
	lost     bool // nor does it read anything
	full     bool // the last read filled its buffer

	// Under the gate:
	queued  bool // in loop.ready
	running bool // the machine executes its commands
	apart   bool // a goroutine treats its command
	cutOff  bool // it is to end without its last replies
	over    bool // the session has ended, or is to end now
	parted  bool // the session has ended
	linger  *time.Timer
}

// welcome makes a connection of an accepted socket.
func (l *loop) welcome(fd int, peer syscall.Sockaddr, own net.Addr) {
	if _, isUnix := peer.(*syscall.SockaddrUnix); !isUnix {
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		if local, err := syscall.Getsockname(fd); err == nil { // the listener may be at every address
			own = netAddr(local)
		}
	}
	k := &socket{conn: newConn(l.server, netAddr(peer), own), loop: l, fd: fd}
	k.carrier, k.out.write, k.out.later = k, k.write, k.writeLater
	refusal := k.join()
	if refusal == nil {
		l.sockets[int32(fd)] = k
		if l.watch(fd, syscall.EPOLL_CTL_ADD, toRead) == nil {
			return
		}
		k.end()
	}
	k.write(refusal)
	k.hangUp()
}

// netAddr is the address of a peer as package net has it.
func netAddr(peer syscall.Sockaddr) net.Addr {
	switch peer := peer.(type) {
	case *syscall.SockaddrInet4:
		return &net.TCPAddr{IP: peer.Addr[:], Port: peer.Port}
	case *syscall.SockaddrInet6:
		address := &net.TCPAddr{IP: peer.Addr[:], Port: peer.Port}
		if peer.ZoneId != 0 {
			address.Zone = strconv.Itoa(int(peer.ZoneId))
		}
		return address
	case *syscall.SockaddrUnix:
		return &net.UnixAddr{Name: peer.Name, Net: "unix"}
	}
	return &net.UnixAddr{Net: "unix"}
}

// enqueue has the loop serve the socket, under the gate.
func (k *socket) enqueue() {
	if !k.queued {
		k.queued = true
		k.loop.ready = append(k.loop.ready, k)
	}
}

// wake implements carrier.
func (k *socket) wake() {
	k.enqueue()
	if !k.loop.inside {
		k.loop.kick()
	}
}

// goOn implements carrier.
func (k *socket) goOn(t *turn) {
	k.running = true
	k.step(t)
	k.running = false
	k.wake()
}

// cut implements carrier.
func (k *socket) cut() {
	k.cutOff = true
	k.wake()
}

// keepAlive implements carrier.
func (k *socket) keepAlive(period time.Duration) {
	if _, tcp := k.address.(*net.TCPAddr); !tcp || period <= 0 {
		return
	}
	seconds := int(period / time.Second)
	_ = syscall.SetsockoptInt(k.fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
	_ = syscall.SetsockoptInt(k.fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds)
	_ = syscall.SetsockoptInt(k.fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, max(seconds/3, 1))
	_ = syscall.SetsockoptInt(k.fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3)
}

// serve writes, reads and executes what there is.
func (k *socket) serve(t *turn) {
	if k.writable {
		k.writable = false
		if k.out.isStuck() && k.out.resume() && !k.parted {
			k.session.Took()
		}
	}
	switch {
	case k.parted:
		k.cutOff = k.cutOff || k.lost
		k.loop.ended = append(k.loop.ended, k)
		return
	case k.running || k.apart:
		return // until it has done with its command
	}
	if !k.over && !k.cutOff && k.readable {
		k.over = k.receive() != nil
	}
	if !k.over && !k.cutOff {
		k.running = true
		k.over = !k.step(t)
		k.running = false
		if k.treated != nil && !k.over {
			k.treatApart()
			return
		}
	}
	if k.over || k.cutOff {
		k.end()
		k.loop.ended = append(k.loop.ended, k)
		return
	}
	if k.readable {
		k.loop.again = append(k.loop.again, k)
	}
}

// receive reads once. An error means that the peer has left, or sent too much.
func (k *socket) receive() error {
	read, err := k.reader.Fill(k)
	k.read += read
	k.readable = err == nil && (k.full || k.left)
	if err == syscall.EAGAIN {
		return nil
	}
	return err
}

// Read takes what has arrived, for the connection's reader.
func (k *socket) Read(b []byte) (int, error) {
	n, err := readNow(k.fd, b)
	switch {
	case err != 0:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	k.full = n == len(b)
	return n, nil
}

// write writes what the peer takes, for the outbox. What it will never take is
// dropped; the loop is told of such a peer.
func (k *socket) write(b []byte) int {
	n, err := writeNow(k.fd, b)
	switch err {
	case 0:
		return n
	case syscall.EAGAIN:
		return 0
	}
	return len(b)
}

// writeLater has the loop be told when the peer takes more. It is called under the outbox's lock.
func (k *socket) writeLater() {
	_ = k.loop.watch(k.fd, syscall.EPOLL_CTL_MOD, toRead|toWrite)
}

// treatApart gives the command that wants it its treatment, by a goroutine that
// gives the socket back when everything it has sent is executed.
func (k *socket) treatApart() {
	s, treated := k.server, k.treated
	k.apart = true
	if !s.rejoin() {
		return // the server is closed, and with it the socket
	}
	go func() {
		open := k.outside(treated)
		if open {
			var t turn
			t.begin(s)
			k.treat(&t)
			open = k.execute(&t)
		}
		if k.abandoned {
			return
		}
		defer s.running.Done()
		visiting := s.gate.enter()
		defer s.gate.leave(visiting)
		k.apart, k.over = false, !open
		k.wake()
	}()
}

// end ends the session, under the gate.
func (k *socket) end() {
	if k.parted {
		return
	}
	k.parted, k.over = true, true
	if k.session != nil {
		k.take() // the last replies
		k.part()
	}
}

// finish closes the socket of a session that has ended, unless its last replies
// are not yet written; they may take a while.
func (k *socket) finish() {
	if !k.cutOff {
		k.out.flush()
	}
	switch {
	case k.cutOff || !k.out.isStuck():
		k.hangUp()
	case k.linger == nil:
		k.linger = time.AfterFunc(lingerTime, func() {
			k.server.Do(func(Machine) { k.cut() })
		})
	}
}

// hangUp closes the socket.
func (k *socket) hangUp() {
	if k.linger != nil {
		k.linger.Stop()
	}
	if k.fd < 0 {
		return
	}
	delete(k.loop.sockets, int32(k.fd))
	k.out.close(func() {
		_ = syscall.Close(k.fd)
		k.fd = -1
	})
}
