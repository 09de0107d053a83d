package server

import (
	"time"

	"minikv/internal/memory"
)

// gate lets one goroutine at a time use the machine. It differs from a mutex
// in that whoever holds it for long can let others in for a while.
type gate struct {
	token chan struct{} // full while somebody is inside
	visit chan struct{} // received: come in while the holder waits
	left  chan struct{} // the visitor has gone
}

func newGate() gate {
	return gate{
		token: make(chan struct{}, 1),
		visit: make(chan struct{}),
		left:  make(chan struct{}),
	}
}

// enter waits for the machine, or for an invitation by its holder. What it
// returns must be given to leave.
func (g *gate) enter() (visiting bool) {
	select {
	case g.token <- struct{}{}:
		return false
	case <-g.visit:
		return true
	}
}

// enterAlone waits until nobody is inside.
func (g *gate) enterAlone() { g.token <- struct{}{} }

func (g *gate) leave(visiting bool) {
	if visiting {
		g.left <- struct{}{}
		return
	}
	<-g.token
}

// letIn has everybody who waits now visit, one after the other. Only the
// holder may call it.
func (g *gate) letIn() {
	for {
		select {
		case g.visit <- struct{}{}:
			<-g.left
		default:
			return
		}
	}
}

// busy watches how long one command has been running.
type busy struct {
	command   uint64 // number of the command that runs
	watched   uint64 // number of the command that began at started
	started   time.Time
	announced bool
}

// limit is for engine.Config.Limit: scripts call it every few hundred steps. It ends
// a script for which there is no memory, and any when the server closes. Once a script
// has run for longer than busy-reply-threshold, each call serves the other clients in
// between.
func (s *Server) limit() string {
	if s.closing.Load() || s.machine.ShutdownRequested() != nil {
		return "ERR Server is shutting down"
	}
	if memory.Outgrown() {
		return memory.ErrScript
	}
	b := &s.busy
	if b.watched != b.command {
		b.watched, b.started, b.announced = b.command, now(), false
		return ""
	}
	threshold := time.Duration(s.number("busy-reply-threshold", 5000)) * time.Millisecond
	if threshold <= 0 || now().Sub(b.started) < threshold {
		return ""
	}
	if !b.announced {
		b.announced = true
		s.cfg.Log(LevelWarning, "Slow script detected: still in execution after "+
			threshold.String()+". You can try killing the script using the SCRIPT KILL command.")
	}
	s.gate.letIn()
	if s.others != nil {
		s.others()
	}
	return ""
}
