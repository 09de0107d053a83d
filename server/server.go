package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"minikv/server/engine"
)

// Levels of Config.Log, as in redis.log.
const (
	LevelDebug = iota
	LevelVerbose
	LevelNotice
	LevelWarning
)

// ErrClosed is returned by Listen and Serve after Close.
var ErrClosed = errors.New("server: closed")

// Config says what a Server serves. Only Machine is required.
type Config struct {
	// Machine makes the machine. A node must be given limit as its engine.Config.Limit, so
	// that while a long script runs other clients can be answered and the script can be
	// killed.
	Machine func(limit func() string) Machine
	// Log receives what Redis would log; nil: it is discarded. It is called by several
	// goroutines.
	Log func(level int, text string)
	// After is called after each use of the machine, while nobody else uses it, to fetch
	// what the machine has left besides output for its sessions. It must not wait. It may be
	// nil.
	After func()
	// Before is called for each command of a client, while nobody else uses the machine.
	// some says that t is not the zero Treatment. It must not wait. It may be nil.
	Before func(s *engine.Session, cmd [][]byte) (t Treatment, some bool)
	// Shutdown is called, in a goroutine of its own, when a client's SHUTDOWN was accepted;
	// see Machine's ShutdownRequested. It may be nil.
	Shutdown func()
	// Untimed leaves the machine's deadlines to the owner, who calls Tick through Do,
	// because the machine's clock is not the computer's.
	Untimed bool
}

// Server serves one machine over any number of listeners. Its methods may be
// called by any goroutine.
type Server struct {
	cfg  Config
	gate gate

	// Under the gate:
	machine Machine
	conns   map[*engine.Session]*conn
	busy    busy
	armed   time.Time // when timer will go off; zero: never
	timer   *time.Timer
	asked   bool   // SHUTDOWN was seen
	others  func() // serves those for whom the goroutine inside is responsible; nil: there are none

	freezing sync.Mutex
	frozen   bool

	shutdown chan struct{} // closed when a client's SHUTDOWN was accepted
	closing  atomic.Bool
	life     context.Context // ends with Close
	end      context.CancelFunc
	running  sync.WaitGroup // accept loops, connections

	mu   sync.Mutex
	open map[closer]struct{} // listeners, connections and the loop, for Close
	loop *loop               // serves the sockets; nil: none yet
}

type closer interface{ Close() error }

// New makes a server without listeners. It must be closed.
func New(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = func(int, string) {}
	}
	s := &Server{
		cfg:      cfg,
		gate:     newGate(),
		conns:    map[*engine.Session]*conn{},
		shutdown: make(chan struct{}),
		open:     map[closer]struct{}{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Stop()
	s.machine = cfg.Machine(s.limit)
	return s
}

// Listen serves the clients of a TCP address such as "127.0.0.1:0" in the background, and
// returns the address that it got.
func (s *Server) Listen(address string) (net.Addr, error) {
	listener, err := Bind("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: listen: %w", err)
	}
	if !s.remember(listener) {
		return nil, ErrClosed
	}
	go func() { _ = s.accept(listener) }()
	return listener.Addr(), nil
}

// Bind opens an address for Serve; network is "tcp", "tcp4" or "tcp6". The socket speaks
// plain TCP, as redis-server's does. net.Listen would prefer Multipath TCP, which takes
// half as long again to open and which no client of Redis speaks.
func Bind(network, address string) (net.Listener, error) {
	var plain net.ListenConfig
	plain.SetMultipathTCP(false)
	return plain.Listen(context.Background(), network, address)
}

// Serve serves the clients that listener accepts, until Close; the error is then
// ErrClosed. After Unlisten it is net.ErrClosed. It closes listener when it returns.
func (s *Server) Serve(listener net.Listener) error {
	if !s.remember(listener) {
		return ErrClosed
	}
	return s.accept(listener)
}

// Unlisten closes a listener that Serve serves; its clients stay connected. Only the
// machine may call it, from within a call of its own.
func (s *Server) Unlisten(listener net.Listener) {
	s.unlisten(listener)
	_ = listener.Close()
}

// Do calls f with the machine while nobody else uses it, and then sends what the machine
// has left for its sessions. f must not keep the machine.
func (s *Server) Do(f func(Machine)) {
	s.gate.enterAlone()
	t := turn{server: s}
	f(s.machine)
	t.end()
}

// Visit is Do, but does not wait for the end of a script that has run past its time
// limit: f then runs between two of the script's steps, as clients' commands do.
func (s *Server) Visit(f func(Machine)) {
	t := turn{server: s, visiting: s.gate.enter()}
	f(s.machine)
	t.end()
}

