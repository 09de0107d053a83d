package engine

import (
	"math"
	"slices"

	"minikv/datastore"
	"minikv/internal/resp"
)

const (
	errScoreRange = "ERR min or max is not a float"
	errLexRange   = "ERR min or max not valid string range item"
	errLimitRank  = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	errLexScores  = "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
)

// rangeKind is what the bounds of a range over a sorted set are.
type rangeKind uint8

const (
	rangeAuto rangeKind = iota // by rank, unless an option says otherwise
	byRank
	byScore
	byLex
)

// rangeOptions are the options of ZRANGE and its relatives.
type rangeOptions struct {
	kind    rangeKind
	reverse bool
	store   bool  // the members go to a key: there is no WITHSCORES
	scores  bool  // WITHSCORES
	offset  int64 // LIMIT
	count   int64 // LIMIT; negative: all, and if it is -1 a range by rank has no LIMIT
}

// runZRange is ZRANGE key min max [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES].
func runZRange(c *Call, reply *resp.Value) { zrange(c, reply, rangeAuto, false) }

// runZRangeByScore is ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count].
func runZRangeByScore(c *Call, reply *resp.Value) { zrange(c, reply, byScore, false) }

// runZRangeByLex is ZRANGEBYLEX key min max [LIMIT offset count].
func runZRangeByLex(c *Call, reply *resp.Value) { zrange(c, reply, byLex, false) }

// runZRevRange is ZREVRANGE key start stop [WITHSCORES].
func runZRevRange(c *Call, reply *resp.Value) { zrange(c, reply, byRank, true) }

// runZRevRangeByScore is ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count].
func runZRevRangeByScore(c *Call, reply *resp.Value) { zrange(c, reply, byScore, true) }

// runZRevRangeByLex is ZREVRANGEBYLEX key max min [LIMIT offset count].
func runZRevRangeByLex(c *Call, reply *resp.Value) { zrange(c, reply, byLex, true) }

// zrange is all commands that list a range; kind and reverse are what the
// command's name fixes.
func zrange(c *Call, reply *resp.Value, kind rangeKind, reverse bool) {
	opt, bad := parseRangeOptions(c.Args[4:], rangeOptions{kind: kind, reverse: reverse})
	if bad != "" {
		*reply = resp.Err(bad)
		return
	}
	members, bad := opt.members(c, c.Args[1], c.Args[2], c.Args[3])
	if bad != "" {
		*reply = resp.Err(bad)
		return
	}
	*reply = c.membersReply(members, opt.reverse, opt.scores, c.Proto == 3)
}

// runZRangeStore is ZRANGESTORE destination source min max [BYSCORE|BYLEX] [REV] [LIMIT offset count].
func runZRangeStore(c *Call) resp.Value {
	opt, bad := parseRangeOptions(c.Args[5:], rangeOptions{store: true})
	if bad != "" {
		return resp.Err(bad)
	}
	members, bad := opt.members(c, c.Args[2], c.Args[3], c.Args[4])
	if bad != "" {
		return resp.Err(bad)
	}
	count := len(members)
	if opt.kind != byRank {
		count = 0 // Redis does not know it yet when it makes the set
	}
	if opt.reverse {
		slices.Reverse(members) // which of them are stored while the set is small matters to -0
	}
	return c.storeMembers(c.Args[1], c.Cmd.full, members, count, 0)
}

// members are those in the range between two bounds as the client gave them,
// in ascending order.
func (o *rangeOptions) members(c *Call, key, low, high []byte) (members []datastore.Member, bad string) {
	if o.reverse && o.kind != byRank {
		low, high = high, low
	}
	from, to, bad := zspan(c, key, o.kind, low, high, o.reverse)
	if bad != "" {
		return nil, bad
	}
	switch {
	case o.kind != byRank:
		from, to = o.limit(from, to)
	case o.reverse:
		n, _ := c.DB.ZLen(key)
		from, to = n-to, n-from
	}
	members, err := c.DB.ZRange(key, from, to)
	if err != nil {
		return nil, errWrongType
	}
	return members, ""
}

// parseRangeOptions reads what follows the bounds; fixed is what the command's name says.
func parseRangeOptions(args [][]byte, fixed rangeOptions) (opt rangeOptions, bad string) {
	opt = fixed
	opt.count = -1
	for i := 0; i < len(args); i++ {
		switch {
		case is(args[i], "WITHSCORES") && !opt.store:
			opt.scores = true
		case is(args[i], "LIMIT") && i+2 < len(args):
			var okOffset, okCount bool
			opt.offset, okOffset = parseInt(args[i+1])
			opt.count, okCount = parseInt(args[i+2])
			if !okOffset || !okCount {
				return opt, errNotInt
			}
			i += 2
		case is(args[i], "REV") && fixed.kind == rangeAuto && !opt.reverse:
			opt.reverse = true
		case is(args[i], "BYLEX") && opt.kind == rangeAuto:
			opt.kind = byLex
		case is(args[i], "BYSCORE") && opt.kind == rangeAuto:
			opt.kind = byScore
		default:
			return opt, errSyntax
		}
	}
	if opt.kind == rangeAuto {
		opt.kind = byRank
	}
	switch {
	case opt.count != -1 && opt.kind == byRank:
		return opt, errLimitRank
	case opt.scores && opt.kind == byLex:
		return opt, errLexScores
	}
	return opt, ""
}

