package engine

import (
	"minikv/internal/resp"
)

// Generic commands, https://redis.io/docs/latest/commands/?group=generic
// Those about deadlines are in cmd_expire.go.

var genericCommands = []Command{
	{Name: "DBSIZE", Arity: 1, Flags: ReadOnly | Fast, Groups: "keyspace", Run: runDBSize},
	{Name: "DEL", Arity: -2, Flags: Write, Groups: "keyspace", Fill: runDel},
	{Name: "EXISTS", Arity: -2, Flags: ReadOnly | Fast, Groups: "keyspace", Fill: runExists},
	{Name: "FLUSHALL", Arity: -1, Flags: Write, Groups: "keyspace dangerous", Run: runFlushAll},
	{Name: "FLUSHDB", Arity: -1, Flags: Write, Groups: "keyspace dangerous", Run: runFlushDB},
	{Name: "KEYS", Arity: 2, Flags: ReadOnly, Groups: "keyspace dangerous", Run: runKeys},
	{Name: "OBJECT", Arity: -2, Sub: objectCommands},
	{Name: "RANDOMKEY", Arity: 1, Flags: ReadOnly, anyKeys: true, Groups: "keyspace", Run: runRandomKey},
	{Name: "RENAME", Arity: 3, Flags: Write, Groups: "keyspace", Run: runRename},
	{Name: "RENAMENX", Arity: 3, Flags: Write | Fast, Groups: "keyspace", Run: runRenameNX},
	{Name: "TOUCH", Arity: -2, Flags: ReadOnly | Fast, Groups: "keyspace", Fill: runTouch},
	{Name: "TYPE", Arity: 2, Flags: ReadOnly | Fast, Groups: "keyspace", Run: runType},
	{Name: "UNLINK", Arity: -2, Flags: Write | Fast, Groups: "keyspace", Fill: runDel},
}

// runDBSize is DBSIZE.
func runDBSize(c *Call) resp.Value { return resp.Int(int64(c.DB.Len())) }

// runDel is DEL key [key ...]; UNLINK is the same here, but for what it counts.
func runDel(c *Call, reply *resp.Value) {
	removed := int64(0)
	lazy := c.Node.conf.lazyDel || c.Cmd.Name == "UNLINK"
	for _, key := range c.Args[1:] {
		if lazy && c.DB.FreeEffort(key) > lazyThreshold {
			c.Node.stats.lazyFreed++
		}
		if c.DB.Delete(key) || c.DB.Remove(key) { // also one that is hidden
			c.Changed(key, "del")
			removed++
		}
	}
	reply.SetInt(removed)
}

// lazyThreshold is the effort from which on redis-server frees a value elsewhere.
// Source: lazyfree.c of Redis 7.0.
const lazyThreshold = 64

// runExists is EXISTS key [key ...].
func runExists(c *Call, reply *resp.Value) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if c.DB.Exists(key) {
			n++
		}
	}
	reply.SetInt(n)
}

// runTouch is TOUCH key [key ...].
func runTouch(c *Call, reply *resp.Value) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if c.DB.Touch(key) {
			n++
		}
	}
	reply.SetInt(n)
}

// runFlushAll is FLUSHALL [ASYNC|SYNC].
func runFlushAll(c *Call) resp.Value {
	if !validFlush(c) {
		return resp.Err(errSyntax)
	}
	c.countLazyFlush(c.Node.keys.Len())
	c.Flush(-1)
	if c.Node.conf.get("save") != "" { // redis-server writes its file then
		c.Node.saved()
	}
	return resp.OK
}

// runFlushDB is FLUSHDB [ASYNC|SYNC].
func runFlushDB(c *Call) resp.Value {
	if !validFlush(c) {
		return resp.Err(errSyntax)
	}
	c.countLazyFlush(c.DB.Len())
	c.Flush(c.DB.Index())
	return resp.OK
}

// countLazyFlush counts the keys of a flush that redis-server frees elsewhere.
func (c *Call) countLazyFlush(keys int) {
	lazy := c.Node.conf.yes("lazyfree-lazy-user-flush")
	if len(c.Args) == 2 {
		lazy = is(c.Args[1], "ASYNC")
	}
	if lazy {
		c.Node.stats.lazyFreed += int64(keys)
	}
}

// validFlush reports whether the options of a flush are right; they choose how
// memory is freed.
func validFlush(c *Call) bool {
	return len(c.Args) == 1 || len(c.Args) == 2 && (is(c.Args[1], "ASYNC") || is(c.Args[1], "SYNC"))
}

// runKeys is KEYS pattern. Keys come in order of their creation.
func runKeys(c *Call) resp.Value {
	pattern := string(c.Args[1])
	found := []resp.Value{}
	for _, key := range c.DB.Keys() {
		if pattern == "*" || matchGlob(pattern, key) {
			found = append(found, resp.Str(key))
		}
	}
	return resp.List(found...)
}

// runRandomKey is RANDOMKEY.
func runRandomKey(c *Call) resp.Value {
	key, ok := c.DB.RandomKey(c.Random)
	return textReply(key, ok, nil)
}

// runRename is RENAME key newkey.
func runRename(c *Call) resp.Value {
	from, to := c.Args[1], c.Args[2]
	if !c.DB.Touch(from) {
		return resp.Err(errNoKey)
	}
	rename(c, from, to)
	return resp.OK
}

// runRenameNX is RENAMENX key newkey.
func runRenameNX(c *Call) resp.Value {
	from, to := c.Args[1], c.Args[2]
	if !c.DB.Touch(from) {
		return resp.Err(errNoKey)
	}
	if c.DB.Touch(to) {
		return resp.Zero
	}
	rename(c, from, to)
	return resp.One
}

// rename moves a key that is there; onto itself changes nothing.
func rename(c *Call, from, to []byte) {
	if string(from) == string(to) {
		return
	}
	c.DB.Rename(from, to)
	db := c.DB.Index()
	c.tell(db, from)
	c.tell(db, to)
	c.changedUntold(db, from, "rename_from")
	c.changedUntold(db, to, "rename_to")
	c.Amounts(0) // both are one change
}

// runType is TYPE key.
func runType(c *Call) resp.Value { return resp.Simple(c.DB.Kind(c.Args[1]).String()) }
