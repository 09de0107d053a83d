package engine

import (
	"minikv/internal/resp"
)

// Commands that reach over to another key or another database:
// COPY, MOVE and SWAPDB.

var databaseCommands = []Command{
	{Name: "COPY", Arity: -3, Flags: Write | DenyOOM, Groups: "keyspace", Run: runCopy},
	{Name: "MOVE", Arity: 3, Flags: Write | Fast, Groups: "keyspace", Run: runMove},
	{Name: "SWAPDB", Arity: 3, Flags: Write | Fast, Groups: "keyspace dangerous", Run: runSwapDB},
}

const (
	errDBIndex    = "ERR DB index is out of range"
	errSameObject = "ERR source and destination objects are the same"
)

// runCopy is COPY source destination [DB database] [REPLACE].
func runCopy(c *Call) resp.Value {
	from, to, database, replace := c.Args[1], c.Args[2], c.DB.Index(), false
	for args := c.Args[3:]; len(args) > 0; {
		switch {
		case is(args[0], "REPLACE"):
			replace = true
			args = args[1:]
		case is(args[0], "DB") && len(args) > 1:
			var bad string
			if database, bad = parseInt32(args[1], ""); bad == "" {
				bad = c.Node.checkDatabase(database)
			}
			if bad != "" {
				return resp.Err(bad)
			}
			args = args[2:]
		default:
			return resp.Err(errSyntax)
		}
	}
	target := c.Node.keys.DB(database)
	switch {
	case database != 0 && c.Node.cfg.Topology != nil:
		return resp.Err("ERR Copying to another database is not allowed in cluster mode")
	case target == c.DB && string(from) == string(to):
		return resp.Err(errSameObject)
	case !c.DB.Touch(from), target.Touch(to) && !replace:
		return resp.Zero
	}
	c.DB.Copy(from, target, to)
	c.ChangedIn(database, to, "copy_to")
	return resp.One
}

// runMove is MOVE key database.
func runMove(c *Call) resp.Value {
	key := c.Args[1]
	if c.Node.cfg.Topology != nil {
		return resp.Err("ERR MOVE is not allowed in cluster mode")
	}
	database, bad := parseInt32(c.Args[2], "")
	if bad == "" {
		bad = c.Node.checkDatabase(database)
	}
	if bad != "" {
		return resp.Err(bad)
	}
	target := c.Node.keys.DB(database)
	switch {
	case target == c.DB:
		return resp.Err(errSameObject)
	case !c.DB.Touch(key), target.Touch(key):
		return resp.Zero
	}
	c.DB.Move(key, target, key)
	c.Changed(key, "move_from")
	c.ChangedIn(database, key, "move_to")
	c.Amounts(0) // both are one change
	return resp.One
}

// runSwapDB is SWAPDB index1 index2.
func runSwapDB(c *Call) resp.Value {
	if c.Node.cfg.Topology != nil {
		return resp.Err("ERR SWAPDB is not allowed in cluster mode")
	}
	n := c.Node
	a, bad := parseInt32(c.Args[1], "ERR invalid first DB index")
	b, badSecond := parseInt32(c.Args[2], "ERR invalid second DB index")
	for _, next := range []string{badSecond, n.checkDatabase(a), n.checkDatabase(b)} {
		if bad == "" {
			bad = next
		}
	}
	if bad != "" {
		return resp.Err(bad)
	}
	c.ReplicateAnyway()
	n.stats.dirty++
	if a == b {
		return resp.OK
	}
	n.touchReplaced(n.keys.DB(a), n.keys.DB(b))
	n.touchReplaced(n.keys.DB(b), n.keys.DB(a))
	n.keys.SwapDB(a, b)
	n.readySwapped(a)
	n.readySwapped(b)
	return resp.OK
}

// checkDatabase is why a number is not that of a database, or "".
func (n *Node) checkDatabase(index int) (bad string) {
	if index < 0 || index >= n.keys.Databases() {
		return errDBIndex
	}
	return ""
}
