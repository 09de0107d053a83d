package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// List commands, https://redis.io/docs/latest/commands/?group=list

var listCommands = []Command{
	{Name: "LINDEX", Arity: 3, Flags: ReadOnly, Groups: "list", Fill: runLIndex},
	{Name: "LINSERT", Arity: 5, Flags: Write | DenyOOM, Groups: "list", Run: runLInsert},
	{Name: "LLEN", Arity: 2, Flags: ReadOnly | Fast, Groups: "list", Run: runLLen},
	{Name: "LMOVE", Arity: 5, Flags: Write | DenyOOM, Groups: "list", Run: runLMove},
	{Name: "LMPOP", Arity: -4, Flags: Write, Groups: "list", Run: runLMPop},
	{Name: "LPOP", Arity: -2, Flags: Write | Fast, Groups: "list", Fill: runLPop},
	{Name: "LPOS", Arity: -3, Flags: ReadOnly, Groups: "list", Run: runLPos},
	{Name: "LPUSH", Arity: -3, Flags: Write | DenyOOM | Fast, Groups: "list", Fill: runLPush},
	{Name: "LPUSHX", Arity: -3, Flags: Write | DenyOOM | Fast, Groups: "list", Fill: runLPushX},
	{Name: "LRANGE", Arity: 4, Flags: ReadOnly, Groups: "list", Fill: runLRange},
	{Name: "LREM", Arity: 4, Flags: Write, Groups: "list", Fill: runLRem},
	{Name: "LSET", Arity: 4, Flags: Write | DenyOOM, Groups: "list", Run: runLSet},
	{Name: "LTRIM", Arity: 4, Flags: Write, Groups: "list", Run: runLTrim},
	{Name: "RPOP", Arity: -2, Flags: Write | Fast, Groups: "list", Fill: runRPop},
	{Name: "RPOPLPUSH", Arity: 3, Flags: Write | DenyOOM, Groups: "list", Run: runRPopLPush},
	{Name: "RPUSH", Arity: -3, Flags: Write | DenyOOM | Fast, Groups: "list", Fill: runRPush},
	{Name: "RPUSHX", Arity: -3, Flags: Write | DenyOOM | Fast, Groups: "list", Fill: runRPushX},
}

const (
	errNotPositive = "ERR value is out of range, must be positive"
	errRankZero    = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... " +
		"or use negative to start from the end of the list"
	errNegCount  = "ERR COUNT can't be negative"
	errNegMaxLen = "ERR MAXLEN can't be negative"
)

// runLIndex is LINDEX key index.
func runLIndex(c *Call, reply *resp.Value) {
	index, isInt := parseInt(c.Args[2])
	text, ok, err := c.DB.ListAt(c.Args[1], int(index))
	if !isInt && err == nil && c.DB.Found() { // nobody asks for the index in what is not there
		*reply = resp.Err(errNotInt)
		return
	}
	setText(reply, text, ok, err)
}

// fromHead turns an index that may count from the end into one from the head.
func fromHead(index int64, length int) (at int, ok bool) {
	if index < 0 {
		index += int64(length)
	}
	return int(index), index >= 0 && index < int64(length)
}

// runLInsert is LINSERT key BEFORE|AFTER pivot element.
func runLInsert(c *Call) resp.Value {
	after := is(c.Args[2], "AFTER")
	if !after && !is(c.Args[2], "BEFORE") {
		return resp.Err(errSyntax)
	}
	n, err := c.DB.ListInsert(c.Args[1], after, c.Args[3], c.Args[4])
	if n > 0 {
		c.Changed(c.Args[1], "linsert")
	}
	return countReply(n, err)
}

// runLLen is LLEN key.
func runLLen(c *Call) resp.Value { return countReply(c.DB.ListLen(c.Args[1])) }

// runLMove is LMOVE source destination LEFT|RIGHT LEFT|RIGHT.
func runLMove(c *Call) resp.Value {
	from, okFrom := parseEnd(c.Args[3])
	to, okTo := parseEnd(c.Args[4])
	if !okFrom || !okTo {
		return resp.Err(errSyntax)
	}
	return move(c, from, to)
}

// runRPopLPush is RPOPLPUSH source destination.
func runRPopLPush(c *Call) resp.Value { return move(c, datastore.Tail, datastore.Head) }

// move takes an element off one list and puts it on another, or the same.
func move(c *Call, from, to datastore.End) resp.Value {
	source, target := c.Args[1], c.Args[2]
	n, err := c.DB.ListLen(source)
	if err != nil || n == 0 {
		return textReply("", false, err)
	}
	if _, err = c.DB.ListLen(target); err != nil {
		return failed(err)
	}
	text, err := c.DB.ListMove(source, from, target, to)
	if err != nil {
		return failed(err)
	}
	c.Changed(target, pushEvent(to))
	c.taken(source, popEvent(from), 1)
	c.Amounts(0) // both are one change
	if c.Again {
		c.Amounts(0)
	}
	return resp.Str(text)
}

// parseEnd reads LEFT or RIGHT.
func parseEnd(arg []byte) (end datastore.End, ok bool) {
	switch {
	case is(arg, "LEFT"):
		return datastore.Head, true
	case is(arg, "RIGHT"):
		return datastore.Tail, true
	}
	return datastore.Head, false
}

func pushEvent(end datastore.End) string {
	if end == datastore.Head {
		return "lpush"
	}
	return "rpush"
}

func popEvent(end datastore.End) string {
	if end == datastore.Head {
		return "lpop"
	}
	return "rpop"
}

// runLPop is LPOP key [count].
func runLPop(c *Call, reply *resp.Value) { pop(c, reply, datastore.Head) }

