package java

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
