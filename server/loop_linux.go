package server

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// loop is the goroutine that serves all sockets of a Server, in the order in
// which something arrived at them, as Redis's only thread does: it asks epoll
// what is ready, reads, has the machine execute, and then writes the replies
// with one write for each client.
//
// Events are edge-triggered, so a socket needs no looking after while its client
// is blocked. The epoll descriptor is itself watched by the Go runtime: an idle
// loop is a parked goroutine and takes no thread.
//
// Source: aeProcessEvents, beforeSleep and processEventsWhileBlocked of Redis 7.0.
type loop struct {
	server  *Server
	epoll   int
	file    *os.File // the same descriptor, for waiting
	raw     syscall.RawConn
	events  [maxEvents]syscall.EpollEvent
	count   int // of events that have come
	sockets map[int32]*socket
	again   []*socket // that may have more to read
	ended   []*socket // to be closed behind the gate
	turn    turn
	visit   turn // of the others while a script runs

	// Under the gate:
	listeners map[int32]listener
	ready     []*socket // to be served in this order, from next on
	next      int
	inside    bool // the loop's goroutine is using the machine
}

// listener is a socket to which clients come, and its address.
type listener struct {
	raw     syscall.RawConn
	address net.Addr
	closed  chan struct{} // closed when the loop has forgotten it
}

const (
	// maxEvents is how many sockets are served in one turn.
	maxEvents = 256
	// acceptsPerTurn is how many clients are let in before the others are served.
	// Source: MAX_ACCEPTS_PER_CALL.
	acceptsPerTurn = 1000

	edgeTriggered = 1 << 31 // EPOLLET, in the type of an event's field
	toRead        = syscall.EPOLLIN | syscall.EPOLLRDHUP | edgeTriggered
	toWrite       = syscall.EPOLLOUT
	broken        = syscall.EPOLLHUP | syscall.EPOLLERR
	peerLeft      = syscall.EPOLLRDHUP | broken
)

// serveSockets has the server's loop serve the clients of a listener of the system, until
// Unlisten or Close. It returns false when it is no such listener.
func (s *Server) serveSockets(from net.Listener) (served bool, err error) {
	switch from.(type) {
	case *net.TCPListener, *net.UnixListener:
	default:
		return false, nil
	}
	raw, err := from.(syscall.Conn).SyscallConn()
	if err != nil {
		return true, err
	}
	l, err := s.theLoop()
	if err != nil {
		return true, err
	}
	on := listener{raw, from.Addr(), make(chan struct{})}
	if err := l.listen(on); err != nil {
		return true, err
	}
	select {
	case <-on.closed:
		return true, net.ErrClosed
	case <-s.life.Done():
		return true, ErrClosed
	}
}

// theLoop is the server's loop, which runs from then on.
func (s *Server) theLoop() (*loop, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return nil, ErrClosed
	}
	if s.loop != nil {
		return s.loop, nil
	}
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	_ = syscall.SetNonblock(epoll, true) // which os.NewFile looks at
	l := &loop{server: s, epoll: epoll, file: os.NewFile(uintptr(epoll), "epoll"),
		sockets: map[int32]*socket{}, listeners: map[int32]listener{}}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		_ = l.file.Close()
		return nil, err
	}
	s.loop = l
	s.open[l] = struct{}{}
	s.running.Add(1)
	go l.run()
	return l, nil
}

// listen has the loop accept a listener's clients.
func (l *loop) listen(on listener) error {
	visiting := l.server.gate.enter()
	defer l.server.gate.leave(visiting)
	var err error
	closed := on.raw.Control(func(fd uintptr) {
		l.listeners[int32(fd)] = on
		err = l.watch(int(fd), syscall.EPOLL_CTL_ADD, syscall.EPOLLIN|edgeTriggered)
	})
	return errors.Join(closed, err)
}

// unlisten forgets a listener that is about to be closed. It is called under the gate.
func (s *Server) unlisten(listener net.Listener) {
	s.mu.Lock()
	l := s.loop
	s.mu.Unlock()
	conn, ok := listener.(syscall.Conn)
	if l == nil || !ok {
		return
	}
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { l.forget(int32(fd)) })
	}
}

// forget ends what is done for a listener, if the descriptor is one's.
func (l *loop) forget(fd int32) {
	if on, ok := l.listeners[fd]; ok {
		delete(l.listeners, fd)
		close(on.closed)
	}
}

func (l *loop) watch(fd, operation int, events uint32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(l.epoll, operation, fd, &event))
}

// Close has the loop look at whether the server is closed.
func (l *loop) Close() error {
	l.kick()
	return nil
}

