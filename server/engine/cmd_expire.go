package engine

import (
	"math"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Commands about deadlines, https://redis.io/docs/latest/commands/?group=generic

var expireCommands = []Command{
	{Name: "EXPIRE", Arity: -3, Flags: Write | Fast, Keys: oneKey(1),
		Groups: "keyspace write fast", Run: runExpire},
	{Name: "EXPIREAT", Arity: -3, Flags: Write | Fast, Keys: oneKey(1),
		Groups: "keyspace write fast", Run: runExpireAt},
	{Name: "EXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey(1),
		Groups: "keyspace read fast", Run: runExpireTime},
	{Name: "PERSIST", Arity: 2, Flags: Write | Fast, Keys: oneKey(1),
		Groups: "keyspace write fast", Run: runPersist},
	{Name: "PEXPIRE", Arity: -3, Flags: Write | Fast, Keys: oneKey(1),
		Groups: "keyspace write fast", Run: runPExpire},
	{Name: "PEXPIREAT", Arity: -3, Flags: Write | Fast, Keys: oneKey(1),
		Groups: "keyspace write fast", Run: runPExpireAt},
	{Name: "PEXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey(1),
		Groups: "keyspace read fast", Run: runPExpireTime},
	{Name: "PTTL", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey(1),
		Groups: "keyspace read fast", Run: runPTTL},
	{Name: "TTL", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey(1),
		Groups: "keyspace read fast", Run: runTTL},
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
func runExpire(c *Call) resp.Value { return expire(c, 1000, c.NowMillis()) }

// runPExpire is PEXPIRE key milliseconds [NX|XX] [GT|LT].
func runPExpire(c *Call) resp.Value { return expire(c, 1, c.NowMillis()) }

// runExpireAt is EXPIREAT key unix-seconds [NX|XX] [GT|LT].
func runExpireAt(c *Call) resp.Value { return expire(c, 1000, 0) }

// runPExpireAt is PEXPIREAT key unix-milliseconds [NX|XX] [GT|LT].
func runPExpireAt(c *Call) resp.Value { return expire(c, 1, 0) }

// expire gives the first key the deadline base (Unix milliseconds) plus the
// amount given, in units of milliseconds. A deadline that is past deletes it.
// Source: expireGenericCommand of Redis 7.0.
func expire(c *Call, unit, base int64) resp.Value {
	opt, bad := parseExpireOptions(c.Args[3:])
	if bad != "" {
		return resp.Err(bad)
	}
	amount, ok := parseInt(c.Args[2])
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	if unit != 1 {
		least, most = least/unit, most/unit
	}
	switch {
	case !ok:
		return resp.Err(errNotInt)
	case amount > most || amount < least || amount*unit > math.MaxInt64-base:
		return resp.Err(errExpireTime(c))
	}
	key, deadline := c.Args[1], base+amount*unit
	old, exists := c.DB.Deadline(key)
	if !exists || opt.refuses(old, deadline) {
		return resp.Zero
	}
	if alreadyPast(c, deadline) {
		c.DB.Delete(key)
		c.Changed(key, "del")
		c.Replicate([]byte("DEL"), key)
		return resp.One
	}
	c.DB.SetDeadline(key, max(0, deadline))
	c.Changed(key, "expire")
	c.ReplicateDeadline(key, deadline)
	return resp.One
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
			return opt, oneLine([]byte("ERR Unsupported option " + string(clip(arg, len(arg)))))
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

// persist takes a key's deadline away and reports whether it had one.
func persist(c *Call, key []byte) bool {
	deadline, exists := c.DB.Deadline(key)
	if !exists || deadline == datastore.NoDeadline {
		return false
	}
	c.DB.SetDeadline(key, datastore.NoDeadline)
	c.Changed(key, "persist")
	c.Replicate([]byte("PERSIST"), key)
	return true
}

// runTTL is TTL key, in seconds, rounded.
func runTTL(c *Call) resp.Value { return deadlineReply(c, 1000, c.NowMillis()) }

// runPTTL is PTTL key, in milliseconds.
func runPTTL(c *Call) resp.Value { return deadlineReply(c, 1, c.NowMillis()) }

// runExpireTime is EXPIRETIME key, in seconds, rounded.
func runExpireTime(c *Call) resp.Value { return deadlineReply(c, 1000, 0) }

// runPExpireTime is PEXPIRETIME key, in milliseconds.
func runPExpireTime(c *Call) resp.Value { return deadlineReply(c, 1, 0) }

// deadlineReply is the first key's deadline, counted from base, in units of
// milliseconds.
func deadlineReply(c *Call, unit, base int64) resp.Value {
	deadline, exists := c.DB.Deadline(c.Args[1])
	switch {
	case !exists:
		return resp.Int(ttlNoKey)
	case deadline == datastore.NoDeadline:
		return resp.Int(ttlNoDeadline)
	}
	left := max(0, deadline-base)
	return resp.Int(left/unit + 2*(left%unit)/unit) // rounded, without overflow
}
