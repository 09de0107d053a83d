package engine

import (
	"errors"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Hash commands, https://redis.io/docs/latest/commands/?group=hash

var hashCommands = []Command{
	{Name: "HDEL", Arity: -3, Flags: Write | Fast, Groups: "hash", Fill: runHDel},
	{Name: "HEXISTS", Arity: 3, Flags: ReadOnly | Fast, Groups: "hash", Fill: runHExists},
	{Name: "HGET", Arity: 3, Flags: ReadOnly | Fast, Groups: "hash", Fill: runHGet},
	{Name: "HGETALL", Arity: 2, Flags: ReadOnly, Groups: "hash", Fill: runHGetAll},
	{Name: "HINCRBY", Arity: 4, Flags: Write | DenyOOM | Fast, Groups: "hash", Fill: runHIncrBy},
	{Name: "HINCRBYFLOAT", Arity: 4, Flags: Write | DenyOOM | Fast, Groups: "hash", Run: runHIncrByFloat},
	{Name: "HKEYS", Arity: 2, Flags: ReadOnly, Groups: "hash", Fill: runHKeys},
	{Name: "HLEN", Arity: 2, Flags: ReadOnly | Fast, Groups: "hash", Fill: runHLen},
	{Name: "HMGET", Arity: -3, Flags: ReadOnly | Fast, Groups: "hash", Run: runHMGet},
	{Name: "HMSET", Arity: -4, Flags: Write | DenyOOM | Fast, Groups: "hash", Run: runHMSet},
	{Name: "HRANDFIELD", Arity: -2, Flags: ReadOnly, Groups: "hash", Run: runHRandField},
	{Name: "HSET", Arity: -4, Flags: Write | DenyOOM | Fast, Groups: "hash", Fill: runHSet},
	{Name: "HSETNX", Arity: 4, Flags: Write | DenyOOM | Fast, Groups: "hash", Run: runHSetNX},
	{Name: "HSTRLEN", Arity: 3, Flags: ReadOnly | Fast, Groups: "hash", Run: runHStrLen},
	{Name: "HVALS", Arity: 2, Flags: ReadOnly, Groups: "hash", Fill: runHVals},
}

const (
	errHashNotInt   = "ERR hash value is not an integer"
	errHashNotFloat = "ERR hash value is not a float"
	errInfinite     = "ERR value is NaN or Infinity"
)

// runHDel is HDEL key field [field ...].
func runHDel(c *Call, reply *resp.Value) {
	key, removed := c.Args[1], 0
	for _, field := range c.Args[2:] {
		gone, err := c.DB.HashDelete(key, field)
		if err != nil {
			*reply = failed(err)
			return
		}
		if gone {
			removed++
		}
	}
	c.removed(key, "hdel", removed)
	reply.SetInt(int64(removed))
}

// removed tells of n elements taken from the value under key, and of the
// key if that was all of it.
func (c *Call) removed(key []byte, event string, n int) {
	if n > 0 {
		c.Changed(key, event)
		c.Amounts(n)
		notifyIfGone(c, key)
	}
}

// taken tells of n elements taken, as removed does, for those commands of Redis 7.0 that send
// the events first, which shows where they and invalidations come on one connection. What was
// pushed for a blocked client is taken from a list as a part of that push, which was told already.
// Source: listElementsRemoved and serveClientsBlockedOnListKey of Redis 7.0.
func (c *Call) taken(key []byte, event string, n int) {
	db := c.DB.Index()
	c.changedUntold(db, key, event)
	c.Amounts(n)
	notifyIfGone(c, key)
	if !c.Again {
		c.tell(db, key)
	}
}

// notifyIfGone sends the del event of a key that has lost its last element.
func notifyIfGone(c *Call, key []byte) {
	if c.Node.conf.notify != 0 && !c.DB.Exists(key) {
		c.Notify(key, "del")
	}
}

// runHExists is HEXISTS key field.
func runHExists(c *Call, reply *resp.Value) {
	_, ok, err := c.DB.HashGet(c.Args[1], c.Args[2])
	setFlag(reply, ok, err)
}

// runHGet is HGET key field.
func runHGet(c *Call, reply *resp.Value) {
	text, ok, err := c.DB.HashGet(c.Args[1], c.Args[2])
	setText(reply, text, ok, err)
}

// runHGetAll is HGETALL key.
func runHGetAll(c *Call, reply *resp.Value) {
	hashReply(c, reply, true, true)
	if reply.Kind == resp.Array {
		reply.Kind = resp.Map
	}
}

// runHKeys is HKEYS key.
func runHKeys(c *Call, reply *resp.Value) { hashReply(c, reply, true, false) }

// runHVals is HVALS key.
func runHVals(c *Call, reply *resp.Value) { hashReply(c, reply, false, true) }

// hashReply lists the fields of the hash, their values, or both in turn.
func hashReply(c *Call, reply *resp.Value, fields, values bool) {
	n, err := c.DB.HashLen(c.Args[1])
	if err != nil {
		*reply = failed(err)
		return
	}
	if fields && values {
		n *= 2
	}
	list := c.list(n)
	err = c.DB.HashEach(c.Args[1], func(field, text string) {
		if fields {
			list = append(list, resp.Str(field))
		}
		if values {
			list = append(list, resp.Str(text))
		}
	})
	if err != nil {
		*reply = failed(err)
		return
	}
	reply.SetList(list)
}

// runHIncrBy is HINCRBY key field increment.
func runHIncrBy(c *Call, reply *resp.Value) {
	delta, ok := parseInt(c.Args[3])
	if !ok {
		*reply = resp.Err(errNotInt)
		return
	}
	n, err := c.DB.HashIncrBy(c.Args[1], c.Args[2], delta)
	switch {
	case err == nil:
		c.Changed(c.Args[1], "hincrby")
		reply.SetInt(n)
	case errors.Is(err, datastore.ErrNotInteger):
		*reply = resp.Err(errHashNotInt)
	default:
		*reply = failed(err)
	}
}

// runHIncrByFloat is HINCRBYFLOAT key field increment, replicated as an HSET
// of the sum.
func runHIncrByFloat(c *Call) resp.Value {
	key, field := c.Args[1], c.Args[2]
	if delta, ok := parseLongDouble(c.Args[3]); !ok {
		return resp.Err(errNotFloat)
	} else if delta.IsInf() {
		return resp.Err(errInfinite)
	}
	old, exists, err := c.DB.HashGet(key, field)
	if err != nil {
		return failed(err)
	}
	if !exists {
		old = "0"
	}
	sum, bad := addLongDoubles(old, c.Args[3], errHashNotFloat)
	if bad != "" {
		return resp.Err(bad)
	}
	if _, err = c.DB.HashSet(key, field, []byte(sum)); err != nil {
		return failed(err)
	}
	c.Changed(key, "hincrbyfloat")
	c.Replicate([]byte("HSET"), key, field, []byte(sum))
	return resp.Str(sum)
}

// runHLen is HLEN key.
func runHLen(c *Call, reply *resp.Value) {
	n, err := c.DB.HashLen(c.Args[1])
	setCount(reply, n, err)
}

// runHMGet is HMGET key field [field ...].
func runHMGet(c *Call) resp.Value {
	texts := make([]resp.Value, 0, len(c.Args)-2)
	for _, field := range c.Args[2:] {
		text, ok, err := c.DB.HashGet(c.Args[1], field)
		if err != nil {
			return failed(err)
		}
		texts = append(texts, textReply(text, ok, nil))
	}
	return resp.List(texts...)
}

// runHMSet is HMSET key field value [field value ...].
func runHMSet(c *Call) resp.Value {
	var reply resp.Value
	runHSet(c, &reply)
	if reply.Kind == resp.Error {
		return reply
	}
	return resp.OK
}

// runHSet is HSET key field value [field value ...]. It replies how many
// fields are new.
func runHSet(c *Call, reply *resp.Value) {
	if len(c.Args)%2 != 0 {
		*reply = resp.Err(errArity(c.Cmd.full))
		return
	}
	key, created := c.Args[1], int64(0)
	for i := 2; i < len(c.Args); i += 2 {
		isNew, err := c.DB.HashSet(key, c.Args[i], c.Args[i+1])
		if err != nil {
			*reply = failed(err)
			return
		}
		if isNew {
			created++
		}
	}
	c.Changed(key, "hset")
	c.Amounts(len(c.Args)/2 - 1)
	reply.SetInt(created)
}

// runHSetNX is HSETNX key field value.
func runHSetNX(c *Call) resp.Value {
	key, field := c.Args[1], c.Args[2]
	_, exists, err := c.DB.HashGet(key, field)
	if err != nil {
		return failed(err)
	}
	if exists {
		return resp.Zero
	}
	if _, err = c.DB.HashSet(key, field, c.Args[3]); err != nil {
		return failed(err)
	}
	c.Changed(key, "hset")
	return resp.One
}

// runHStrLen is HSTRLEN key field.
func runHStrLen(c *Call) resp.Value {
	text, _, err := c.DB.HashGet(c.Args[1], c.Args[2])
	return countReply(len(text), err)
}

// runHRandField is HRANDFIELD key [count [WITHVALUES]].
func runHRandField(c *Call) resp.Value {
	key := c.Args[1]
	if len(c.Args) == 2 {
		n, err := c.DB.HashLen(key)
		if err != nil || n == 0 {
			return textReply("", false, err)
		}
		field, _ := c.DB.HashRandom(key, c.Random)
		return resp.Str(field)
	}
	count, withValues, bad := parseRandomCount(c.Args[2:], "WITHVALUES")
	if bad != "" {
		return resp.Err(bad)
	}
	pairs, bad := c.randomFields(key, count)
	if bad != "" {
		return resp.Err(bad)
	}
	list := make([]resp.Value, 0, 2*len(pairs))
	for _, pair := range pairs {
		field, text := resp.Str(pair[0]), resp.Str(pair[1])
		switch {
		case withValues && c.Proto == 3:
			list = append(list, resp.List(field, text))
		case withValues:
			list = append(list, field, text)
		default:
			list = append(list, field)
		}
	}
	return resp.List(list...)
}

// randomFields draws count fields of a hash with their texts, for a negative count with
// repetition.
func (c *Call) randomFields(key []byte, count int64) (pairs [][2]string, bad string) {
	n, err := c.DB.HashLen(key)
	if err != nil {
		return nil, errWrongType
	}
	if isFew(n, count) {
		few, ok := drawFew(count, func() (string, [2]string) {
			field, text := c.DB.HashRandom(key, c.Random)
			return field, [2]string{field, text}
		})
		if ok {
			return few, ""
		}
	}
	chosen, bad := c.choose(n, count)
	if bad != "" {
		return nil, bad
	}
	var all [][2]string
	_ = c.DB.HashEach(key, func(field, text string) { all = append(all, [2]string{field, text}) })
	for _, i := range chosen {
		pairs = append(pairs, all[i])
	}
	return pairs, ""
}
