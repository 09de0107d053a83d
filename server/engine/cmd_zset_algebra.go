package engine

import (
	"math"
	"slices"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Union, intersection and difference of sorted sets. Plain sets take part as
// sorted sets whose scores are 1.

var zsetAlgebraCommands = []Command{
	{Name: "ZDIFF", Arity: -3, Flags: ReadOnly, Groups: "sortedset", Run: runZDiff},
	{Name: "ZDIFFSTORE", Arity: -4, Flags: Write | DenyOOM, Groups: "sortedset", Run: runZDiffStore},
	{Name: "ZINTER", Arity: -3, Flags: ReadOnly, Groups: "sortedset", Run: runZInter},
	{Name: "ZINTERCARD", Arity: -3, Flags: ReadOnly, Groups: "sortedset", Run: runZInterCard},
	{Name: "ZINTERSTORE", Arity: -4, Flags: Write | DenyOOM, Groups: "sortedset", Run: runZInterStore},
	{Name: "ZUNION", Arity: -3, Flags: ReadOnly, Groups: "sortedset", Run: runZUnion},
	{Name: "ZUNIONSTORE", Arity: -4, Flags: Write | DenyOOM, Groups: "sortedset", Run: runZUnionStore},
}

// algebraOptions are what follows the keys.
type algebraOptions struct {
	sources   []source
	aggregate func(a, b float64) float64
	scores    bool
	limit     int64
}

// source is one of the sets that are combined.
type source struct {
	key    []byte
	weight float64
	size   int
}

// algebra computes from the sources, which may stand in any order.
type algebra func(c *Call, opt algebraOptions) []datastore.Member

// runZUnion is ZUNION numkeys key [key ...] [WEIGHTS w ...] [AGGREGATE SUM|MIN|MAX] [WITHSCORES].
func runZUnion(c *Call) resp.Value { return zcombine(c, zunion, true) }

// runZInter is ZINTER numkeys key [key ...] [WEIGHTS w ...] [AGGREGATE SUM|MIN|MAX] [WITHSCORES].
func runZInter(c *Call) resp.Value { return zcombine(c, zinter, true) }

// runZDiff is ZDIFF numkeys key [key ...] [WITHSCORES].
func runZDiff(c *Call) resp.Value { return zcombine(c, zdiff, false) }

// runZUnionStore is ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS w ...] [AGGREGATE SUM|MIN|MAX].
func runZUnionStore(c *Call) resp.Value { return zcombineStore(c, zunion, true) }

// runZInterStore is ZINTERSTORE destination numkeys key [key ...] [WEIGHTS w ...] [AGGREGATE SUM|MIN|MAX].
func runZInterStore(c *Call) resp.Value { return zcombineStore(c, zinter, true) }

// runZDiffStore is ZDIFFSTORE destination numkeys key [key ...].
func runZDiffStore(c *Call) resp.Value { return zcombineStore(c, zdiff, false) }

func zcombine(c *Call, combine algebra, weighed bool) resp.Value {
	opt, bad := c.parseAlgebra(c.Args[1:], weighed, "WITHSCORES")
	if bad != "" {
		return resp.Err(bad)
	}
	return c.membersReply(combine(c, opt), false, opt.scores, c.Proto == 3)
}

func zcombineStore(c *Call, combine algebra, weighed bool) resp.Value {
	opt, bad := c.parseAlgebra(c.Args[2:], weighed, "")
	if bad != "" {
		return resp.Err(bad)
	}
	members := combine(c, opt)
	return c.storeMembers(c.Args[1], c.Cmd.full, members, len(members), longestName(members))
}

// storeMembers replaces a key by a sorted set, and replies its size. The set is made
// for that many members with names of that size; those that are stored may be more.
func (c *Call) storeMembers(target []byte, event string, members []datastore.Member, count, size int) resp.Value {
	c.store(target, event, len(members), func() {
		_ = c.DB.ZReserve(target, count, size)
		for _, m := range members {
			_, _ = c.DB.ZSet(target, []byte(m.Name), m.Score)
		}
	})
	return resp.Int(int64(len(members)))
}

// longestName is the size of the longest name, in bytes.
func longestName(members []datastore.Member) (size int) {
	for _, m := range members {
		size = max(size, len(m.Name))
	}
	return size
}

// runZInterCard is ZINTERCARD numkeys key [key ...] [LIMIT limit].
func runZInterCard(c *Call) resp.Value {
	opt, bad := c.parseAlgebra(c.Args[1:], false, "LIMIT")
	if bad != "" {
		return resp.Err(bad)
	}
	return resp.Int(limited(int64(len(zinter(c, opt))), opt.limit))
}

// parseAlgebra reads numkeys key [key ...] and the options: WEIGHTS and
// AGGREGATE if weighed, and WITHSCORES or LIMIT if extra says so.
func (c *Call) parseAlgebra(args [][]byte, weighed bool, extra string) (opt algebraOptions, bad string) {
	opt.aggregate = aggregateSum
	count, ok := parseInt(args[0])
	switch {
	case !ok:
		return opt, errNotInt
	case count < 1:
		return opt, "ERR at least 1 input key is needed for '" + c.Cmd.full + "' command"
	case count > int64(len(args)-1):
		return opt, errSyntax
	}
	for _, key := range args[1 : count+1] {
		size, err := c.zsize(key)
		if err != nil {
			return opt, errWrongType
		}
		opt.sources = append(opt.sources, source{key, 1, size})
	}
	for rest := args[count+1:]; len(rest) > 0; {
		used := 0
		if used, bad = opt.parseOne(rest, weighed, extra); bad != "" {
			return opt, bad
		}
		rest = rest[used:]
	}
	return opt, ""
}

// parseOne reads one option and returns how many words it has.
func (o *algebraOptions) parseOne(args [][]byte, weighed bool, extra string) (used int, bad string) {
	switch n := len(o.sources); {
	case weighed && is(args[0], "WEIGHTS") && len(args) > n:
		for i := range o.sources {
			weight, ok := parseFloat(args[i+1])
			if !ok {
				return 0, "ERR weight value is not a float"
			}
			o.sources[i].weight = weight
		}
		return n + 1, ""
	case weighed && is(args[0], "AGGREGATE") && len(args) > 1:
		if o.aggregate = aggregates(args[1]); o.aggregate == nil {
			return 0, errSyntax
		}
		return 2, ""
	case extra == "WITHSCORES" && is(args[0], extra):
		o.scores = true
		return 1, ""
	case extra == "LIMIT" && is(args[0], extra) && len(args) > 1:
		var ok bool
		if o.limit, ok = parseInt(args[1]); !ok || o.limit < 0 {
			return 0, errNegLimit
		}
		return 2, ""
	}
	return 0, errSyntax
}

func aggregates(word []byte) func(a, b float64) float64 {
	switch {
	case is(word, "SUM"):
		return aggregateSum
	case is(word, "MIN"):
		return func(a, b float64) float64 { return choose(b < a, b, a) }
	case is(word, "MAX"):
		return func(a, b float64) float64 { return choose(b > a, b, a) }
	}
	return nil
}

// choose is a where yes holds, else b: unlike Go's, C's smaller one of two zeros is the first.
func choose(yes bool, a, b float64) float64 {
	if yes {
		return a
	}
	return b
}

// aggregateSum takes opposite infinities as 0.
func aggregateSum(a, b float64) float64 { return notNaN(a + b) }

func notNaN(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// zsize is the size of a sorted set or a set.
func (c *Call) zsize(key []byte) (int, error) {
	if c.DB.Kind(key) == datastore.Set {
		return c.DB.SetLen(key)
	}
	return c.DB.ZLen(key)
}

// members are those of a source, with their weighed scores.
func (s source) members(c *Call) []datastore.Member {
	if c.DB.Kind(s.key) != datastore.Set {
		members, _ := c.DB.ZRange(s.key, 0, s.size)
		for i := range members {
			members[i].Score = notNaN(members[i].Score * s.weight)
		}
		return members
	}
	names, _ := c.DB.SetMembers(s.key)
	members := make([]datastore.Member, len(names))
	for i, name := range names {
		members[i] = datastore.Member{Name: name, Score: s.weight}
	}
	return members
}

// score is the weighed score of a member, if it is there; of an infinite one and no
// weight it is no number, of which neither MIN nor MAX takes notice.
func (s source) score(c *Call, name string) (score float64, ok bool) {
	if c.DB.Kind(s.key) == datastore.Set {
		ok, _ = c.DB.SetHas(s.key, []byte(name))
		return s.weight, ok
	}
	score, ok, _ = c.DB.ZScore(s.key, []byte(name))
	return score * s.weight, ok
}

// smallestFirst orders the sources as Redis does: the order in which scores
// are added may show in the sum.
func smallestFirst(sources []source) {
	slices.SortStableFunc(sources, func(a, b source) int { return a.size - b.size })
}

func zunion(c *Call, opt algebraOptions) []datastore.Member {
	smallestFirst(opt.sources)
	places := make(map[string]int)
	var all []datastore.Member
	for _, s := range opt.sources {
		for _, m := range s.members(c) {
			if at, ok := places[m.Name]; ok {
				all[at].Score = opt.aggregate(all[at].Score, m.Score)
				continue
			}
			places[m.Name] = len(all)
			all = append(all, m)
		}
	}
	return inOrder(all)
}

func zinter(c *Call, opt algebraOptions) []datastore.Member {
	smallestFirst(opt.sources)
	var common []datastore.Member
	for _, m := range opt.sources[0].members(c) {
		everywhere := true
		for _, other := range opt.sources[1:] {
			score, ok := other.score(c, m.Name)
			if everywhere = ok; !ok {
				break
			}
			m.Score = opt.aggregate(m.Score, score)
		}
		if everywhere {
			common = append(common, m)
		}
	}
	return inOrder(common)
}

func zdiff(c *Call, opt algebraOptions) []datastore.Member {
	var left []datastore.Member
	for _, m := range opt.sources[0].members(c) {
		if !slices.ContainsFunc(opt.sources[1:], func(s source) bool {
			_, ok := s.score(c, m.Name)
			return ok
		}) {
			left = append(left, m)
		}
	}
	return inOrder(left)
}

// inOrder sorts members as a sorted set has them.
func inOrder(members []datastore.Member) []datastore.Member {
	slices.SortFunc(members, datastore.CompareMembers)
	return members
}
