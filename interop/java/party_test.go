package java

import (
	"strconv"
	"time"
)

// party is a program that takes part. It does what it is told and returns the
// result as text. Requests of different threads do not wait for each other.
type party interface {
	name() string
	call(q request) (string, error)
}

// request is a line of the agent's protocol.
type request struct {
	thread, kind, key, verb, argument string
}

// number is the argument where it is one.
func (q request) number() int64 {
	n, err := strconv.ParseInt(q.argument, 10, 64)
	if err != nil {
		panic(err) // a contract's mistake
	}
	return n
}

// duration is the argument where it is milliseconds.
func (q request) duration() time.Duration { return time.Duration(q.number()) * time.Millisecond }