// kick ends the loop's wait for events.
func (l *loop) kick() { _ = l.file.SetReadDeadline(time.Unix(1, 0)) }

// run serves until the server is closed.
func (l *loop) run() {
	defer l.end()
	t := &l.turn
	for l.wait() {
		t.begin(l.server)
		l.enter(true)
		l.serve(t)
		l.enter(false)
		t.leave()
		l.bury()
	}
}

// end leaves nothing behind.
func (l *loop) end() {
	s := l.server
	l.turn.begin(s)
	clients := slices.Collect(maps.Values(l.sockets))
	for _, k := range clients {
		k.hangUp()
		k.end()
	}
	l.turn.end()
	s.mu.Lock()
	s.loop = nil
	s.mu.Unlock()
	_ = l.file.Close()
	s.forget(l)
}

// enter notes, under the gate, whether the loop's goroutine uses the machine.
func (l *loop) enter(inside bool) {
	l.inside = inside
	l.server.others = nil
	if inside {
		l.server.others = l.serveOthers
	}
}

// wait returns when something is to be done, false if that is to end.
func (l *loop) wait() bool {
	if l.server.closing.Load() {
		return false
	}
	l.count = 0
	err := l.raw.Read(l.poll)
	if errors.Is(err, os.ErrDeadlineExceeded) { // a kick
		err = l.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		panic(fmt.Sprintf("server: epoll: %v", err))
	}
	return true
}

// poll takes the events that have come. It returns false to be called again
// when there are some.
func (l *loop) poll(uintptr) bool {
	n, err := eventsNow(l.epoll, l.events[:])
	l.count = n
	if err != 0 {
		panic(fmt.Sprintf("server: epoll_pwait: %v", err))
	}
	return l.count > 0 || len(l.again) > 0
}

// serve serves the sockets that are ready, and those whose sessions thereby
// become unblocked.
func (l *loop) serve(t *turn) {
	for _, k := range l.again {
		k.enqueue()
	}
	l.again = l.again[:0]
	for _, event := range l.events[:l.count] {
		l.note(event)
	}
	l.count = 0
	for l.next < len(l.ready) {
		for l.next < len(l.ready) {
			k := l.ready[l.next]
			l.next++
			k.queued = false
			k.serve(t)
		}
		l.ready, l.next = l.ready[:0], 0
		t.collect() // which may wake others
	}
}

// note has what an event tells be done.
func (l *loop) note(event syscall.EpollEvent) {
	if from, ok := l.listeners[event.Fd]; ok {
		if l.accept(from) {
			return
		}
		l.forget(event.Fd)
	}
	k := l.sockets[event.Fd]
	if k == nil {
		return
	}
	k.left = k.left || event.Events&peerLeft != 0
	k.lost = k.lost || event.Events&broken != 0
	k.readable = k.readable || event.Events&(syscall.EPOLLIN|peerLeft) != 0
	k.writable = k.writable || event.Events&syscall.EPOLLOUT != 0
	k.enqueue()
}

// serveOthers serves the clients of the loop while it runs a script of one of
// them for long.
func (l *loop) serveOthers() {
	l.poll(0)
	l.visit.server, l.visit.visiting = l.server, true
	l.serve(&l.visit)
	l.visit.collect() // what was replied in this turn before the script began
	flushAll(l.turn.dirty)
	l.visit.send()
	l.bury()
}

// bury closes the sockets whose sessions have ended, once everything is written.
func (l *loop) bury() {
	for _, k := range l.ended {
		k.finish()
	}
	l.ended = l.ended[:0]
}

// accept lets in the clients that have come to a listener. It returns false when
// somebody has closed that: the descriptor is another's now.
func (l *loop) accept(from listener) (open bool) {
	for range acceptsPerTurn {
		fd, peer := -1, syscall.Sockaddr(nil)
		var err error
		closed := from.raw.Control(func(own uintptr) {
			fd, peer, err = syscall.Accept4(int(own), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		})
		switch {
		case closed != nil:
			return false
		case err == syscall.EAGAIN:
			return true
		case err == nil:
			l.welcome(fd, peer, from.address)
		case err != syscall.EINTR && err != syscall.ECONNABORTED:
			// Out of file descriptors, most likely: it may pass.
			l.server.cfg.Log(LevelWarning, "Accepting client connection: "+err.Error())
			time.AfterFunc(acceptPause, func() { l.remind(from) })
			return true
		}
	}
	l.remind(from)
	return true
}

// remind has the loop be told again of clients that were left waiting.
func (l *loop) remind(from listener) {
	_ = from.raw.Control(func(fd uintptr) {
		_ = l.watch(int(fd), syscall.EPOLL_CTL_MOD, syscall.EPOLLIN|edgeTriggered)
	})
}
