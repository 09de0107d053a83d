package server

import (
	"time"

	"minikv/server/engine"
)

// Machine is what the shell needs of a node. It is never called by two
// goroutines at once, but while Do runs a script, the script's limiter may let
// others call it from within (see Config.Machine).
type Machine interface {
	NewSession(addr string) *engine.Session
	Do(s *engine.Session, cmd [][]byte)
	Tick()
	NextDeadline() (wait time.Duration, ok bool)
	Dirty() []*engine.Session
	Close(s *engine.Session)
	// Parameter is the value of a redis.conf parameter, as CONFIG GET shows it,
	// or "".
	Parameter(name string) string
	// ShutdownRequested is what SHUTDOWN asked for, or nil.
	ShutdownRequested() *engine.Shutdown
}
