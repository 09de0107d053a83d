package engine

import (
	"math"
	"slices"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Sorted set commands, https://redis.io/docs/latest/commands/?group=sorted-set
// The ranges are in cmd_zrange.go.

var zsetCommands = []Command{
	{Name: "ZADD", Arity: -4, Flags: Write | DenyOOM | Fast, Groups: "sortedset", Fill: runZAdd},
	{Name: "ZCARD", Arity: 2, Flags: ReadOnly | Fast, Groups: "sortedset", Fill: runZCard},
	{Name: "ZCOUNT", Arity: 4, Flags: ReadOnly | Fast, Groups: "sortedset", Run: runZCount},
	{Name: "ZINCRBY", Arity: 4, Flags: Write | DenyOOM | Fast, Groups: "sortedset", Fill: runZIncrBy},
	{Name: "ZLEXCOUNT", Arity: 4, Flags: ReadOnly | Fast, Groups: "sortedset", Run: runZLexCount},
	{Name: "ZMPOP", Arity: -4, Flags: Write, Groups: "sortedset", Run: runZMPop},
	{Name: "ZMSCORE", Arity: -3, Flags: ReadOnly | Fast, Groups: "sortedset", Run: runZMScore},
	{Name: "ZPOPMAX", Arity: -2, Flags: Write | Fast, Groups: "sortedset", Run: runZPopMax},
	{Name: "ZPOPMIN", Arity: -2, Flags: Write | Fast, Groups: "sortedset", Run: runZPopMin},
	{Name: "ZRANGE", Arity: -4, Flags: ReadOnly, Groups: "sortedset", Fill: runZRange},
	{Name: "ZRANGEBYLEX", Arity: -4, Flags: ReadOnly, Groups: "sortedset", Fill: runZRangeByLex},
	{Name: "ZRANGEBYSCORE", Arity: -4, Flags: ReadOnly, Groups: "sortedset", Fill: runZRangeByScore},
	{Name: "ZRANGESTORE", Arity: -5, Flags: Write | DenyOOM, Groups: "sortedset", Run: runZRangeStore},
	{Name: "ZRANDMEMBER", Arity: -2, Flags: ReadOnly, Groups: "sortedset", Run: runZRandMember},
	{Name: "ZRANK", Arity: 3, Flags: ReadOnly | Fast, Groups: "sortedset", Run: runZRank},
	{Name: "ZREM", Arity: -3, Flags: Write | Fast, Groups: "sortedset", Fill: runZRem},
	{Name: "ZREMRANGEBYLEX", Arity: 4, Flags: Write, Groups: "sortedset", Fill: runZRemRangeByLex},
	{Name: "ZREMRANGEBYRANK", Arity: 4, Flags: Write, Groups: "sortedset", Fill: runZRemRangeByRank},
	{Name: "ZREMRANGEBYSCORE", Arity: 4, Flags: Write, Groups: "sortedset", Fill: runZRemRangeByScore},
	{Name: "ZREVRANGE", Arity: -4, Flags: ReadOnly, Groups: "sortedset", Fill: runZRevRange},
	{Name: "ZREVRANGEBYLEX", Arity: -4, Flags: ReadOnly, Groups: "sortedset", Fill: runZRevRangeByLex},
	{Name: "ZREVRANGEBYSCORE", Arity: -4, Flags: ReadOnly, Groups: "sortedset", Fill: runZRevRangeByScore},
	{Name: "ZREVRANK", Arity: 3, Flags: ReadOnly | Fast, Groups: "sortedset", Run: runZRevRank},
	{Name: "ZSCORE", Arity: 3, Flags: ReadOnly | Fast, Groups: "sortedset", Fill: runZScore},
}

const (
	errScoreNaN = "ERR resulting score is not a number (NaN)"
	errNXAndXX  = "ERR XX and NX options at the same time are not compatible"
	errGTLTNX   = "ERR GT, LT, and/or NX options at the same time are not compatible"
	errIncrPair = "ERR INCR option supports a single increment-element pair"
)

// addOptions are the options of ZADD.
type addOptions struct {
	nx, xx, gt, lt bool
	ch             bool // the reply counts changed scores too
	incr           bool // the score is added to the old one
}

// runZAdd is ZADD key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...].
func runZAdd(c *Call, reply *resp.Value) {
	opt, pairs := parseAdd(c.Args[2:])
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		*reply = resp.Err(errSyntax)
	case opt.nx && opt.xx:
		*reply = resp.Err(errNXAndXX)
	case opt.gt && opt.nx || opt.lt && opt.nx || opt.gt && opt.lt:
		*reply = resp.Err(errGTLTNX)
	case opt.incr && len(pairs) > 2:
		*reply = resp.Err(errIncrPair)
	default:
		zadd(c, reply, opt, pairs)
	}
}