// limit narrows a span of ranks by LIMIT, which counts from the end that is
// listed first. A negative offset leaves nothing.
func (o *rangeOptions) limit(from, to int) (int, int) {
	length := int64(max(0, to-from))
	if o.offset < 0 || o.offset > length {
		return 0, 0
	}
	count := length - o.offset
	if o.count >= 0 {
		count = min(count, o.count)
	}
	if o.reverse {
		to -= int(o.offset)
		return to - int(count), to
	}
	from += int(o.offset)
	return from, from + int(count)
}

// runZCount is ZCOUNT key min max.
func runZCount(c *Call) resp.Value { return zcount(c, byScore) }

// runZLexCount is ZLEXCOUNT key min max.
func runZLexCount(c *Call) resp.Value { return zcount(c, byLex) }

func zcount(c *Call, kind rangeKind) resp.Value {
	from, to, bad := zspan(c, c.Args[1], kind, c.Args[2], c.Args[3], false)
	if bad != "" {
		return resp.Err(bad)
	}
	return resp.Int(int64(max(0, to-from)))
}

// runZRemRangeByScore is ZREMRANGEBYSCORE key min max.
func runZRemRangeByScore(c *Call, reply *resp.Value) { zremove(c, reply, byScore) }

// runZRemRangeByRank is ZREMRANGEBYRANK key start stop.
func runZRemRangeByRank(c *Call, reply *resp.Value) { zremove(c, reply, byRank) }

// runZRemRangeByLex is ZREMRANGEBYLEX key min max.
func runZRemRangeByLex(c *Call, reply *resp.Value) { zremove(c, reply, byLex) }

func zremove(c *Call, reply *resp.Value, kind rangeKind) {
	from, to, bad := zspan(c, c.Args[1], kind, c.Args[2], c.Args[3], false)
	if bad != "" {
		*reply = resp.Err(bad)
		return
	}
	n := max(0, to-from)
	err := c.DB.ZRemoveSpan(c.Args[1], from, to)
	if err == nil {
		c.removed(c.Args[1], c.Cmd.full, n)
	}
	setCount(reply, n, err)
}

// zspan reads two bounds and returns the ranks they include in the sorted set
// under key, to excluded; none if from >= to.
func zspan(c *Call, key []byte, kind rangeKind, low, high []byte, reverse bool) (from, to int, bad string) {
	var err error
	switch kind {
	case byScore:
		var r datastore.ScoreRange
		var okMin, okMax bool
		r.Min, r.AboveMin, okMin = parseScoreBound(low)
		r.Max, r.BelowMax, okMax = parseScoreBound(high)
		if !okMin || !okMax {
			return 0, 0, errScoreRange
		}
		from, to, err = c.DB.ZScoreSpan(key, r)
	case byLex:
		var r datastore.NameRange
		var okMin, okMax bool
		r.Min, okMin = parseNameBound(low)
		r.Max, okMax = parseNameBound(high)
		if !okMin || !okMax {
			return 0, 0, errLexRange
		}
		from, to, err = c.DB.ZNameSpan(key, r, reverse)
	default:
		start, okStart := parseInt(low)
		stop, okStop := parseInt(high)
		if !okStart || !okStop {
			return 0, 0, errNotInt
		}
		var n int
		n, err = c.DB.ZLen(key)
		from, to = clampRange(start, stop, n)
	}
	if err != nil {
		return 0, 0, failed(err).Str
	}
	return from, to, ""
}

// parseScoreBound reads a score, or one that is excluded: (1.5. As with C's
// strtod, spaces may stand before the number, the text ends at a zero byte, and
// no text is 0.
func parseScoreBound(arg []byte) (score float64, exclusive, ok bool) {
	if len(arg) > 0 && arg[0] == '(' {
		arg, exclusive = arg[1:], true
	}
	score, rest := strtod(string(arg))
	return score, exclusive, rest == "" && !math.IsNaN(score)
}

// parseNameBound reads [name, (name, - or +.
func parseNameBound(arg []byte) (bound datastore.NameBound, ok bool) {
	switch {
	case len(arg) == 0:
		return bound, false
	case resp.CString(arg) == "-":
		return datastore.NameBound{Side: -1}, true
	case resp.CString(arg) == "+":
		return datastore.NameBound{Side: 1}, true
	}
	exclusive := arg[0] == '('
	return datastore.NameBound{Name: string(arg[1:]), Exclusive: exclusive}, exclusive || arg[0] == '['
}
