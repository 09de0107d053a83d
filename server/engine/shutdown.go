package engine

import (
	"math"

	"minikv/internal/resp"
)

// Shutdown is what SHUTDOWN asked for; the shell acts on it.
type Shutdown struct {
	Save, NoSave, Now, Force bool
}

// ending is a shutdown that replicas are let catch up before, while writes wait.
// Source: prepareForShutdown and cancelShutdown of Redis 7.0.
type ending struct {
	request *Shutdown  // nil: there is none
	until   int64      // Unix milliseconds: when it no longer waits
	callers []*Session // of SHUTDOWN
}

// ShutdownRequested returns what SHUTDOWN asked for. It returns nil if nothing was asked,
// and as long as SHUTDOWN waits for replicas.
func (n *Node) ShutdownRequested() *Shutdown {
	if e := &n.ending; e.request != nil && (n.nowMillis() >= e.until || n.replicasHaveAll()) {
		n.shutdown, n.ending = e.request, ending{}
	}
	return n.shutdown
}

// replicasHaveAll reports whether every replica has acknowledged all that there is.
// Source: isReadyToShutdown of Redis 7.0.
func (n *Node) replicasHaveAll() bool {
	for _, r := range n.repl.replicas {
		if r.Offset != n.repl.offset {
			return false
		}
	}
	return true
}

// end is SHUTDOWN. While it waits its callers do, and another one changes nothing.
func (c *Call) end(request Shutdown) resp.Value {
	n := c.Node
	if e := &n.ending; e.request == nil {
		seconds := n.conf.number("shutdown-timeout")
		if request.Now || seconds == 0 || n.replicasHaveAll() {
			n.shutdown = &request
			return resp.Value{}
		}
		e.request, e.until = &request, n.nowMillis()+1000*seconds
		n.Pause(PausedByShutdown, math.MaxInt64, false)
	}
	n.ending.callers = append(n.ending.callers, c.Session)
	waits, _ := c.Suspend()
	return waits
}

// abortEnd is SHUTDOWN ABORT.
func (n *Node) abortEnd() resp.Value {
	e := n.ending
	if e.request == nil {
		return resp.Err("ERR No shutdown in progress.")
	}
	n.ending = ending{}
	n.Unpause(PausedByShutdown)
	for _, s := range e.callers {
		n.Resume(s, resp.Err("ERR Errors trying to SHUTDOWN. Check logs."))
	}
	return resp.OK
}
