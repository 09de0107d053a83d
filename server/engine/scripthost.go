package engine

import (
	"strings"
	"time"

	"minikv/internal/resp"
	"minikv/luaengine"
)

// scriptHost is the node as the running script sees it.
type scriptHost struct {
	node     *Node
	session  *Session // who called the script
	readOnly bool     // EVAL_RO, or the script's own no-writes flag
	inTx     bool
	declared bool // the script has a shebang line
	slot     int  // cluster: the only slot it may use; -1: not known yet
	wrote    bool // it has changed something: it can no longer be killed
	running  bool
	killed   bool   // by SCRIPT KILL
	failure  string // the latest error that a call of the script met, or ""
}

// runScript runs a script for the calling client. What the script did stays
// done if it fails.
func (c *Call) runScript(script *luaengine.Script, keys, argv [][]byte) resp.Value {
	n := c.Node
	header := script.Header()
	if bad := c.scriptRefusal(header); bad != "" {
		return resp.Err(bad)
	}
	h := &n.scripts.host
	*h = scriptHost{
		node: n, session: c.Session, inTx: c.InTx, running: true, slot: -1, declared: header.Present,
		readOnly: c.Cmd.Flags&ReadOnly != 0 || header.Flags&luaengine.NoWrites != 0,
	}
	if len(keys) > 0 && n.cfg.Topology != nil {
		h.slot = slotOf(keys)
	}
	db := c.Session.DB
	n.keys.Freeze(n.nowMillis())
	reply := n.cfg.Lua.Run(script, h, keys, argv, luaengine.RunOptions{})
	n.keys.Thaw()
	c.Session.DB = db
	h.running, n.effects.muted = false, false
	c.counted = h.failure != "" && strings.HasPrefix(reply.Str, h.failure)
	return reply
}

// scriptRefusal is why a script may not run now, or "". Scripts without a
// shebang line may begin to run and are refused command by command.
// Source: evalGetCommandFlags and scriptPrepareForRun of Redis 7.0.
func (c *Call) scriptRefusal(header luaengine.Header) string {
	n := c.Node
	writes := header.Present && header.Flags&luaengine.NoWrites == 0
	switch {
	case c.Session.internal:
		return ""
	case header.Flags&luaengine.NoCluster != 0 && n.cfg.Topology != nil:
		return "ERR Can not run script on cluster, 'no-cluster' flag is set."
	case writes && n.repl.isReplica() && !n.conf.writable:
		return errReadOnly
	case writes && n.lacksReplicas():
		return errNoReplicas
	case n.stale() && header.Flags&luaengine.AllowStale == 0:
		return errMasterDown
	case writes && c.Cmd.Flags&ReadOnly != 0:
		return "ERR Can not execute a script with write flag using *_ro command."
	}
	return ""
}

// Call runs one command of the script.
func (h *scriptHost) Call(handle luaengine.Handle, args [][]byte, proto int) resp.Value {
	n := h.node
	var cmd *Command
	if handle != luaengine.NoCommand {
		cmd, _ = table[handle].resolve(args)
	}
	if bad := h.refusal(cmd, args); bad != "" {
		n.stats.reject(cmd, bad)
		h.failure = bad
		return resp.Err(bad)
	}
	c := n.push(h.session)
	c.Cmd, c.Args, c.Proto, c.Script, c.InTx = cmd, args, proto, true, h.inTx
	reply := c.execute()
	h.wrote = h.wrote || c.changes > 0
	if reply.Kind == resp.Error {
		h.failure = reply.Str
	}
	n.pop()
	return reply
}

// refusal is why the script may not call a command (nil: there is none of
// that name), or "".
// Source: scriptCall of Redis 7.0.
func (h *scriptHost) refusal(cmd *Command, args [][]byte) string {
	n := h.node
	switch {
	case cmd == nil:
		return errScriptUnknown
	case !cmd.accepts(len(args)):
		return errScriptArity
	case cmd.Flags&NoScript != 0:
		return errScriptDenied
	case cmd.Flags&Stale == 0 && n.stale():
		return "ERR Can not execute the command on a stale replica"
	case cmd.Flags&Write != 0:
		if bad := h.writeRefusal(); bad != "" {
			return bad
		}
	}
	if n.cfg.Topology != nil && !h.session.internal {
		return h.slotRefusal(cmd, args)
	}
	return ""
}

// writeRefusal is why the script may not write, or "".
func (h *scriptHost) writeRefusal() string {
	n := h.node
	switch {
	case h.readOnly:
		return errScriptRO
	case h.session.internal:
		return ""
	case n.repl.isReplica() && !n.conf.writable:
		return errReadOnly
	case n.lacksReplicas():
		return errNoReplicas
	}
	return ""
}

// slotRefusal keeps a script in a cluster to the keys of one slot of this node.
func (h *scriptHost) slotRefusal(cmd *Command, args [][]byte) string {
	keys, ok := cmd.keys(args)
	if !ok || len(keys) == 0 {
		return ""
	}
	c := &h.node.calls[h.node.depth]
	*c = Call{Node: h.node, Session: h.session, Cmd: cmd, Args: args}
	if c.routeKeys(keys, cmd) != "" {
		return "ERR Script attempted to access a non local key in a cluster node"
	}
	number := slotOf(keys)
	if h.declared && h.slot >= 0 && h.slot != number {
		return "ERR Script attempted to access keys that do not hash to the same slot"
	}
	h.slot = number
	return ""
}

// Limit is asked while the script runs: a non-empty text ends it.
func (h *scriptHost) Limit() string {
	if h.node.cfg.Limit == nil {
		return ""
	}
	if text := h.node.cfg.Limit(); text != "" {
		return text
	}
	if h.killed {
		return errScriptKilled
	}
	return ""
}

// Mono is the node's monotonic clock.
func (h *scriptHost) Mono() time.Duration { return h.node.cfg.Clock.Mono() }

// State is what scripts leave behind on the node.
func (h *scriptHost) State() *luaengine.State { return &h.node.scripts.state }

// Log passes redis.log on to the shell.
func (h *scriptHost) Log(level int, text string) {
	if h.node.cfg.Log != nil {
		h.node.cfg.Log(level, text)
	}
}

// SetRepl is redis.set_repl: without the replica flag, what follows is not propagated.
func (h *scriptHost) SetRepl(flags int) {
	const replicaFlag = 2
	h.node.effects.muted = flags&replicaFlag == 0
}

// CheckACL is redis.acl_check_cmd. The only user may do everything.
func (h *scriptHost) CheckACL([][]byte) bool { return true }
