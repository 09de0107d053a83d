package engine

import (
	"math"

	"minikv/datastore"
	"minikv/internal/resp"
)

// String commands, https://redis.io/docs/latest/commands/?group=string

var stringCommands = []Command{
	{Name: "APPEND", Arity: 3, Flags: Write | DenyOOM | Fast, Groups: "string", Run: runAppend},
	{Name: "DECR", Arity: 2, Flags: Write | DenyOOM | Fast, Groups: "string", Fill: runDecr},
	{Name: "DECRBY", Arity: 3, Flags: Write | DenyOOM | Fast, Groups: "string", Fill: runDecrBy},
	{Name: "GET", Arity: 2, Flags: ReadOnly | Fast, Groups: "string", Fill: runGet},
	{Name: "GETDEL", Arity: 2, Flags: Write | Fast, Groups: "string", Run: runGetDel},
	{Name: "GETEX", Arity: -2, Flags: Write | Fast, Groups: "string", Run: runGetEx},
	{Name: "GETRANGE", Arity: 4, Flags: ReadOnly, Groups: "string", Run: runGetRange},
	{Name: "GETSET", Arity: 3, Flags: Write | DenyOOM | Fast, Groups: "string", Run: runGetSet},
	{Name: "INCR", Arity: 2, Flags: Write | DenyOOM | Fast, Groups: "string", Fill: runIncr},
	{Name: "INCRBY", Arity: 3, Flags: Write | DenyOOM | Fast, Groups: "string", Fill: runIncrBy},
	{Name: "INCRBYFLOAT", Arity: 3, Flags: Write | DenyOOM | Fast, Groups: "string", Run: runIncrByFloat},
	{Name: "LCS", Arity: -3, Flags: ReadOnly, Groups: "string", Run: runLCS},
	{Name: "MGET", Arity: -2, Flags: ReadOnly | Fast, Groups: "string", Run: runMGet},
	{Name: "MSET", Arity: -3, Flags: Write | DenyOOM, Groups: "string", Run: runMSet},
	{Name: "MSETNX", Arity: -3, Flags: Write | DenyOOM, Groups: "string", Run: runMSetNX},
	{Name: "PSETEX", Arity: 4, Flags: Write | DenyOOM, Groups: "string", Fill: runPSetEx},
	{Name: "SET", Arity: -3, Flags: Write | DenyOOM, Groups: "string", Fill: runSet},
	{Name: "SETEX", Arity: 4, Flags: Write | DenyOOM, Groups: "string", Fill: runSetEx},
	{Name: "SETNX", Arity: 3, Flags: Write | DenyOOM | Fast, Groups: "string", Fill: runSetNX},
	{Name: "SETRANGE", Arity: 4, Flags: Write | DenyOOM, Groups: "string", Run: runSetRange},
	{Name: "STRLEN", Arity: 2, Flags: ReadOnly | Fast, Groups: "string", Run: runStrLen},
	{Name: "SUBSTR", Arity: 4, Flags: ReadOnly, Groups: "string", Run: runGetRange},
}

const (
	errStringTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errOffset        = "ERR offset is out of range"
	errOverflow      = "ERR increment or decrement would overflow"
	errDecrOverflow  = "ERR decrement would overflow"
	errNaNOrInfinity = "ERR increment would produce NaN or Infinity"
)

// maxString is the longest string that a command may make, in bytes.
// Source: checkStringLength of Redis 7.0, which lets a master's commands pass.
func (c *Call) maxString() int64 {
	if c.Session.isLink() {
		return math.MaxInt64
	}
	return c.Node.conf.maxString
}

// runAppend is APPEND key value.
func runAppend(c *Call) resp.Value {
	key, tail := c.Args[1], c.Args[2]
	old, exists, err := c.DB.Length(key)
	if err != nil {
		return failed(err)
	}
	if exists && int64(old+len(tail)) > c.maxString() {
		return resp.Err(errStringTooLong)
	}
	n, err := c.DB.Append(key, tail)
	if err != nil {
		return failed(err)
	}
	c.Changed(key, "append")
	return resp.Int(int64(n))
}

// runIncr is INCR key.
func runIncr(c *Call, reply *resp.Value) { increase(c, reply, 1) }

// runDecr is DECR key.
func runDecr(c *Call, reply *resp.Value) { increase(c, reply, -1) }

// runIncrBy is INCRBY key increment.
func runIncrBy(c *Call, reply *resp.Value) {
	delta, ok := parseInt(c.Args[2])
	if !ok {
		*reply = resp.Err(errNotInt)
		return
	}
	increase(c, reply, delta)
}