// TryDo is Do, but does not wait for a frozen machine: it returns false.
func (s *Server) TryDo(f func(Machine)) (done bool) {
	s.freezing.Lock() // as long as f runs nobody freezes
	defer s.freezing.Unlock()
	if s.frozen {
		return false
	}
	s.Do(f)
	return true
}

// Freeze stops the machine, as SIGSTOP stops a process: connections stay open, and
// nothing is executed until Thaw. It waits for what is being executed.
func (s *Server) Freeze() {
	s.freezing.Lock()
	defer s.freezing.Unlock()
	if !s.frozen && !s.closing.Load() {
		s.gate.enterAlone()
		s.frozen = true
	}
}

// Thaw lets a frozen machine go on.
func (s *Server) Thaw() {
	s.freezing.Lock()
	defer s.freezing.Unlock()
	if s.frozen {
		s.gate.leave(false)
		s.frozen = false
	}
}

// ShutdownRequested returns a channel that is closed when a client's SHUTDOWN was
// accepted. The owner then calls Close.
func (s *Server) ShutdownRequested() <-chan struct{} { return s.shutdown }

// Close ends the listeners, the connections and a running script, and waits for their
// goroutines. What a frozen machine was asked to do is no longer done. It may be called
// more than once.
func (s *Server) Close() {
	s.closing.Store(true)
	s.end()
	s.Thaw()
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	s.gate.enterAlone()
	s.timer.Stop()
	s.gate.leave(false)
}

// Dial connects a client in memory, without a socket: from an address, to an address.
func (s *Server) Dial(from, to net.Addr) (net.Conn, error) {
	client, own := Pipe(from, to)
	if s.closing.Load() {
		return nil, ErrClosed
	}
	s.welcome(own)
	return client, nil
}

// accept serves the clients of one listener.
func (s *Server) accept(listener net.Listener) error {
	defer s.forget(listener)
	if served, err := s.serveSockets(listener); served {
		if errors.Is(err, ErrClosed) || s.closing.Load() {
			return ErrClosed
		}
		return fmt.Errorf("server: accept: %w", err)
	}
	for {
		socket, err := listener.Accept()
		switch {
		case s.closing.Load():
			if err == nil {
				_ = socket.Close() // came at the last moment
			}
			return ErrClosed
		case err == nil:
			s.welcome(socket)
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("server: accept: %w", err)
		default:
			// Out of file descriptors, most likely: it may pass.
			s.cfg.Log(LevelWarning, "Accepting client connection: "+err.Error())
			time.Sleep(acceptPause)
		}
	}
}

const acceptPause = 10 * time.Millisecond

// collect moves what the machine has left for its sessions to the outboxes,
// and sets the timer. It returns the connections to flush after the gate.
func (s *Server) collect(dirty []*conn) []*conn {
	if s.machine.ShutdownRequested() != nil {
		if !s.asked {
			s.asked = true
			close(s.shutdown)
			if s.cfg.Shutdown != nil {
				go s.cfg.Shutdown()
			}
		}
		return nil // as if the process were gone: nothing more is sent
	}
	for _, session := range s.machine.Dirty() {
		if c := s.conns[session]; c != nil {
			c.take()
			dirty = append(dirty, c)
		}
	}
	if s.cfg.After != nil {
		s.cfg.After()
	}
	if s.cfg.Untimed {
		return dirty
	}
	if wait, ok := s.machine.NextDeadline(); ok {
		s.arm(wait)
	}
	return dirty
}

// minWait keeps the timer from turning in a tight loop: deadlines are whole
// milliseconds.
const minWait = time.Millisecond

// arm makes the timer go off after wait, unless it will do so earlier anyway.
func (s *Server) arm(wait time.Duration) {
	wait = max(wait, minWait)
	at := now().Add(wait)
	if s.closing.Load() || !s.armed.IsZero() && s.armed.Before(at) {
		return
	}
	s.armed = at
	s.timer.Reset(wait)
}

// tick is the timer's.
func (s *Server) tick() {
	if !s.rejoin() {
		return
	}
	defer s.running.Done()
	s.Do(func(m Machine) {
		s.armed = time.Time{}
		if !s.closing.Load() {
			m.Tick()
		}
	})
}

// remember notes what Close must close, and that a goroutine serves it until
// forget. When the server is already closed it closes c and returns false.
func (s *Server) remember(c closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		_ = c.Close()
		return false
	}
	s.open[c] = struct{}{}
	s.running.Add(1)
	return true
}

// rejoin has Close wait for a goroutine that it did not wait for so far, until running.Done.
// It returns false when the server is closed.
func (s *Server) rejoin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.running.Add(1)
	return true
}

func (s *Server) forget(c closer) {
	_ = c.Close()
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	s.running.Done()
}
