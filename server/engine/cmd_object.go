package engine

import (
	"strings"
	"time"

	"minikv/datastore"
	"minikv/internal/resp"
)

// OBJECT and its subcommands, https://redis.io/docs/latest/commands/object/

var objectCommands = []Command{
	{Name: "ENCODING", Arity: 3, Flags: ReadOnly, Groups: "keyspace", uncounted: true, Run: runObjectEncoding},
	{Name: "FREQ", Arity: 3, Flags: ReadOnly, Groups: "keyspace", uncounted: true, Run: runObjectFreq},
	{Name: "IDLETIME", Arity: 3, Flags: ReadOnly, Groups: "keyspace", uncounted: true, Run: runObjectIdleTime},
	{Name: "REFCOUNT", Arity: 3, Flags: ReadOnly, Groups: "keyspace", uncounted: true, Run: runObjectRefCount},
	help("OBJECT", "keyspace", objectHelp),
}

const switching = " Please note that when switching between policies at runtime LRU and LFU data " +
	"will take some time to adjust."

// findsObject reports whether the key is there, and counts that; a key that is
// missed is no event.
func (c *Call) findsObject() bool {
	exists := c.DB.Exists(c.Args[2])
	if exists {
		c.Node.stats.hits++
	} else {
		c.Node.stats.misses++
	}
	return exists
}

// runObjectEncoding is OBJECT ENCODING key.
func runObjectEncoding(c *Call) resp.Value {
	c.findsObject()
	name := c.DB.Encoding(c.Args[2])
	return textReply(name, name != "", nil)
}

// runObjectFreq is OBJECT FREQ key, on a logarithmic scale from 0 to 255.
func runObjectFreq(c *Call) resp.Value {
	switch {
	case !c.findsObject():
		return resp.Null
	case !c.Node.tracksFrequency():
		return resp.Err("ERR An LFU maxmemory policy is not selected, access frequency not tracked." + switching)
	}
	return resp.Int(int64(c.DB.Uses(c.Args[2])))
}

// runObjectIdleTime is OBJECT IDLETIME key, in seconds.
func runObjectIdleTime(c *Call) resp.Value {
	switch {
	case !c.findsObject():
		return resp.Null
	case c.Node.tracksFrequency():
		return resp.Err("ERR An LFU maxmemory policy is selected, idle time not tracked." + switching)
	}
	return resp.Int(int64(c.DB.Idle(c.Args[2]) / time.Second))
}

func (n *Node) tracksFrequency() bool {
	return strings.HasSuffix(n.conf.get("maxmemory-policy"), "-lfu")
}

// runObjectRefCount is OBJECT REFCOUNT key.
func runObjectRefCount(c *Call) resp.Value {
	if !c.findsObject() {
		return resp.Null
	}
	return resp.Int(c.refCount(c.Args[2]))
}

// refCount is how often the value under key is referred to. Redis shares the
// integers up to 9999 unless they could be evicted, and but for those that COPY
// made.
func (c *Call) refCount(key []byte) int64 {
	const sharedIntegers, sharedCount = 10000, 1<<31 - 1
	if c.DB.Encoding(key) != "int" || c.DB.Copied(key) {
		return 1
	}
	text, _ := c.DB.PeekString(key)
	n, _ := datastore.ParseInteger(text)
	policy := c.Node.conf.get("maxmemory-policy")
	evicts := strings.HasSuffix(policy, "-lfu") || strings.HasSuffix(policy, "-lru")
	if n >= 0 && n < sharedIntegers && !(evicts && c.Node.conf.number("maxmemory") > 0) {
		return sharedCount
	}
	return 1
}
