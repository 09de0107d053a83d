package engine

import (
	"strconv"

	"minikv/internal/resp"
)

// Server commands, https://redis.io/docs/latest/commands/?group=server
// and, from group generic, WAIT.

var serverCommands = []Command{
	{Name: "TIME", Arity: 1, Flags: Loading | Stale | Fast, Groups: "fast", Run: runTime},
	{Name: "WAIT", Arity: 3, Flags: NoScript, Groups: "slow connection", Run: runWait},
}

// clusterCommands are those of a node without cluster support.
var clusterCommands = []Command{
	{Name: "READONLY", Arity: 1, Flags: Loading | Stale | Fast, Groups: "fast connection", Run: runReadOnly},
	{Name: "READWRITE", Arity: 1, Flags: Loading | Stale | Fast, Groups: "fast connection", Run: runReadWrite},
	{Name: "ASKING", Arity: 1, Flags: Fast, Groups: "fast connection", Run: runAsking},
}

// runTime is TIME: the running clock, in a script as well.
func runTime(c *Call) resp.Value {
	now := c.Node.cfg.Clock.Wall()
	return resp.List(
		resp.Str(strconv.FormatInt(now.Unix(), 10)),
		resp.Str(strconv.FormatInt(int64(now.Nanosecond()/1000), 10)),
	)
}

// runWait is WAIT numreplicas timeout, in milliseconds; 0 is for ever.
func runWait(c *Call) resp.Value {
	n, s := c.Node, c.Session
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
	acked := n.repl.acked(s.writtenTo)
	if acked >= wanted || c.InTx {
		return resp.Int(acked)
	}
	n.waitFor(s, wanted, timeout)
	return resp.Value{}
}

// runReadOnly is READONLY.
func runReadOnly(c *Call) resp.Value {
	return c.clusterOnly(func() { c.Session.readOnly = true })
}

// runReadWrite is READWRITE.
func runReadWrite(c *Call) resp.Value {
	return c.clusterOnly(func() { c.Session.readOnly = false })
}

// runAsking is ASKING.
func runAsking(c *Call) resp.Value {
	return c.clusterOnly(func() { c.Session.asking = true })
}

func (c *Call) clusterOnly(apply func()) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	apply()
	return resp.OK
}