// runZIncrBy is ZINCRBY key increment member. What would be an option of ZADD is none
// here, and no increment either.
func runZIncrBy(c *Call, reply *resp.Value) {
	if _, pairs := parseAdd(c.Args[2:]); len(pairs) != 2 {
		*reply = resp.Err(errSyntax)
		return
	}
	zadd(c, reply, addOptions{incr: true}, c.Args[2:])
}

// parseAdd reads options up to the first argument that is none.
func parseAdd(args [][]byte) (opt addOptions, pairs [][]byte) {
	for i, arg := range args {
		switch {
		case is(arg, "NX"):
			opt.nx = true
		case is(arg, "XX"):
			opt.xx = true
		case is(arg, "GT"):
			opt.gt = true
		case is(arg, "LT"):
			opt.lt = true
		case is(arg, "CH"):
			opt.ch = true
		case is(arg, "INCR"):
			opt.incr = true
		default:
			return opt, args[i:]
		}
	}
	return opt, nil
}

// zadd is ZADD once it is parsed. What stood before a score that fails stays.
func zadd(c *Call, reply *resp.Value, opt addOptions, pairs [][]byte) {
	for i := 0; i < len(pairs); i += 2 {
		if _, ok := parseFloat(pairs[i]); !ok {
			*reply = resp.Err(errNotFloat)
			return
		}
	}
	key, added, updated := c.Args[1], 0, 0
	reply.SetNil()
	for i := 0; i < len(pairs); i += 2 {
		score, _ := parseFloat(pairs[i])
		old, exists, err := c.DB.ZScore(key, pairs[i+1])
		if err != nil {
			*reply = failed(err)
			return
		}
		if exists && opt.nx || !exists && opt.xx {
			continue
		}
		if opt.incr && exists {
			score += old
		}
		if math.IsNaN(score) {
			*reply = resp.Err(errScoreNaN)
			break
		}
		if exists && (opt.gt && score <= old || opt.lt && score >= old) {
			continue
		}
		reply.SetFloat(score)
		if exists && score == old {
			continue
		}
		if _, err = c.DB.ZSet(key, pairs[i+1], score); err != nil {
			*reply = failed(err)
			return
		}
		if exists {
			updated++
		} else {
			added++
		}
	}
	if added+updated > 0 {
		c.Changed(key, opt.event())
		c.Amounts(added + updated)
	}
	switch {
	case opt.incr || reply.Kind == resp.Error:
	case opt.ch:
		reply.SetInt(int64(added + updated))
	default:
		reply.SetInt(int64(added))
	}
}

func (o *addOptions) event() string {
	if o.incr {
		return "zincr"
	}
	return "zadd"
}

// runZCard is ZCARD key.
func runZCard(c *Call, reply *resp.Value) {
	n, err := c.DB.ZLen(c.Args[1])
	setCount(reply, n, err)
}

// runZScore is ZSCORE key member.
func runZScore(c *Call, reply *resp.Value) {
	score, ok, err := c.DB.ZScore(c.Args[1], c.Args[2])
	if err == nil && ok {
		reply.SetFloat(score)
		return
	}
	*reply = scoreReply(score, ok, err)
}

func scoreReply(score float64, ok bool, err error) resp.Value {
	switch {
	case err != nil:
		return failed(err)
	case !ok:
		return resp.Null
	}
	return resp.Float(score)
}

// runZMScore is ZMSCORE key member [member ...].
func runZMScore(c *Call) resp.Value {
	scores := make([]resp.Value, 0, len(c.Args)-2)
	for _, name := range c.Args[2:] {
		score, ok, err := c.DB.ZScore(c.Args[1], name)
		if err != nil {
			return failed(err)
		}
		scores = append(scores, scoreReply(score, ok, nil))
	}
	return resp.List(scores...)
}

// runZRank is ZRANK key member.
func runZRank(c *Call) resp.Value {
	rank, ok, err := c.DB.ZRank(c.Args[1], c.Args[2])
	if err == nil && !ok {
		return resp.Null
	}
	return countReply(rank, err)
}

// runZRevRank is ZREVRANK key member.
func runZRevRank(c *Call) resp.Value {
	rank, ok, err := c.DB.ZRank(c.Args[1], c.Args[2])
	if err == nil && !ok {
		return resp.Null
	}
	n, err := c.DB.ZLen(c.Args[1])
	return countReply(n-1-rank, err)
}

