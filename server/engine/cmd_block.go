package engine

import (
	"bytes"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Lists and sorted sets as queues: commands that wait until there is something
// to take. Each serves the client that has waited longest (blocking.go), and
// reaches replicas as its relative that does not wait.

var blockingCommands = []Command{
	{Name: "BLMOVE", Arity: 6, Flags: Write | DenyOOM | NoScript | Blocking, Groups: "list", Run: runBLMove},
	{Name: "BLMPOP", Arity: -5, Flags: Write | Blocking, Groups: "list", Run: runBLMPop},
	{Name: "BLPOP", Arity: -3, Flags: Write | NoScript | Blocking, Groups: "list", Run: runBLPop},
	{Name: "BRPOP", Arity: -3, Flags: Write | NoScript | Blocking, Groups: "list", Run: runBRPop},
	{Name: "BRPOPLPUSH", Arity: 4, Flags: Write | DenyOOM | NoScript | Blocking, Groups: "list", Run: runBRPopLPush},
	{Name: "BZMPOP", Arity: -5, Flags: Write | Blocking, Groups: "sortedset", Run: runBZMPop},
	{Name: "BZPOPMAX", Arity: -3, Flags: Write | NoScript | Blocking | Fast, Groups: "sortedset", Run: runBZPopMax},
	{Name: "BZPOPMIN", Arity: -3, Flags: Write | NoScript | Blocking | Fast, Groups: "sortedset", Run: runBZPopMin},
}

// runBLPop is BLPOP key [key ...] timeout, in seconds.
func runBLPop(c *Call) resp.Value { return blockingPop(c, datastore.Head, "LPOP") }

// runBRPop is BRPOP key [key ...] timeout, in seconds.
func runBRPop(c *Call) resp.Value { return blockingPop(c, datastore.Tail, "RPOP") }

func blockingPop(c *Call, end datastore.End, plain string) resp.Value {
	last := len(c.Args) - 1
	timeout, bad := blockTimeout(c.Args[last])
	if bad != "" {
		return resp.Err(bad)
	}
	keys := c.Args[1:last]
	for _, key := range c.candidates(keys) {
		n, err := c.DB.ListLen(key)
		if err != nil {
			return failed(err)
		}
		if n > 0 {
			texts, err := popElements(c, key, end, 1)
			if err != nil {
				return failed(err)
			}
			if c.Again {
				c.Amounts(0) // as Redis counts
			}
			c.Replicate([]byte(plain), key)
			return resp.List(resp.Str(string(key)), texts[0])
		}
	}
	return c.Block(datastore.List, keys, timeout, resp.NullList)
}

// runBZPopMin is BZPOPMIN key [key ...] timeout, in seconds.
func runBZPopMin(c *Call) resp.Value { return blockingZPop(c, false, "ZPOPMIN") }

// runBZPopMax is BZPOPMAX key [key ...] timeout, in seconds.
func runBZPopMax(c *Call) resp.Value { return blockingZPop(c, true, "ZPOPMAX") }

func blockingZPop(c *Call, highest bool, plain string) resp.Value {
	last := len(c.Args) - 1
	timeout, bad := blockTimeout(c.Args[last])
	if bad != "" {
		return resp.Err(bad)
	}
	keys := c.Args[1:last]
	for _, key := range c.candidates(keys) {
		members, err := popMembers(c, key, highest, 1)
		if err != nil {
			return failed(err)
		}
		if len(members) > 0 {
			c.Replicate([]byte(plain), key)
			return resp.List(resp.Str(string(key)), resp.Str(members[0].Name), resp.Float(members[0].Score))
		}
	}
	return c.Block(datastore.ZSet, keys, timeout, resp.NullList)
}

// runBLMPop is BLMPOP timeout numkeys key [key ...] LEFT|RIGHT [COUNT n].
func runBLMPop(c *Call) resp.Value {
	return blockingMPop(c, datastore.List, "LEFT", "RIGHT", popLists)
}

// runBZMPop is BZMPOP timeout numkeys key [key ...] MIN|MAX [COUNT n].
func runBZMPop(c *Call) resp.Value {
	return blockingMPop(c, datastore.ZSet, "MIN", "MAX", popSortedSets)
}

func blockingMPop(
	c *Call, kind datastore.Kind, one, other string, pop func(*Call, popOptions) resp.Value,
) resp.Value {
	opt, bad := parsePop(c.Args[2:], one, other)
	if bad != "" {
		return resp.Err(bad)
	}
	timeout, bad := blockTimeout(c.Args[1])
	if bad != "" {
		return resp.Err(bad)
	}
	keys := opt.keys
	opt.keys = c.candidates(keys)
	if reply := pop(c, opt); !reply.IsNil() {
		return reply
	}
	return c.Block(kind, keys, timeout, resp.NullList)
}

// runBLMove is BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout.
func runBLMove(c *Call) resp.Value {
	from, okFrom := parseEnd(c.Args[3])
	to, okTo := parseEnd(c.Args[4])
	if !okFrom || !okTo {
		return resp.Err(errSyntax)
	}
	effect := [][]byte{[]byte("LMOVE"), c.Args[1], c.Args[2], c.Args[3], c.Args[4]}
	if c.Again { // in Redis's own words
		effect[3], effect[4] = bytes.ToLower(effect[3]), bytes.ToLower(effect[4])
	}
	return blockingMove(c, from, to, effect)
}

// runBRPopLPush is BRPOPLPUSH source destination timeout.
func runBRPopLPush(c *Call) resp.Value {
	return blockingMove(c, datastore.Tail, datastore.Head, [][]byte{[]byte("RPOPLPUSH"), c.Args[1], c.Args[2]})
}

// blockingMove is BLMOVE once it is parsed; effect is what replicas are sent.
func blockingMove(c *Call, from, to datastore.End, effect [][]byte) resp.Value {
	timeout, bad := blockTimeout(c.Args[len(c.Args)-1])
	if bad != "" {
		return resp.Err(bad)
	}
	reply := move(c, from, to)
	switch {
	case reply.Kind == resp.Error:
		return reply
	case !reply.IsNil():
		c.Replicate(effect...)
		return reply
	case !c.mayBlock():
		return resp.Null
	}
	return c.Block(datastore.List, c.Args[1:2], timeout, resp.NullList)
}

// candidates are those of its keys that a command should look at: all at
// first, and only the one that has changed when it runs again.
func (c *Call) candidates(keys [][]byte) [][]byte {
	if c.Again {
		return [][]byte{c.Ready}
	}
	return keys
}
