package engine

import (
	"math"

	"minikv/internal/resp"
)

// Handlers answer the commands that concern other nodes. The key is the command's full
// name in lower case, such as "replicaof" or "cluster|nodes". The rows of these commands
// are in the table, with what a node without handlers answers. The handler of "psync"
// makes a replica the master, as PSYNC … FAILOVER asks.
type Handlers map[string]func(c *Call) resp.Value

// orAlone runs the node's handler for the command, or alone when it has none.
func orAlone(alone func(c *Call) resp.Value) func(c *Call) resp.Value {
	return func(c *Call) resp.Value {
		if handler := c.Node.cfg.Handlers[c.Cmd.full]; handler != nil {
			return handler(c)
		}
		return alone(c)
	}
}

// fillOrAlone is orAlone of a command that sets its reply.
func fillOrAlone(alone func(c *Call, reply *resp.Value)) func(c *Call, reply *resp.Value) {
	return func(c *Call, reply *resp.Value) {
		if handlers := c.Node.cfg.Handlers; handlers != nil {
			if handler := handlers[c.Cmd.full]; handler != nil {
				*reply = handler(c)
				return
			}
		}
		alone(c, reply)
	}
}

// Suspend leaves the session blocked until Resume answers it, and returns what the
// handler must return. ok is false where a command must not block: in transactions and
// scripts.
func (c *Call) Suspend() (v resp.Value, ok bool) {
	if !c.mayBlock() {
		return resp.Value{}, false
	}
	c.Node.block(c.Session, &blocked{deadline: math.MaxInt64, suspended: true})
	return resp.Value{}, true
}

// Resume answers a session that Suspend has left blocked. It does nothing if the session
// is no longer blocked in that way.
func (n *Node) Resume(s *Session, reply resp.Value) {
	if s.block == nil || !s.block.suspended {
		return
	}
	n.endWait(s, reply)
	n.accountEnd(s, nil, failureOf(&reply))
	n.settle(nil)
}
