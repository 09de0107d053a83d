package engine

import (
	"strconv"
	"strings"

	"minikv/internal/resp"
)

// keyFlag is what a command does with a key, as COMMAND INFO and COMMAND
// GETKEYSANDFLAGS name it.
type keyFlag uint16

const (
	keyRO keyFlag = 1 << iota
	keyRW
	keyOW // overwrites it
	keyRM // removes it
	keyAccessed
	keyUpdate
	keyInsert
	keyDelete
	notKey // such as a sharded channel
	keysIncomplete
	variableFlags // which flags it has depends on the arguments
)

// keyFlagNames are the flags in the order in which they are shown.
var keyFlagNames = []struct {
	flag keyFlag
	name string
}{
	{keyRO, "RO"}, {keyRW, "RW"}, {keyOW, "OW"}, {keyRM, "RM"}, {keyAccessed, "access"}, {keyUpdate, "update"},
	{keyInsert, "insert"}, {keyDelete, "delete"}, {notKey, "not_key"}, {keysIncomplete, "incomplete"},
	{variableFlags, "variable_flags"},
}

// reply is the flags as COMMAND shows them.
func (flags keyFlag) reply() resp.Value {
	list := []resp.Value{}
	for _, one := range keyFlagNames {
		if flags&one.flag != 0 {
			list = append(list, resp.Simple(one.name))
		}
	}
	return resp.Value{Kind: resp.Set, List: list}
}

// keySpec is a key specification: where keys stand, and what happens to them.
// The first stands at index, or behind a keyword that is looked for from index
// on (if that is negative, back from so far before the end). The others follow
// it up to last, or as many as a count in the place of the first says.
type keySpec struct {
	flags    keyFlag
	unknown  bool // nothing is known of where
	index    int
	keyword  string
	numbered bool
	last     int // from the first; if it is negative: from the end
	step     int
	limit    int // of what follows only one part in limit is keys; 0: all
}

// keySpecTable is the specifications of all commands that have any: after the
// flags, INDEX or KEYWORD@INDEX, then '#' for a count, or :LAST, /STEP and %LIMIT.
// Source: COMMAND INFO of Redis 7.0.15.
var keySpecTable = []struct{ specs, commands string }{
	{"RO 1", "hexists hlen hstrlen llen scard sismember strlen type xlen zcard"},
	{"RO 2", "memory|usage object|encoding object|freq object|idletime object|refcount"},
	{"RO 1:-1", "exists touch watch"},
	{"RO access 1", "bitcount bitfield_ro bitpos dump expiretime geodist geohash geopos georadius_ro " +
		"georadiusbymember_ro geosearch get getbit getrange hget hgetall hkeys hmget hrandfield hscan hvals " +
		"lindex lpos lrange pexpiretime pttl smembers smismember srandmember sscan substr ttl xpending xrange xrevrange " +
		"zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank zrevrange zrevrangebylex " +
		"zrevrangebyscore zrevrank zscan zscore"},
	{"RO access 2", "xinfo|consumers xinfo|groups xinfo|stream"},
	{"RO access 1:1", "lcs"},
	{"RO access 1:-1", "mget sdiff sinter sunion"},
	{"RO access 1#", "sintercard zdiff zinter zintercard zunion"},
	{"RO access 2#", "eval_ro evalsha_ro fcall_ro"},
	{"RO access STREAMS@1:-1%2", "xread"},
	{"RO access STREAMS@4:-1%2", "xreadgroup"},
	{"RO access 1, RO access ?", "sort_ro"},
	{"RO access 1, RO access ?, OW update ?", "sort"},
	{"RO access 1, OW update 2", "copy"},
	{"RO access 1, OW update STORE@6, OW update STOREDIST@6", "georadius"},
	{"RO access 1, OW update STORE@5, OW update STOREDIST@5", "georadiusbymember"},
	{"RW insert 1", "append hsetnx linsert lpush lpushx pfadd rpush rpushx sadd"},
	{"RW insert 2", "xgroup|create xgroup|createconsumer"},
	{"RW update 1", "expire expireat geoadd hmset hset lset persist pexpire pexpireat setrange xack xadd xclaim " +
		"xsetid zadd"},
	{"RW update 2", "xgroup|setid"},
	{"RW update 1, RO access 2:-1", "sinterstore"},
	{"RW delete 1", "hdel lrem ltrim srem xautoclaim xdel xtrim zrem zremrangebylex zremrangebyrank zremrangebyscore"},
	{"RW delete 2", "xgroup|delconsumer xgroup|destroy"},
	{"RW access 2", "pfdebug"},
	{"RW access 1:-1", "pfcount"},
	{"RW access insert 1, RO access 2:-1", "pfmerge"},
	{"RW access update 1", "decr decrby getex getset hincrby hincrbyfloat incr incrby incrbyfloat move setbit zincrby"},
	{"RW access update variable_flags 1", "bitfield set"},
	{"RW access update 2#", "eval evalsha fcall"},
	{"RW access delete 1", "getdel lpop rpop spop zpopmax zpopmin"},
	{"RW access delete 1:-2", "blpop brpop bzpopmax bzpopmin"},
	{"RW access delete 1#", "lmpop zmpop"},
	{"RW access delete 2#", "blmpop bzmpop"},
	{"RW access delete 1, RW insert 2", "blmove brpoplpush lmove rpoplpush smove"},
	{"RW access delete 1, OW update 2", "rename"},
	{"RW access delete 1, OW insert 2", "renamenx"},
	{"RW access delete 3, RW access delete incomplete KEYS@-2:-1", "migrate"},
	{"RM delete 1:-1", "del unlink"},
	{"OW insert 1", "setnx"},
	{"OW insert 1:-1/2", "msetnx"},
	{"OW update 1", "psetex restore restore-asking setex"},
	{"OW update 1:-1/2", "mset"},
	{"OW update 1, RO access 2", "geosearchstore zrangestore"},
	{"OW update 1, RO access 2:-1", "sdiffstore sunionstore"},
	{"OW update 1, RO access 2#", "zdiffstore zinterstore zunionstore"},
	{"OW update 2, RO access 3:-1", "bitop"},
	{"not_key 1", "spublish"},
	{"not_key 1:-1", "ssubscribe sunsubscribe"},
}