// runDecrBy is DECRBY key decrement.
func runDecrBy(c *Call, reply *resp.Value) {
	delta, ok := parseInt(c.Args[2])
	if !ok {
		*reply = resp.Err(errNotInt)
		return
	}
	if delta == math.MinInt64 {
		*reply = resp.Err(errDecrOverflow)
		return
	}
	increase(c, reply, -delta)
}

// increase adds delta to the integer under the first key.
func increase(c *Call, reply *resp.Value, delta int64) {
	n, err := c.DB.IncrBy(c.Args[1], delta)
	if err != nil {
		*reply = failed(err)
		return
	}
	c.Changed(c.Args[1], "incrby")
	reply.SetInt(n)
}

// runIncrByFloat is INCRBYFLOAT key increment, replicated as a SET of the sum.
func runIncrByFloat(c *Call) resp.Value {
	key := c.Args[1]
	old, exists, err := c.DB.String(key)
	if err != nil {
		return failed(err)
	}
	if !exists {
		old = "0"
	}
	sum, bad := addLongDoubles(old, c.Args[2], errNotFloat)
	if bad != "" {
		return resp.Err(bad)
	}
	c.DB.SetNumberText(key, []byte(sum))
	c.Changed(key, "incrbyfloat")
	c.Replicate([]byte("SET"), key, []byte(sum), []byte("KEEPTTL"))
	return resp.Str(sum)
}

// runGet is GET key.
func runGet(c *Call, reply *resp.Value) {
	text, ok, err := c.DB.String(c.Args[1])
	setText(reply, text, ok, err)
}

// runGetDel is GETDEL key.
func runGetDel(c *Call) resp.Value {
	key := c.Args[1]
	text, ok, err := c.DB.String(key)
	if ok || err == nil && c.DB.Kept(key) { // also one that is hidden
		c.DB.Remove(key)
		c.Changed(key, "del")
		c.Replicate(c.Node.deletion("lazyfree-lazy-user-del"), key)
	}
	return textReply(text, ok, err)
}

// runGetEx is GETEX key [EX s|PX ms|EXAT s|PXAT ms|PERSIST]. It reaches
// replicas as what it does to the deadline.
func runGetEx(c *Call) resp.Value {
	opt, bad := parseSetOptions(c.Args[2:], true)
	if bad != "" {
		return resp.Err(bad)
	}
	key := c.Args[1]
	text, ok, err := c.DB.String(key)
	if !ok {
		return textReply(text, ok, err)
	}
	deadline, bad := opt.deadline(c)
	if bad != "" {
		return resp.Err(bad)
	}
	switch {
	case opt.persist:
		if persist(c, key) {
			c.Replicate([]byte("PERSIST"), key)
		}
	case opt.absolute() && alreadyPast(c, deadline):
		c.DB.Delete(key)
		c.Changed(key, "del")
		c.Replicate(c.Node.deletion("lazyfree-lazy-expire"), key)
	case opt.unit != "":
		c.DB.SetDeadline(key, deadline)
		c.Changed(key, "expire")
		c.ReplicateDeadline(key, deadline)
	}
	return resp.Str(text)
}

// runGetRange is GETRANGE key start end; SUBSTR is its old name. Unlike the
// ranges of lists, an end before the first byte means the first byte.
func runGetRange(c *Call) resp.Value {
	start, okStart := parseInt(c.Args[2])
	end, okEnd := parseInt(c.Args[3])
	if !okStart || !okEnd {
		return resp.Err(errNotInt)
	}
	length, _, err := c.DB.Length(c.Args[1])
	if err != nil {
		return failed(err)
	}
	if start < 0 && end < 0 && start > end {
		return resp.Str("")
	}
	if end < 0 {
		end = max(0, end+int64(length))
	}
	from, to := clampRange(start, end, length)
	return resp.Str(c.DB.Part(c.Args[1], from, to))
}

// runGetSet is GETSET key value, replicated as SET.
func runGetSet(c *Call) resp.Value {
	key := c.Args[1]
	old, ok, err := c.DB.String(key)
	if err != nil {
		return failed(err)
	}
	c.DB.SetString(key, c.Args[2], datastore.NoDeadline)
	c.Changed(key, "set")
	c.Replicate([]byte("SET"), key, c.Args[2])
	return textReply(old, ok, nil)
}

