package engine

import (
	"minikv/internal/resp"
)

// Writing all data to a file. A node has no disk: the shell writes what the node
// gives it, in the format that redis-server loads, and nothing is ever read back.

var saveCommands = []Command{
	{Name: "BGREWRITEAOF", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading, Run: runBgRewriteAOF},
	{Name: "BGSAVE", Arity: -1, Flags: Admin | NoScript | NoAsyncLoading, Run: runBgSave},
	{Name: "LASTSAVE", Arity: 1, Flags: Loading | Stale | Fast, Groups: "admin dangerous", Run: runLastSave},
	{Name: "SAVE", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, Run: runSave},
}

// runSave is SAVE.
func runSave(c *Call) resp.Value {
	if !c.Node.save() {
		return resp.Err("ERR")
	}
	return resp.OK
}

// runBgSave is BGSAVE [SCHEDULE]. The file is complete before the reply is sent.
func runBgSave(c *Call) resp.Value {
	if len(c.Args) > 1 && (len(c.Args) > 2 || !is(c.Args[1], "SCHEDULE")) {
		return resp.Err(errSyntax)
	}
	if !c.Node.save() {
		return resp.Err("ERR")
	}
	c.Node.stats.forks++
	return c.inBackground("saving")
}

// runLastSave is LASTSAVE: when data was last saved, or the node started.
func runLastSave(c *Call) resp.Value { return resp.Int(c.Node.lastSave()) }

// runBgRewriteAOF is BGREWRITEAOF: there is no log of commands that could be
// written anew. Where DEBUG is allowed, the data is kept for its LOADAOF.
func runBgRewriteAOF(c *Call) resp.Value {
	n := c.Node
	n.stats.rewrites++
	n.stats.forks++
	if n.conf.debug {
		n.rewritten = n.keys.Snapshot()
	}
	return c.inBackground("append only file rewriting")
}

// inBackground tells that something is done in the background, which in a transaction
// begins after it.
func (c *Call) inBackground(what string) resp.Value {
	if c.Node.depth > 1 {
		return resp.Simple("Background " + what + " scheduled")
	}
	return resp.Simple("Background " + what + " started")
}

// save has the shell write all data, and reports whether it could.
func (n *Node) save() bool {
	if n.cfg.Save != nil && n.cfg.Save(n.File()) != nil {
		return false
	}
	n.saved()
	n.stats.saves++
	return true
}

// saved notes that there are no changes since the latest save, which was just now.
func (n *Node) saved() {
	n.stats.dirty = 0
	n.savedAt = n.unixSeconds()
}

// lastSave is the Unix second of the latest save, or of the start.
func (n *Node) lastSave() int64 {
	if n.savedAt == 0 {
		return n.unixSeconds() - n.seconds()
	}
	return n.savedAt
}