// runZRem is ZREM key member [member ...].
func runZRem(c *Call, reply *resp.Value) {
	removed := 0
	for _, name := range c.Args[2:] {
		gone, err := c.DB.ZRemove(c.Args[1], name)
		if err != nil {
			*reply = failed(err)
			return
		}
		if gone {
			removed++
		}
	}
	if removed > 0 {
		c.taken(c.Args[1], "zrem", removed)
	}
	reply.SetInt(int64(removed))
}

// runZPopMin is ZPOPMIN key [count].
func runZPopMin(c *Call) resp.Value { return zpop(c, false) }

// runZPopMax is ZPOPMAX key [count].
func runZPopMax(c *Call) resp.Value { return zpop(c, true) }

func zpop(c *Call, highest bool) resp.Value {
	count := int64(1)
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return resp.Err(errNotPositive)
		}
	default:
		return resp.Err(errSyntax)
	}
	members, err := popMembers(c, c.Args[1], highest, count)
	if err != nil {
		return failed(err)
	}
	return c.membersReply(members, highest, true, c.Proto == 3 && len(c.Args) == 3)
}

// popMembers takes up to count members with the highest or the lowest scores,
// and returns them in ascending order.
func popMembers(c *Call, key []byte, highest bool, count int64) ([]datastore.Member, error) {
	n, err := c.DB.ZLen(key)
	if err != nil {
		return nil, err
	}
	from, to, event := 0, int(min(count, int64(n))), "zpopmin"
	if highest {
		from, to, event = n-to, n, "zpopmax"
	}
	members, err := c.DB.ZRange(key, from, to)
	if err != nil {
		return nil, err
	}
	if err = c.DB.ZRemoveSpan(key, from, to); err != nil {
		return nil, err
	}
	if len(members) > 0 {
		c.changedUntold(c.DB.Index(), key, event)
		c.Amounts(len(members))
		c.tell(c.DB.Index(), key)
		notifyIfGone(c, key)
	}
	return members, nil
}

// membersReply lists members, with their scores if asked for: behind each
// name, or nested as pairs.
func (c *Call) membersReply(members []datastore.Member, reverse, scores, nested bool) resp.Value {
	n := len(members)
	if scores && !nested {
		n *= 2
	}
	list := c.list(n)
	for i := range members {
		m := members[i]
		if reverse {
			m = members[len(members)-1-i]
		}
		switch {
		case !scores:
			list = append(list, resp.Str(m.Name))
		case nested:
			list = append(list, resp.List(resp.Str(m.Name), resp.Float(m.Score)))
		default:
			list = append(list, resp.Str(m.Name), resp.Float(m.Score))
		}
	}
	return resp.List(list...)
}

// runZRandMember is ZRANDMEMBER key [count [WITHSCORES]].
func runZRandMember(c *Call) resp.Value {
	key := c.Args[1]
	count, scores, bad := int64(1), false, ""
	if len(c.Args) > 2 {
		if count, scores, bad = parseRandomCount(c.Args[2:], "WITHSCORES"); bad != "" {
			return resp.Err(bad)
		}
	}
	n, err := c.DB.ZLen(key)
	if err != nil {
		return failed(err)
	}
	members, bad := c.randomMembers(key, n, count)
	if bad != "" {
		return resp.Err(bad)
	}
	if len(c.Args) > 2 {
		return c.membersReply(members, false, scores, c.Proto == 3)
	}
	if len(members) == 0 {
		return resp.Null
	}
	return resp.Str(members[0].Name)
}

// randomMembers draws count of the n members of a sorted set, for a negative count with
// repetition.
func (c *Call) randomMembers(key []byte, n int, count int64) (members []datastore.Member, bad string) {
	if isFew(n, count) {
		used := c.DB.Uses(key) // all draws are one use
		defer c.DB.SetUses(key, used)
		few, ok := drawFew(count, func() (string, datastore.Member) {
			at := int(c.Random() % uint64(n))
			one, _ := c.DB.ZRange(key, at, at+1)
			return one[0].Name, one[0]
		})
		if ok {
			return few, ""
		}
	}
	chosen, bad := c.choose(n, count)
	if bad != "" {
		return nil, bad
	}
	if count >= int64(n) {
		slices.Reverse(chosen) // all of them: Redis goes from the highest score down
	}
	all, _ := c.DB.ZRange(key, 0, n)
	for _, i := range chosen {
		members = append(members, all[i])
	}
	return members, ""
}
