package engine

import (
	"time"

	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/trace"
)

// scriptHost is the node as the running script sees it.
type scriptHost struct {
	node      *Node
	call      *Call         // the commands of the script, one after the other
	noWrites  string        // why the script may not write, or ""
	slot      int           // cluster: the only slot it may use; -1: not known yet
	stale     bool          // a replica out of touch, which must not answer from what it has
	function  string        // its name, "" for EVAL
	command   [][]byte      // the FCALL
	started   time.Duration // by the monotonic clock
	loading   bool          // it is a library that registers its functions
	allowsOOM bool          // it may write although there is no room
	oneSlot   bool          // cluster: it may use the keys of one slot only
	wrote     bool          // it has called a command that writes: it can no longer be killed
	running   bool
	killed    bool // by SCRIPT KILL
	plain     bool // nothing but the keyspace and the counters takes note of what it calls
}

// runScript runs a script for the calling client. What the script did stays
// done if it fails.
func (c *Call) runScript(reply *resp.Value, script *luaengine.Script, keys, argv [][]byte) {
	n := c.Node
	header := script.Header()
	if !c.plain || header.Present {
		if bad := c.scriptRefusal(header); bad != "" {
			*reply = resp.Err(bad)
			return
		}
	}
	db := c.Session.DB
	selected := c.DB
	if selected.Index() != db {
		selected = c.Session.db()
	}
	h := &n.scripts.host
	h.reset()
	h.node, h.call, h.running, h.slot = n, n.pushIn(c.Session, selected), true, -1
	h.oneSlot = header.Present && header.Flags&luaengine.AllowCrossSlotKeys == 0
	h.call.Script, h.call.InTx = true, c.InTx
	h.allowsOOM = header.Flags&luaengine.AllowOOM != 0
	if h.function = script.FunctionName(); h.function != "" {
		h.command, h.started = c.Args, n.cfg.Clock.Mono()
	}
	readOnly := c.Cmd.Flags&ReadOnly != 0 || header.Flags&luaengine.NoWrites != 0
	if !c.plain || readOnly {
		h.stale, h.noWrites = n.stale(), h.writeRefusal(readOnly)
	}
	h.look(c.plain)
	if len(keys) > 0 && n.cfg.Topology != nil {
		h.slot = slotOf(keys)
	}
	if n.cfg.Step != nil && n.cfg.Observe != nil {
		n.cfg.Observe(trace.Detail{What: trace.Script, Key: script.SHA(), Text: script.Text()})
	}
	transaction, inside := n.keys.Frozen() // whose instant is another one
	n.keys.Freeze(n.nowMillis())
	n.cfg.Lua.RunInto(reply, script, h, keys, argv, luaengine.RunOptions{Step: n.cfg.Step})
	n.keys.Thaw()
	if inside {
		n.keys.Freeze(transaction)
	}
	n.pop()
	c.Session.DB = db
	h.running, n.effects.muted = false, false
	switch reply.Kind {
	case resp.Error:
		if reply.Int == resp.Counted {
			c.counted = errorCounted
		}
	case resp.Array, resp.Map, resp.Set:
		c.countErrorsIn(reply.List)
	}
}

// countErrorsIn counts the errors in a list that a script replies, but for those that
// are counted already.
// Source: afterErrorReply of Redis 7.0.
func (c *Call) countErrorsIn(list []resp.Value) {
	stats := &c.Node.stats
	fresh := false
	for i := range list {
		switch v := &list[i]; {
		case v.Kind == resp.Error && v.Int == resp.Counted:
			stats.of(c.Cmd).failed++
		case v.Kind == resp.Error:
			stats.countError(v.Str)
			fresh = true
		case len(v.List) > 0:
			c.countErrorsIn(v.List)
		}
	}
	if fresh {
		stats.of(c.Cmd).failed++
	}
}

// reset forgets the script before.
func (h *scriptHost) reset() {
	// Member by member, because a literal would be made elsewhere and copied.
	h.noWrites, h.command, h.started = "", nil, 0
	h.stale, h.loading, h.wrote, h.killed = false, false, false, false
}

