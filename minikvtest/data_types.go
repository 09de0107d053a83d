package minikvtest

import (
	"slices"
	"strconv"

	"minikv/internal/resp"
)

// Set sets a string without a TTL.
func (d *Database) Set(key, value string) { d.t().Helper(); d.do("SET", key, value) }

// Get returns the string that a key holds; ok is false if the key does not exist.
func (d *Database) Get(key string) (value string, ok bool) {
	d.t().Helper()
	v := d.do("GET", key)
	return v.Str, !v.IsNil()
}

// Incr adds by to the integer that a key holds, and returns the sum.
func (d *Database) Incr(key string, by int) int {
	d.t().Helper()
	return int(d.do("INCRBY", key, number(by)).Int)
}

// IncrByFloat adds by to the number that a key holds, and returns the sum.
func (d *Database) IncrByFloat(key string, by float64) float64 {
	d.t().Helper()
	return d.float(d.do("INCRBYFLOAT", key, resp.FormatDouble(by)))
}

// float reads a reply as a number.
func (d *Database) float(v resp.Value) float64 {
	d.t().Helper()
	f, err := strconv.ParseFloat(v.Str, 64)
	if err != nil {
		d.t().Fatalf("minikvtest: %s is no number", resp.Describe(v))
	}
	return f
}

// HSet sets fields of a hash: field, value, field, value ….
func (d *Database) HSet(key string, fieldsAndValues ...string) {
	d.t().Helper()
	d.do(append([]string{"HSET", key}, fieldsAndValues...)...)
}

// HGet returns a field of a hash, "" if it does not exist.
func (d *Database) HGet(key, field string) string {
	d.t().Helper()
	return d.do("HGET", key, field).Str
}

// HGetAll returns all fields of a hash.
func (d *Database) HGetAll(key string) map[string]string {
	d.t().Helper()
	all := map[string]string{}
	pairs := texts(d.do("HGETALL", key))
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// HKeys returns the fields of a hash, sorted.
func (d *Database) HKeys(key string) []string {
	d.t().Helper()
	return slices.Sorted(slices.Values(texts(d.do("HKEYS", key))))
}

// HDel removes fields of a hash and returns how many existed.
func (d *Database) HDel(key string, fields ...string) int {
	d.t().Helper()
	return int(d.do(append([]string{"HDEL", key}, fields...)...).Int)
}

// HIncrBy adds by to the integer in a field of a hash, and returns the sum.
func (d *Database) HIncrBy(key, field string, by int) int {
	d.t().Helper()
	return int(d.do("HINCRBY", key, field, number(by)).Int)
}

// List returns all elements of a list.
func (d *Database) List(key string) []string {
	d.t().Helper()
	return texts(d.do("LRANGE", key, "0", "-1"))
}

// Push appends elements to a list and returns its length.
func (d *Database) Push(key string, elements ...string) int {
	d.t().Helper()
	return int(d.do(append([]string{"RPUSH", key}, elements...)...).Int)
}

// LPush puts elements in front of a list, one after the other, and returns its length.
func (d *Database) LPush(key string, elements ...string) int {
	d.t().Helper()
	return int(d.do(append([]string{"LPUSH", key}, elements...)...).Int)
}

// Pop removes and returns the last element of a list; ok is false if there is none.
func (d *Database) Pop(key string) (element string, ok bool) {
	d.t().Helper()
	v := d.do("RPOP", key)
	return v.Str, !v.IsNil()
}

// LPop removes and returns the first element of a list; ok is false if there is none.
func (d *Database) LPop(key string) (element string, ok bool) {
	d.t().Helper()
	v := d.do("LPOP", key)
	return v.Str, !v.IsNil()
}

// SAdd adds members to a set and returns how many were new.
func (d *Database) SAdd(key string, members ...string) int {
	d.t().Helper()
	return int(d.do(append([]string{"SADD", key}, members...)...).Int)
}

// SMembers returns all members of a set, sorted.
func (d *Database) SMembers(key string) []string {
	d.t().Helper()
	return slices.Sorted(slices.Values(texts(d.do("SMEMBERS", key))))
}

// SIsMember reports whether a set has a member.
func (d *Database) SIsMember(key, member string) bool {
	d.t().Helper()
	return d.do("SISMEMBER", key, member).Int == 1
}

// SRem removes members of a set and returns how many existed.
func (d *Database) SRem(key string, members ...string) int {
	d.t().Helper()
	return int(d.do(append([]string{"SREM", key}, members...)...).Int)
}

// Scored is a member of a sorted set.
type Scored struct {
	Member string
	Score  float64
}

// ZAdd sets the score of a member of a sorted set, and reports whether the member is new.
func (d *Database) ZAdd(key string, score float64, member string) bool {
	d.t().Helper()
	return d.do("ZADD", key, resp.FormatDouble(score), member).Int == 1
}

// ZMembers returns all members of a sorted set, in its order.
func (d *Database) ZMembers(key string) []Scored {
	d.t().Helper()
	list := d.do("ZRANGE", key, "0", "-1", "WITHSCORES").List
	all := make([]Scored, len(list)/2)
	for i := range all {
		all[i] = Scored{list[2*i].Str, d.float(list[2*i+1])}
	}
	return all
}

// ZScore returns the score of a member; ok is false if it does not exist.
func (d *Database) ZScore(key, member string) (score float64, ok bool) {
	d.t().Helper()
	v := d.do("ZSCORE", key, member)
	if v.IsNil() {
		return 0, false
	}
	return d.float(v), true
}

// ZRem removes a member of a sorted set and reports whether it existed.
func (d *Database) ZRem(key, member string) bool {
	d.t().Helper()
	return d.do("ZREM", key, member).Int == 1
}

// Entry is one entry of a stream.
type Entry struct {
	ID     string
	Fields []string // field, value, field, value …
}

// XAdd appends an entry to a stream and returns its ID; for the ID * the node chooses
// one.
func (d *Database) XAdd(key, id string, fieldsAndValues ...string) string {
	d.t().Helper()
	return d.do(append([]string{"XADD", key, id}, fieldsAndValues...)...).Str
}

// Stream returns all entries of a stream.
func (d *Database) Stream(key string) []Entry {
	d.t().Helper()
	list := d.do("XRANGE", key, "-", "+").List
	all := make([]Entry, len(list))
	for i, one := range list {
		all[i] = Entry{one.List[0].Str, texts(one.List[1])}
	}
	return all
}

// PFAdd adds elements to a HyperLogLog and reports whether its estimate may have changed.
func (d *Database) PFAdd(key string, elements ...string) bool {
	d.t().Helper()
	return d.do(append([]string{"PFADD", key}, elements...)...).Int == 1
}

// PFCount returns the estimated number of different elements that HyperLogLogs have
// together.
func (d *Database) PFCount(keys ...string) int {
	d.t().Helper()
	return int(d.do(append([]string{"PFCOUNT"}, keys...)...).Int)
}
