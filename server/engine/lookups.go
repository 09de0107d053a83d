package engine

import (
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// lookups says how many keys a command looks up that only reads.
type lookups uint8

const (
	noLookups lookups = iota // or none that is counted here, as of OBJECT
	oneLookup
	wholeLookup // one, and the reply tells whether the key is there
	valueLookup // one, which the keyspace remembers
	someLookups
	countedLookups // the reply is how many were there
)

// lookupsOf is how many keys cmd looks up.
func lookupsOf(cmd *Command) lookups {
	switch {
	case cmd.Flags&ReadOnly == 0 || cmd.uncounted || cmd.isReadOnlyEval() || cmd.specs == nil:
		return noLookups
	case cmd.Name == "EXISTS" || cmd.Name == "TOUCH":
		return countedLookups
	case cmd.Name == "GET", cmd.Name == "TTL", cmd.Name == "PTTL", cmd.Name == "EXPIRETIME", cmd.Name == "PEXPIRETIME":
		return wholeLookup
	case cmd.Name == "HGET", cmd.Name == "HEXISTS", cmd.Name == "ZSCORE", cmd.Name == "LINDEX":
		return valueLookup
	case cmd.firstKey > 0 && cmd.firstKey == cmd.lastKey:
		return oneLookup
	}
	return someLookups
}

// countLookups counts, after a command that reads, which of its keys were
// there, for keyspace_hits and keyspace_misses of INFO, and tells of the others
// by a keymiss event. It looks at the keys only where the reply does not tell.
// Source: lookupKey of Redis 7.0.
func (c *Call) countLookups(reply *resp.Value) {
	n := c.Node
	switch {
	case reply.Kind == resp.Error && !c.lookedUp(reply.Str):
		return
	case c.Cmd.lookups <= valueLookup && isSomething(reply):
		n.stats.hits++
		return
	case n.conf.notify&eventMiss != 0:
	case c.Cmd.lookups <= valueLookup:
		if c.foundKey(reply) {
			n.stats.hits++
		} else {
			n.stats.misses++
		}
		return
	case c.Cmd.lookups == countedLookups:
		n.stats.hits += reply.Int
		n.stats.misses += int64(len(c.Args)-1) - reply.Int
		return
	}
	refused := reply.Kind == resp.Error
	for _, key := range c.Cmd.keys(c.Args) {
		if kind := c.DB.LiveKind(key); kind != datastore.None {
			n.stats.hits++
			if refused && !c.reads(key, kind) {
				return // it did not look any further
			}
			continue
		}
		n.stats.misses++
		if n.conf.notify&eventMiss != 0 {
			n.notify(c.DB.Index(), "keymiss", string(key))
		}
	}
}

// reads reports whether a command that reads several keys can do so with the value of one,
// of a kind.
func (c *Call) reads(key []byte, kind datastore.Kind) bool {
	switch c.Cmd.Name[0] {
	case 'Z':
		return kind == datastore.ZSet || kind == datastore.Set
	case 'S':
		return kind == datastore.Set
	case 'X':
		return kind == datastore.Stream
	case 'P': // PFCOUNT
		_, _, bad := c.mergedRegisters([][]byte{key})
		return bad == ""
	}
	return kind == datastore.String
}

// lookedUp reports whether a command that failed had looked at its keys before:
// the error is about what it found there, or it looks before it reads its options.
func (c *Call) lookedUp(failure string) bool {
	code, _, _ := strings.Cut(failure, " ")
	switch {
	case code != "ERR" || failure == errNoKey:
		return true
	case strings.HasPrefix(c.Cmd.Name, "GEOSEARCH"), strings.HasPrefix(c.Cmd.Name, "GEORADIUS"):
		return true
	}
	switch c.Cmd.Name {
	case "BITCOUNT", "LCS", "LINDEX":
		return true
	case "BITPOS":
		bit := string(c.Args[2])
		return bit == "0" || bit == "1"
	case "ZDIFF", "ZINTER", "ZINTERCARD", "ZUNION":
		return failure != errNotInt // of how many keys there are
	case "HSCAN", "SSCAN", "ZSCAN":
		return failure != errCursor
	}
	return false
}

// foundKey reports whether a command that looks up one key has found it; its
// reply is nothing.
func (c *Call) foundKey(reply *resp.Value) bool {
	switch {
	case c.Cmd.lookups == valueLookup:
		return c.DB.Found()
	case c.Cmd.lookups == wholeLookup && reply.Kind != resp.Error:
		return !reply.IsNil() && (reply.Kind != resp.Integer || reply.Int != ttlNoKey)
	}
	return c.DB.Exists(c.Args[c.Cmd.firstKey])
}

// isSomething reports whether a reply shows that there was a key to read. One that does
// not may be about a missing key as well as about one with little in it.
func isSomething(reply *resp.Value) bool {
	switch reply.Kind {
	case resp.Integer:
		return reply.Int > 0
	case resp.Bulk:
		return reply.Str != ""
	case resp.Double:
		return true
	case resp.Array, resp.Map, resp.Set: // what comes first may be the cursor of a scan
		n := len(reply.List)
		return n > 0 && isSomething(&reply.List[n-1])
	}
	return false
}