// scriptRefusal is why a script may not run now, or "". Scripts without a
// shebang line may begin to run and are refused command by command.
// Source: evalGetCommandFlags and scriptPrepareForRun of Redis 7.0.
func (c *Call) scriptRefusal(header luaengine.Header) string {
	n := c.Node
	writes := header.Present && header.Flags&luaengine.NoWrites == 0
	switch {
	case c.Session.isLink():
		return ""
	case header.Flags&luaengine.NoCluster != 0 && n.cfg.Topology != nil:
		return "ERR Can not run script on cluster, 'no-cluster' flag is set."
	case writes && n.refusesWrites() != "":
		return n.refusesWrites()
	case n.stale() && header.Flags&luaengine.AllowStale == 0:
		return errMasterDown
	case n.conf.maxMemory > 0 && n.outOfMemory && writes && header.Flags&luaengine.AllowOOM == 0:
		return errScriptOOM
	case writes && c.Cmd.Flags&ReadOnly != 0:
		return "ERR Can not execute a script with write flag using *_ro command."
	}
	return ""
}

// Call runs one command of the script.
func (h *scriptHost) Call(handle luaengine.Handle, args [][]byte, proto int, reply *resp.Value) {
	var cmd *Command
	if h.plain && uint(handle) < uint(len(table)) {
		cmd = &table[handle]
	}
	if cmd == nil || !cmd.plain || !cmd.accepts(len(args)) {
		h.callAny(handle, args, proto, reply)
		h.look(false) // the command may have changed the configuration
		return
	}
	// The shortest way: what scripts call is most of what a lock costs.
	h.wrote = h.wrote || cmd.Flags&Write != 0
	c := h.call
	c.Cmd, c.Args, c.Proto = cmd, args, proto
	if fill := cmd.Fill; fill != nil {
		fill(c, reply)
	} else {
		*reply = cmd.Run(c)
	}
	stats := &h.node.stats
	stats.commands++
	switch {
	case cmd.lookups == noLookups:
	case cmd.lookups <= valueLookup && (reply.Kind == resp.Integer && reply.Int > 0 || reply.Kind == resp.Bulk):
		stats.hits++
	default:
		c.countLookups(reply)
	}
	if reply.Kind == resp.Error {
		stats.count(c, reply.Str)
		return
	}
	stats.of(cmd).calls++
}

// look notes who takes note of what the script calls; known: nobody does but for
// what the script itself has said.
func (h *scriptHost) look(known bool) {
	n := h.node
	h.plain = !h.stale && h.noWrites == "" && (known || n.isPlain(h.call.Session))
	h.call.quiet = h.plain && n.watched == nil && n.blocking.keys == nil && !n.tracking.inUse() && n.conf.notify == 0
}

// isPlain reports whether for a script of s the shortest way does all that
// callAny does.
func (n *Node) isPlain(s *Session) bool {
	return n.monitors == nil && n.cfg.Observe == nil && n.tracking.clients == 0 && !n.repl.logging &&
		!n.repl.isReplica() && !n.conf.timesScripts && n.conf.maxMemory == 0 && n.cfg.Topology == nil && !s.user.restricted
}

// callAny calls any command, whoever takes note of it.
func (h *scriptHost) callAny(handle luaengine.Handle, args [][]byte, proto int, reply *resp.Value) {
	var cmd *Command
	if handle != luaengine.NoCommand {
		if cmd = &table[handle]; cmd.Sub != nil {
			cmd, _ = cmd.resolve(args)
		}
	}
	if bad := h.refusal(cmd, args); bad != "" {
		h.node.stats.reject(cmd, nil, bad)
		*reply = resp.Err(bad)
		return
	}
	h.wrote = h.wrote || cmd.Flags&Write != 0
	c := h.call
	c.next(cmd, args, proto)
	c.execute(reply)
	if c.DB.Index() != c.Session.DB {
		c.DB = c.Session.db()
	}
}

