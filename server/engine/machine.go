package engine

import "time"

// Machine is what a shell needs of a node; whatever is built around a node has these
// methods as well. It is never called twice at once, except that while Do runs a script,
// the script's limiter may let others call it from within.
type Machine interface {
	NewSession(addr string) *Session
	// Full returns why no other client can be let in, or "". A client that is sent away is
	// counted.
	Full() string
	Do(s *Session, cmd [][]byte)
	Tick()
	NextDeadline() (wait time.Duration, ok bool)
	Unblocked() *Session
	Dirty() []*Session
	Close(s *Session)
	// Parameter returns the value of a redis.conf parameter, as CONFIG GET shows it, or "".
	Parameter(name string) string
	// ShutdownRequested returns what SHUTDOWN asked for, or nil.
	ShutdownRequested() *Shutdown
}

var _ Machine = (*Node)(nil)
