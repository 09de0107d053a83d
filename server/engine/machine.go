package engine

import "time"

// Machine is what a shell needs of a node: its methods, which whatever is made of
// a node has as well. It is never called twice at once, but while Do runs a
// script, the script's limiter may let others call it from within.
type Machine interface {
	NewSession(addr string) *Session
	// Full is why no other client can be let in, or "". It counts who is sent away.
	Full() string
	Do(s *Session, cmd [][]byte)
	Tick()
	NextDeadline() (wait time.Duration, ok bool)
	Unblocked() *Session
	Dirty() []*Session
	Close(s *Session)
	// Parameter is the value of a redis.conf parameter, as CONFIG GET shows it,
	// or "".
	Parameter(name string) string
	// ShutdownRequested is what SHUTDOWN asked for, or nil.
	ShutdownRequested() *Shutdown
}

var _ Machine = (*Node)(nil)