// next makes the call that of the next command of a script.
func (c *Call) next(cmd *Command, args [][]byte, proto int) {
	c.Cmd, c.Args, c.Proto = cmd, args, proto
	c.changes, c.replicated, c.forced = 0, false, false
}

// refusal is why the script may not call a command (nil: there is none of
// that name), or "".
// Source: scriptCall of Redis 7.0.
func (h *scriptHost) refusal(cmd *Command, args [][]byte) string {
	switch {
	case cmd == nil:
		return errScriptUnknown
	case !cmd.accepts(len(args)):
		return errScriptArity
	case cmd.Flags&NoScript != 0 && (!h.node.conf.scriptsCallAll || cmd.Flags&running == running):
		return errScriptDenied // of a script in a script Redis dies
	case h.stale && cmd.Flags&Stale == 0:
		return "ERR Can not execute the command on a stale replica"
	case h.call.Session.user.restricted:
		if bad := h.denied(cmd, args); bad != "" {
			return bad
		}
	}
	switch {
	case h.noWrites != "" && cmd.Flags&Write != 0, h.noWrites == errScriptRO && cmd.Flags&MayReplicate != 0:
		return h.noWrites
	case cmd.Flags&DenyOOM != 0 && h.lacksRoom():
		return errOOM
	case h.node.cfg.Topology != nil && !h.call.Session.isLink():
		return h.slotRefusal(cmd, args)
	}
	return ""
}

// lacksRoom reports whether the script began while there was no room for data; one
// that has called a command that writes goes on.
func (h *scriptHost) lacksRoom() bool {
	n := h.node
	return n.conf.maxMemory > 0 && n.outOfMemory && !h.wrote && !h.allowsOOM && !h.call.Session.isLink()
}

// writeRefusal is why the script may not write, or "". No command of a script
// can change it.
func (h *scriptHost) writeRefusal(readOnly bool) string {
	switch {
	case readOnly:
		return errScriptRO
	case h.call.Session.isLink():
		return ""
	}
	return h.node.refusesWrites()
}

// slotRefusal keeps a script in a cluster to the keys of one slot of this node.
func (h *scriptHost) slotRefusal(cmd *Command, args [][]byte) string {
	keys := cmd.keys(args)
	if len(keys) == 0 {
		return ""
	}
	c := h.call
	c.next(cmd, args, c.Proto)
	switch c.routeKeys(keys, cmd) {
	case "":
	case errClusterDown:
		return "ERR Script attempted to execute a command while the cluster is down"
	case errClusterRO:
		return "ERR Script attempted to execute a write command while the cluster is down and readonly"
	default:
		return "ERR Script attempted to access a non local key in a cluster node"
	}
	number := slotOf(keys)
	if h.oneSlot && h.slot >= 0 && h.slot != number {
		return "ERR Script attempted to access keys that do not hash to the same slot"
	}
	h.slot = number
	return ""
}

// longestLoad is how long the code of a library may run until its functions are
// registered.
const longestLoad = 500 * time.Millisecond

// Limit is asked while the script runs: a non-empty text ends it.
func (h *scriptHost) Limit() string {
	if h.loading {
		if h.Mono()-h.started > longestLoad {
			return "ERR FUNCTION LOAD timeout"
		}
		return ""
	}
	if h.node.cfg.Limit == nil {
		return ""
	}
	text := h.node.cfg.Limit() // others may send commands meanwhile
	h.look(false)
	if text != "" {
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

// denied is why the user who runs the script may not call a command, or "".
func (h *scriptHost) denied(cmd *Command, args [][]byte) string {
	c := h.call
	c.next(cmd, args, c.Proto)
	if why := c.checkAccess("lua"); why != allowed {
		return "ERR The user executing the script " + denialTexts[why].script
	}
	return ""
}

// CheckACL is redis.acl_check_cmd.
func (h *scriptHost) CheckACL(args [][]byte) (may, known bool) {
	cmd, _ := h.node.lookup(args)
	if cmd == nil {
		return false, false
	}
	why, _ := h.call.Session.user.denies(cmd, args)
	return why == allowed, true
}
