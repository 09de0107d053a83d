package engine

import (
	"math"
	"slices"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Set commands, https://redis.io/docs/latest/commands/?group=set
// Intersection, union and difference are in cmd_set_algebra.go.

var setCommands = []Command{
	{Name: "SADD", Arity: -3, Flags: Write | DenyOOM | Fast, Groups: "set", Run: runSAdd},
	{Name: "SCARD", Arity: 2, Flags: ReadOnly | Fast, Groups: "set", Run: runSCard},
	{Name: "SDIFF", Arity: -2, Flags: ReadOnly, Groups: "set", Run: runSDiff},
	{Name: "SDIFFSTORE", Arity: -3, Flags: Write | DenyOOM, Groups: "set", Run: runSDiffStore},
	{Name: "SINTER", Arity: -2, Flags: ReadOnly, Groups: "set", Run: runSInter},
	{Name: "SINTERCARD", Arity: -3, Flags: ReadOnly, Groups: "set", Run: runSInterCard},
	{Name: "SINTERSTORE", Arity: -3, Flags: Write | DenyOOM, Groups: "set", Run: runSInterStore},
	{Name: "SISMEMBER", Arity: 3, Flags: ReadOnly | Fast, Groups: "set", Run: runSIsMember},
	{Name: "SMEMBERS", Arity: 2, Flags: ReadOnly, Groups: "set", Run: runSMembers},
	{Name: "SMISMEMBER", Arity: -3, Flags: ReadOnly | Fast, Groups: "set", Run: runSMIsMember},
	{Name: "SMOVE", Arity: 4, Flags: Write | Fast, Groups: "set", Run: runSMove},
	{Name: "SPOP", Arity: -2, Flags: Write | Fast, Groups: "set", Run: runSPop},
	{Name: "SRANDMEMBER", Arity: -2, Flags: ReadOnly, Groups: "set", Run: runSRandMember},
	{Name: "SREM", Arity: -3, Flags: Write | Fast, Groups: "set", Run: runSRem},
	{Name: "SUNION", Arity: -2, Flags: ReadOnly, Groups: "set", Run: runSUnion},
	{Name: "SUNIONSTORE", Arity: -3, Flags: Write | DenyOOM, Groups: "set", Run: runSUnionStore},
}

// runSAdd is SADD key member [member ...].
func runSAdd(c *Call) resp.Value {
	key, added := c.Args[1], int64(0)
	for _, name := range c.Args[2:] {
		isNew, err := c.DB.SetAdd(key, name)
		if err != nil {
			return failed(err)
		}
		if isNew {
			added++
		}
	}
	if added > 0 {
		c.Changed(key, "sadd")
		c.Amounts(int(added))
	}
	return resp.Int(added)
}

// runSRem is SREM key member [member ...].
func runSRem(c *Call) resp.Value {
	removed := 0
	for _, name := range c.Args[2:] {
		gone, err := c.DB.SetRemove(c.Args[1], name)
		if err != nil {
			return failed(err)
		}
		if gone {
			removed++
		}
	}
	c.removed(c.Args[1], "srem", removed)
	return resp.Int(int64(removed))
}

// runSCard is SCARD key.
func runSCard(c *Call) resp.Value { return countReply(c.DB.SetLen(c.Args[1])) }

// runSIsMember is SISMEMBER key member.
func runSIsMember(c *Call) resp.Value { return flagReply(c.DB.SetHas(c.Args[1], c.Args[2])) }

// runSMIsMember is SMISMEMBER key member [member ...].
func runSMIsMember(c *Call) resp.Value {
	list := make([]resp.Value, 0, len(c.Args)-2)
	for _, name := range c.Args[2:] {
		has, err := c.DB.SetHas(c.Args[1], name)
		if err != nil {
			return failed(err)
		}
		list = append(list, flagReply(has, nil))
	}
	return resp.List(list...)
}

// runSMembers is SMEMBERS key.
func runSMembers(c *Call) resp.Value {
	names, err := c.DB.SetMembers(c.Args[1])
	if err != nil {
		return failed(err)
	}
	return setReply(names)
}

// setReply is an unordered collection of texts.
func setReply(names []string) resp.Value {
	reply := listReply(names)
	reply.Kind = resp.Set
	return reply
}

// listReply is an array of texts.
func listReply(names []string) resp.Value {
	list := make([]resp.Value, 0, len(names))
	for _, name := range names {
		list = append(list, resp.Str(name))
	}
	return resp.List(list...)
}

// runSMove is SMOVE source destination member.
func runSMove(c *Call) resp.Value {
	from, to, name := c.Args[1], c.Args[2], c.Args[3]
	n, err := c.DB.SetLen(from)
	there, badTo := c.DB.SetHas(to, name) // it may find that it has expired
	switch {
	case err != nil || n == 0:
		return countReply(0, err)
	case badTo != nil:
		return failed(badTo)
	case string(from) == string(to):
		return flagReply(there, nil)
	}
	if has, err := c.DB.SetRemove(from, name); !has {
		return flagReply(false, err)
	}
	c.taken(from, "srem", 1)
	if !there {
		if _, err := c.DB.SetAdd(to, name); err != nil {
			return failed(err)
		}
		c.Changed(to, "sadd")
	}
	return resp.One
}

// runSPop is SPOP key [count], replicated as the SREM of what came out, or as
// DEL when count covers the whole set.
func runSPop(c *Call) resp.Value {
	key, many, count := c.Args[1], len(c.Args) > 2, int64(1)
	if many {
		var ok bool
		if count, ok = parseInt(c.Args[2]); len(c.Args) > 3 {
			return resp.Err(errSyntax)
		} else if !ok || count < 0 {
			return resp.Err(errNotPositive)
		}
	}
	n, err := c.DB.SetLen(key)
	switch {
	case err != nil:
		return failed(err)
	case n == 0 && !many:
		return resp.Null
	case n == 0 || count == 0:
		return setReply(nil)
	}
	names := popRandom(c, key, int(min(count, int64(n))))
	if many {
		if count >= int64(n) {
			c.Replicate([]byte("DEL"), key)
		} else {
			replicateRemoval(c, key, names)
		}
		return setReply(names)
	}
	replicateRemoval(c, key, names)
	return resp.Str(names[0])
}

// replicateRemoval sends the SREM of some members.
func replicateRemoval(c *Call, key []byte, names []string) {
	effect := [][]byte{[]byte("SREM"), key}
	for _, name := range names {
		effect = append(effect, []byte(name))
	}
	c.Replicate(effect...)
}

// popRandom takes count members out of a set that has as many.
func popRandom(c *Call, key []byte, count int) []string {
	names := make([]string, 0, count)
	all, _ := c.DB.SetLen(key)
	if count == all {
		names, _ = c.DB.SetMembers(key)
	}
	for i := range count {
		if count < all {
			names = append(names, c.DB.SetRandom(key, c.Random))
		}
		_, _ = c.DB.SetRemove(key, []byte(names[i]))
	}
	c.taken(key, "spop", count)
	return names
}

// runSRandMember is SRANDMEMBER key [count].
func runSRandMember(c *Call) resp.Value {
	key := c.Args[1]
	if len(c.Args) == 2 {
		n, err := c.DB.SetLen(key)
		if err != nil || n == 0 {
			return textReply("", false, err)
		}
		return resp.Str(c.DB.SetRandom(key, c.Random))
	}
	count, _, bad := parseRandomCount(c.Args[2:], "")
	if bad != "" {
		return resp.Err(bad)
	}
	n, err := c.DB.SetLen(key)
	if err != nil {
		return failed(err)
	}
	if isFew(n, count) {
		few, ok := drawFew(count, func() (string, resp.Value) {
			name := c.DB.SetRandom(key, c.Random)
			return name, resp.Str(name)
		})
		if ok {
			return resp.List(few...)
		}
	}
	names, _ := c.DB.SetMembers(key)
	chosen, bad := c.choose(n, count)
	if bad != "" {
		return resp.Err(bad)
	}
	list := make([]resp.Value, 0, len(chosen))
	for _, i := range chosen {
		list = append(list, resp.Str(names[i]))
	}
	return resp.List(list...)
}

const (
	errCountRange = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
	errRange      = "ERR value is out of range"
)

// parseRandomCount reads count [withWord] as HRANDFIELD and its relatives do.
func parseRandomCount(args [][]byte, withWord string) (count int64, with bool, bad string) {
	count, ok := parseInt(args[0])
	with = len(args) == 2 && withWord != "" && is(args[1], withWord)
	switch {
	case withWord == "" && len(args) > 1:
		return 0, false, errSyntax
	case !ok:
		return 0, false, errNotInt
	case count == math.MinInt64:
		return 0, false, errCountRange
	case len(args) > 1 && !with:
		return 0, false, errSyntax
	case with && (count < -math.MaxInt64/2 || count > math.MaxInt64/2):
		return 0, false, errRange
	}
	return count, with, ""
}

// maxRepeated is how many elements with repetition a command may ask for.
// Redis has no such limit and would fill its memory.
const maxRepeated = 1 << 22

// isFew reports whether count elements of n are so few that each is better drawn by
// itself than from a list of all.
func isFew(n int, count int64) bool {
	return n > 0 && count >= -maxRepeated && (count < 0 || count <= int64(n/3))
}

// drawFew draws count elements, which have different names, or, for a negative count, as
// many with repetition. It gives up when the source of chance brings nothing new any more:
// of those that it may draw, a third are taken at most.
func drawFew[T any](count int64, draw func() (name string, one T)) (list []T, ok bool) {
	const patience = 100
	list = make([]T, 0, max(count, -count))
	taken := map[string]bool{}
	for vain := 0; len(list) < cap(list) && vain < patience; vain++ {
		name, one := draw()
		if count < 0 || !taken[name] {
			list = append(list, one)
			vain = 0
		}
		if count > 0 {
			taken[name] = true
		}
	}
	return list, len(list) == cap(list)
}

// choose picks positions among n: for a positive count so many different ones,
// for a negative one as many with repetition.
func (c *Call) choose(n int, count int64) (positions []int, bad string) {
	switch {
	case n == 0 || count == 0:
		return nil, ""
	case count < -maxRepeated:
		return nil, errRange
	case count < 0:
		for range -count {
			positions = append(positions, int(c.Random()%uint64(n)))
		}
		return positions, ""
	}
	positions = make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	if count >= int64(n) {
		return positions, ""
	}
	for i := range int(count) {
		j := i + int(c.Random()%uint64(n-i))
		positions[i], positions[j] = positions[j], positions[i]
	}
	return positions[:count], ""
}

// sortIntegers puts names that are all integers into the order in which Redis
// keeps them, and leaves others as they are.
func sortIntegers(names []string) {
	for _, name := range names {
		if _, ok := datastore.ParseInteger(name); !ok {
			return
		}
	}
	slices.SortFunc(names, datastore.CompareIntegers)
}
