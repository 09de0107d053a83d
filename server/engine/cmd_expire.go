package engine

import (
	"math"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Commands about deadlines, https://redis.io/docs/latest/commands/?group=generic

var expireCommands = []Command{
	{Name: "EXPIRE", Arity: -3, Flags: Write | Fast, Groups: "keyspace", Fill: runExpire},
	{Name: "EXPIREAT", Arity: -3, Flags: Write | Fast, Groups: "keyspace", Fill: runExpireAt},
	{Name: "EXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Groups: "keyspace", Fill: runExpireTime},
	{Name: "PERSIST", Arity: 2, Flags: Write | Fast, Groups: "keyspace", Run: runPersist},
	{Name: "PEXPIRE", Arity: -3, Flags: Write | Fast, Groups: "keyspace", Fill: runPExpire},
	{Name: "PEXPIREAT", Arity: -3, Flags: Write | Fast, Groups: "keyspace", Fill: runPExpireAt},
	{Name: "PEXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Groups: "keyspace", Fill: runPExpireTime},
	{Name: "PTTL", Arity: 2, Flags: ReadOnly | Fast, Groups: "keyspace", Fill: runPTTL},
	{Name: "TTL", Arity: 2, Flags: ReadOnly | Fast, Groups: "keyspace", Fill: runTTL},
}

const (
	errExpireNX = "ERR NX and XX, GT or LT options at the same time are not compatible"
	errGTAndLT  = "ERR GT and LT options at the same time are not compatible"
)

const (
	ttlNoKey      = -2 // what TTL and EXPIRETIME reply for a missing key
	ttlNoDeadline = -1 // and for a key that does not expire
)

// expireOptions say when EXPIRE applies, by the deadline that the key has.
type expireOptions struct{ nx, xx, gt, lt bool }

// runExpire is EXPIRE key seconds [NX|XX] [GT|LT].
func runExpire(c *Call, reply *resp.Value) { expire(c, reply, 1000, c.NowMillis()) }

// runPExpire is PEXPIRE key milliseconds [NX|XX] [GT|LT].
func runPExpire(c *Call, reply *resp.Value) { expire(c, reply, 1, c.NowMillis()) }

// runExpireAt is EXPIREAT key unix-seconds [NX|XX] [GT|LT].
func runExpireAt(c *Call, reply *resp.Value) { expire(c, reply, 1000, 0) }

// runPExpireAt is PEXPIREAT key unix-milliseconds [NX|XX] [GT|LT].
func runPExpireAt(c *Call, reply *resp.Value) { expire(c, reply, 1, 0) }

// expire gives the first key the deadline base (Unix milliseconds) plus the
// amount given, in units of milliseconds. A deadline that is past deletes it.
// Source: expireGenericCommand of Redis 7.0.
func expire(c *Call, reply *resp.Value, unit, base int64) {
	var opt expireOptions
	if len(c.Args) > 3 {
		var bad string
		if opt, bad = parseExpireOptions(c.Args[3:]); bad != "" {
			*reply = resp.Err(bad)
			return
		}
	}
	amount, ok := parseInt(c.Args[2])
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	if unit != 1 {
		least, most = least/unit, most/unit
	}
	switch {
	case !ok:
		*reply = resp.Err(errNotInt)
		return
	case amount > most || amount < least || amount*unit > math.MaxInt64-base:
		*reply = resp.Err(errExpireTime(c))
		return
	}
	key, deadline := c.Args[1], base+amount*unit
	if opt != (expireOptions{}) {
		c.DB.Touch(key)
		if old, exists := c.DB.Deadline(key); !exists || opt.refuses(old, deadline) {
			reply.SetInt(0)
			return
		}
	}
	now := base
	if base == 0 {
		now = c.NowMillis()
	}
	if deadline <= now && !c.Node.repl.isReplica() {
		expireNow(c, reply, key)
		return
	}
	if !c.DB.SetDeadline(key, max(0, deadline)) {
		reply.SetInt(0)
		return
	}
	c.Changed(key, "expire")
	if !is(c.Args[0], "PEXPIREAT") { // that goes as it came
		c.ReplicateDeadline(key, deadline, c.Args[3:]...)
	}
	reply.SetInt(1)
}

// expireNow is what is left to do when the deadline is past: the key goes. A
// replica leaves that to its master.
func expireNow(c *Call, reply *resp.Value, key []byte) {
	if !c.DB.Delete(key) {
		reply.SetInt(0)
		return
	}
	c.Changed(key, "del")
	c.Replicate(c.Node.deletion("lazyfree-lazy-expire"), key)
	reply.SetInt(1)
}

// parseExpireOptions reads what follows the amount.
func parseExpireOptions(args [][]byte) (opt expireOptions, bad string) {
	for _, arg := range args {
		switch {
		case is(arg, "NX"):
			opt.nx = true
		case is(arg, "XX"):
			opt.xx = true
		case is(arg, "GT"):
			opt.gt = true
		case is(arg, "LT"):
			opt.lt = true
		default:
			return opt, oneLine([]byte("ERR Unsupported option " + resp.CString(arg)))
		}
	}
	switch {
	case opt.nx && (opt.xx || opt.gt || opt.lt):
		return opt, errExpireNX
	case opt.gt && opt.lt:
		return opt, errGTAndLT
	}
	return opt, ""
}

// refuses reports whether the options keep a key with an old deadline from
// getting a new one. No deadline counts as an infinite one.
func (o expireOptions) refuses(old, deadline int64) bool {
	none := old == datastore.NoDeadline
	return o.nx && !none || o.xx && none || o.gt && (none || deadline <= old) || o.lt && !none && deadline >= old
}

// alreadyPast reports whether a key that is given this deadline must be
// deleted at once. A replica leaves that to its master.
func alreadyPast(c *Call, deadline int64) bool {
	return deadline <= c.NowMillis() && !c.Node.repl.isReplica()
}

// runPersist is PERSIST key.
func runPersist(c *Call) resp.Value { return flagReply(persist(c, c.Args[1]), nil) }

// persist takes a key's deadline away and reports whether it had one. What replicas are
// told is the caller's matter.
func persist(c *Call, key []byte) bool {
	c.DB.Touch(key)
	deadline, exists := c.DB.Deadline(key)
	if !exists || deadline == datastore.NoDeadline {
		return false
	}
	c.DB.SetDeadline(key, datastore.NoDeadline)
	c.Changed(key, "persist")
	return true
}

// runTTL is TTL key, in seconds, rounded.
func runTTL(c *Call, reply *resp.Value) { tellDeadline(c, reply, 1000, c.NowMillis()) }

// runPTTL is PTTL key, in milliseconds.
func runPTTL(c *Call, reply *resp.Value) { tellDeadline(c, reply, 1, c.NowMillis()) }

// runExpireTime is EXPIRETIME key, in seconds, rounded.
func runExpireTime(c *Call, reply *resp.Value) { tellDeadline(c, reply, 1000, 0) }

// runPExpireTime is PEXPIRETIME key, in milliseconds.
func runPExpireTime(c *Call, reply *resp.Value) { tellDeadline(c, reply, 1, 0) }

// tellDeadline replies the first key's deadline, counted from base, in units of
// milliseconds.
func tellDeadline(c *Call, reply *resp.Value, unit, base int64) {
	deadline, exists := c.DB.Deadline(c.Args[1])
	switch {
	case !exists:
		reply.SetInt(ttlNoKey)
	case deadline == datastore.NoDeadline:
		reply.SetInt(ttlNoDeadline)
	default:
		left := max(0, deadline-base)
		reply.SetInt(left/unit + 2*(left%unit)/unit) // rounded, without overflow
	}
}
