package engine

import (
	"strconv"

	"minikv/internal/resp"
)

// Server commands, https://redis.io/docs/latest/commands/?group=server
// and, from group generic, WAIT.

var serverCommands = []Command{
	{Name: "ACL", Arity: -2, Sub: aclCommands},
	{Name: "COMMAND", Arity: -1, Flags: Loading | Stale, Groups: "connection", Run: runCommand, Sub: commandCommands},
	{Name: "CONFIG", Arity: -2, Sub: configCommands},
	{Name: "DEBUG", Arity: -2, Flags: administering | Protected, Run: runDebug},
	{Name: "INFO", Arity: -1, Flags: Loading | Stale, Groups: "dangerous", Run: runInfo},
	{Name: "LATENCY", Arity: -2, Sub: latencyCommands},
	{Name: "LOLWUT", Arity: -1, Flags: ReadOnly | Fast, Run: runLolwut},
	{Name: "MEMORY", Arity: -2, Sub: memoryCommands},
	{Name: "MODULE", Arity: -2, Sub: moduleCommands},
	{Name: "ROLE", Arity: 1, Flags: NoScript | Loading | Stale | Fast, Groups: "admin dangerous", Run: runRole},
	{Name: "SHUTDOWN", Arity: -1, Flags: administering | NoMulti | AllowBusy, Run: runShutdown},
	{Name: "SLOWLOG", Arity: -2, Sub: slowlogCommands},
	{Name: "TIME", Arity: 1, Flags: Loading | Stale | Fast, Run: runTime},
	{Name: "WAIT", Arity: 3, Flags: NoScript, Groups: "connection", Run: runWait},
}

// runTime is TIME: the running clock, in a script as well.
func runTime(c *Call) resp.Value {
	now := c.Node.cfg.Clock.Wall()
	return resp.List(resp.Str(decimal(now.Unix())), resp.Str(decimal(int64(now.Nanosecond()/1000))))
}

// runRole is ROLE.
func runRole(c *Call) resp.Value {
	r := &c.Node.repl
	if r.isReplica() {
		offset := r.offset
		if r.link != LinkConnected {
			offset = -1
		}
		return resp.List(resp.Str("slave"), resp.Str(r.masterHost), resp.Int(int64(r.masterPort)),
			resp.Str(string(r.link)), resp.Int(offset))
	}
	replicas := []resp.Value{}
	for i := range r.replicas {
		if one := &r.replicas[i]; one.State == ReplicaOnline {
			replicas = append(replicas, resp.List(
				resp.Str(one.Host), resp.Str(decimal(int64(one.Port))), resp.Str(decimal(one.Offset))))
		}
	}
	return resp.List(resp.Str("master"), resp.Int(r.offset), resp.List(replicas...))
}

// runWait is WAIT numreplicas timeout, in milliseconds; 0 is for ever.
func runWait(c *Call) resp.Value {
	n := c.Node
	if n.repl.isReplica() {
		return resp.Err("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a " +
			"replica is configured to be writable (which is not the default) writes to replicas are just local " +
			"and are not propagated.")
	}
	wanted, ok := parseInt(c.Args[1])
	if !ok {
		return resp.Err(errNotInt)
	}
	timeout, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return resp.Err(errTimeoutInt)
	case timeout < 0:
		return resp.Err(errNegTimeout)
	}
	acked := n.repl.acked(c.Session.writtenTo)
	if acked >= wanted || c.InTx {
		return resp.Int(acked)
	}
	if wanted = int64(int32(wanted)); acked >= wanted {
		return resp.Int(acked) // who waits is kept with C's int
	}
	c.waitFor(wanted, timeout)
	return resp.Value{}
}

// runShutdown is SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]. The shell sees
// the request and ends the process; there is no reply.
func runShutdown(c *Call) resp.Value {
	var request Shutdown
	abort := false
	for _, arg := range c.Args[1:] {
		switch {
		case is(arg, "NOSAVE"):
			request.NoSave = true
		case is(arg, "SAVE"):
			request.Save = true
		case is(arg, "NOW"):
			request.Now = true
		case is(arg, "FORCE"):
			request.Force = true
		case is(arg, "ABORT"):
			abort = true
		default:
			return resp.Err(errSyntax)
		}
	}
	switch {
	case abort && request != Shutdown{}, request.Save && request.NoSave:
		return resp.Err(errSyntax)
	case abort:
		return c.Node.abortEnd()
	case !request.NoSave && c.Node.scripts.host.running:
		return resp.Err(c.Node.scripts.host.busy())
	}
	return c.end(request)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