// runMGet is MGET key [key ...]; a key of another type reads as nil.
func runMGet(c *Call) resp.Value {
	texts := make([]resp.Value, 0, len(c.Args)-1)
	for _, key := range c.Args[1:] {
		text, ok, _ := c.DB.String(key)
		texts = append(texts, textReply(text, ok, nil))
	}
	return resp.List(texts...)
}

// runMSet is MSET key value [key value ...].
func runMSet(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return resp.Err(errArity("mset"))
	}
	setAll(c)
	return resp.OK
}

// runMSetNX is MSETNX key value [key value ...]: all or none.
func runMSetNX(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return resp.Err(errArity("msetnx"))
	}
	for i := 1; i < len(c.Args); i += 2 {
		if c.DB.Touch(c.Args[i]) {
			return resp.Zero
		}
	}
	setAll(c)
	return resp.One
}

// setAll sets the pairs that follow the command's name.
func setAll(c *Call) {
	for i := 1; i < len(c.Args); i += 2 {
		c.DB.SetString(c.Args[i], c.Args[i+1], datastore.NoDeadline)
		c.Changed(c.Args[i], "set")
	}
}

// runSet is SET key value [NX|XX] [GET] [KEEPTTL|EX s|PX ms|EXAT s|PXAT ms].
//
// It replies OK, or nil when NX or XX refuses; with GET, the old value or nil.
// A TTL of zero or less is an error, never an immediate expiry.
func runSet(c *Call, reply *resp.Value) {
	var opt setOptions
	switch {
	case len(c.Args) == 3:
	case len(c.Args) == 5 && is(c.Args[3], "PX"):
		opt.unit, opt.amount = "PX", c.Args[4]
	default:
		var bad string
		if opt, bad = parseSetOptions(c.Args[3:], false); bad != "" {
			*reply = resp.Err(bad)
			return
		}
	}
	set(c, reply, c.Args[1], c.Args[2], &opt)
}

// runSetEx is SETEX key seconds value.
func runSetEx(c *Call, reply *resp.Value) {
	set(c, reply, c.Args[1], c.Args[3], &setOptions{unit: "EX", amount: c.Args[2]})
}

// runPSetEx is PSETEX key milliseconds value.
func runPSetEx(c *Call, reply *resp.Value) {
	set(c, reply, c.Args[1], c.Args[3], &setOptions{unit: "PX", amount: c.Args[2]})
}

// runSetNX is SETNX key value.
func runSetNX(c *Call, reply *resp.Value) {
	set(c, reply, c.Args[1], c.Args[2], &setOptions{nx: true})
	if reply.IsNil() {
		reply.SetInt(0)
	} else {
		reply.SetInt(1)
	}
}

// set is what SET and its relatives do once they are parsed.
func set(c *Call, reply *resp.Value, key, text []byte, opt *setOptions) {
	deadline, bad := opt.deadline(c)
	if bad != "" {
		*reply = resp.Err(bad)
		return
	}
	reply.SetNil()
	if opt.get {
		value, ok, err := c.DB.String(key)
		setText(reply, value, ok, err)
		if err != nil {
			return
		}
	}
	if opt.nx || opt.xx {
		if c.DB.Touch(key) == opt.nx {
			return
		}
	}
	c.DB.SetString(key, text, deadline)
	c.Changed(key, "set")
	if opt.unit != "" {
		c.Notify(key, "expire")
	}
	opt.replicate(c, key, text, deadline)
	if !opt.get {
		reply.SetStatus("OK")
	}
}

// runSetRange is SETRANGE key offset value. An empty value changes nothing.
func runSetRange(c *Call) resp.Value {
	offset, ok := parseInt(c.Args[2])
	if !ok {
		return resp.Err(errNotInt)
	}
	if offset < 0 {
		return resp.Err(errOffset)
	}
	key, text := c.Args[1], c.Args[3]
	old, _, err := c.DB.Length(key)
	if err != nil {
		return failed(err)
	}
	if len(text) == 0 {
		return resp.Int(int64(old))
	}
	if offset > c.maxString()-int64(len(text)) {
		return resp.Err(errStringTooLong)
	}
	n, err := c.DB.SetRange(key, int(offset), text)
	if err != nil {
		return failed(err)
	}
	c.Changed(key, "setrange")
	return resp.Int(int64(n))
}

// runStrLen is STRLEN key.
func runStrLen(c *Call) resp.Value {
	n, _, err := c.DB.Length(c.Args[1])
	if err != nil {
		return failed(err)
	}
	return resp.Int(int64(n))
}