// specsOf is the specifications of each command, by its full name.
var specsOf = func() map[string][]keySpec {
	found := make(map[string][]keySpec)
	for _, one := range keySpecTable {
		specs := parseKeySpecs(one.specs)
		for name := range strings.FieldsSeq(one.commands) {
			found[name] = specs
		}
	}
	return found
}()

// placeKeys sums up the specifications of a command: the keys in fixed places as one range
// (negative: from the end), and whether there are others.
// Source: populateCommandLegacyRangeSpec of Redis 7.0.
func (cmd *Command) placeKeys() {
	for i := range cmd.specs {
		spec := &cmd.specs[i]
		if spec.numbered {
			cmd.keyCount = spec.index
		}
		if spec.unknown || spec.numbered || spec.keyword != "" || cmd.lastKey != 0 && cmd.lastKey != spec.index-1 {
			cmd.Flags |= MovableKeys
			continue
		}
		if cmd.firstKey == 0 {
			cmd.firstKey, cmd.keyStep = spec.index, spec.step
		}
		cmd.lastKey = spec.last
		if spec.last >= 0 {
			cmd.lastKey += spec.index
		}
	}
}

// parseKeySpecs reads specifications with commas between them.
func parseKeySpecs(text string) []keySpec {
	var specs []keySpec
	for one := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(one)
		spec := keySpec{step: 1}
		for _, word := range words[:len(words)-1] {
			spec.flags |= keyFlagOf(word)
		}
		spec.place(words[len(words)-1])
		specs = append(specs, spec)
	}
	return specs
}

// place reads where keys stand.
func (spec *keySpec) place(text string) {
	if text == "?" {
		spec.unknown = true
		return
	}
	text, spec.numbered = strings.CutSuffix(text, "#")
	text, spec.limit = cutNumber(text, "%", 0)
	text, spec.step = cutNumber(text, "/", 1)
	text, spec.last = cutNumber(text, ":", 0)
	if keyword, rest, ok := strings.Cut(text, "@"); ok {
		spec.keyword, text = keyword, rest
	}
	_, spec.index = cutNumber("@"+text, "@", 0)
}

// cutNumber takes a number behind sign away from the end of text.
func cutNumber(text, sign string, otherwise int) (rest string, n int) {
	rest, digits, ok := strings.Cut(text, sign)
	if !ok {
		return text, otherwise
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic("engine: key specification " + text)
	}
	return rest, n
}

func keyFlagOf(name string) keyFlag {
	for _, one := range keyFlagNames {
		if one.name == name {
			return one.flag
		}
	}
	panic("engine: no key flag " + name)
}