// runRPop is RPOP key [count].
func runRPop(c *Call, reply *resp.Value) { pop(c, reply, datastore.Tail) }

// pop replies one element, or with a count an array of up to so many.
func pop(c *Call, reply *resp.Value, end datastore.End) {
	if len(c.Args) != 2 {
		*reply = popMany(c, end)
		return
	}
	key := c.Args[1]
	text, ok, err := c.DB.ListPop(key, end)
	if ok {
		c.taken(key, popEvent(end), 1)
	}
	setText(reply, text, ok, err)
}

func popMany(c *Call, end datastore.End) resp.Value {
	if len(c.Args) > 3 {
		return resp.Err(errArity(c.Cmd.full))
	}
	key := c.Args[1]
	count, ok := parseInt(c.Args[2])
	if !ok || count < 0 {
		return resp.Err(errNotPositive)
	}
	n, err := c.DB.ListLen(key)
	switch {
	case err != nil:
		return failed(err)
	case n == 0:
		return resp.NullList
	case count == 0:
		return resp.List()
	}
	texts, err := popElements(c, key, end, int(min(count, int64(n))))
	if err != nil {
		return failed(err)
	}
	return resp.List(texts...)
}

// popElements takes n elements off a list that has as many.
func popElements(c *Call, key []byte, end datastore.End, n int) ([]resp.Value, error) {
	texts := make([]resp.Value, 0, n)
	for range n {
		text, _, err := c.DB.ListPop(key, end)
		if err != nil {
			return nil, err
		}
		texts = append(texts, resp.Str(text))
	}
	c.taken(key, popEvent(end), n)
	return texts, nil
}

// runLPush is LPUSH key element [element ...].
func runLPush(c *Call, reply *resp.Value) { push(c, reply, datastore.Head) }

// runRPush is RPUSH key element [element ...].
func runRPush(c *Call, reply *resp.Value) { push(c, reply, datastore.Tail) }

// runLPushX is LPUSHX key element [element ...].
func runLPushX(c *Call, reply *resp.Value) { pushExisting(c, reply, datastore.Head) }

// runRPushX is RPUSHX key element [element ...].
func runRPushX(c *Call, reply *resp.Value) { pushExisting(c, reply, datastore.Tail) }

func push(c *Call, reply *resp.Value, end datastore.End) {
	key, n := c.Args[1], 0
	for _, text := range c.Args[2:] {
		var err error
		if n, err = c.DB.ListPush(key, end, text); err != nil {
			*reply = failed(err)
			return
		}
	}
	c.Changed(key, pushEvent(end))
	c.Amounts(len(c.Args) - 2)
	reply.SetInt(int64(n))
}

func pushExisting(c *Call, reply *resp.Value, end datastore.End) {
	if !c.DB.Exists(c.Args[1]) {
		reply.SetInt(0)
		return
	}
	push(c, reply, end)
}

// runLRange is LRANGE key start stop.
func runLRange(c *Call, reply *resp.Value) {
	from, to, bad := listRange(c)
	if bad.Kind != resp.None {
		*reply = bad
		return
	}
	texts, err := c.DB.ListRange(c.Args[1], from, to)
	if err != nil {
		*reply = failed(err)
		return
	}
	list := c.list(len(texts))
	for _, text := range texts {
		list = append(list, resp.Str(text))
	}
	reply.SetList(list)
}

// listRange reads the range in arguments 2 and 3 over the list under
// argument 1. bad is an error reply, or None.
func listRange(c *Call) (from, to int, bad resp.Value) {
	start, okStart := parseInt(c.Args[2])
	stop, okStop := parseInt(c.Args[3])
	if !okStart || !okStop {
		return 0, 0, resp.Err(errNotInt)
	}
	n, err := c.DB.ListLen(c.Args[1])
	if err != nil {
		return 0, 0, failed(err)
	}
	from, to = clampRange(start, stop, n)
	return from, to, resp.Value{}
}

// runLRem is LREM key count element: a negative count starts at the tail.
func runLRem(c *Call, reply *resp.Value) {
	count, ok := parseInt(c.Args[2])
	if !ok {
		*reply = resp.Err(errNotInt)
		return
	}
	end := datastore.Head
	if count < 0 {
		end, count = datastore.Tail, -count
	}
	n, err := c.DB.ListRemove(c.Args[1], end, int(count), c.Args[3])
	if err == nil {
		c.removed(c.Args[1], "lrem", n)
	}
	setCount(reply, n, err)
}

// runLSet is LSET key index element.
func runLSet(c *Call) resp.Value {
	key := c.Args[1]
	n, err := c.DB.ListLen(key)
	if err != nil {
		return failed(err)
	}
	if n == 0 {
		return resp.Err(errNoKey)
	}
	index, ok := parseInt(c.Args[2])
	if !ok {
		return resp.Err(errNotInt)
	}
	at, ok := fromHead(index, n)
	if !ok {
		return resp.Err(errOutOfRange)
	}
	if _, err = c.DB.ListSet(key, at, c.Args[3]); err != nil {
		return failed(err)
	}
	c.Changed(key, "lset")
	return resp.OK
}

// runLTrim is LTRIM key start stop. It tells of a change even when nothing was
// trimmed, but replicates only what was.
func runLTrim(c *Call) resp.Value {
	from, to, bad := listRange(c)
	if bad.Kind != resp.None {
		return bad
	}
	key := c.Args[1]
	if !c.DB.Exists(key) {
		return resp.OK
	}
	n, err := c.DB.ListTrim(key, from, to)
	if err != nil {
		return failed(err)
	}
	c.taken(key, "ltrim", n)
	if n == 0 {
		c.ReplicateNothing()
	}
	return resp.OK
}
