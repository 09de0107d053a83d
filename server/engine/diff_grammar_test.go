package engine

import (
	"math/rand"
	"strconv"
	"strings"
)

// diffGrammar is one line per command form. K is a key, X the key of a sorted
// set whose scores are equal (ranges of names mean nothing over others), B the
// key of a bitmap, F a field or element, V a value, N an integer, C a small
// count, D a fraction, S a bound of scores, L one of names, T a date in
// milliseconds, U a time to live that does not end during the test, O a bit's
// number, Y a bitfield's type, P a pattern, Q a script; a|b is one of both, and
// a leading ? makes a word optional.
const diffGrammar = `
SET K V ?NX|XX ?GET ?KEEPTTL
SET K V PXAT|EXAT T ?NX|XX ?GET
SET K V EX|PX U ?NX|XX ?GET
GET K
GETDEL K
GETEX K ?PERSIST
GETEX K PXAT|EXAT T
GETSET K V
SETNX K V
SETEX|PSETEX K U V
MSET K V K V
MSETNX K V K V
MGET K K
APPEND K V
STRLEN K
GETRANGE|SUBSTR K N N
SETRANGE K C V
INCR|DECR K
INCRBY|DECRBY K N
INCRBYFLOAT K D
LCS K K
LCS K K LEN|IDX ?WITHMATCHLEN
LCS K K IDX MINMATCHLEN N
SETBIT B O 0|1
GETBIT B O
BITCOUNT B
BITCOUNT B N N ?BIT|BYTE
BITPOS B 0|1
BITPOS B 0|1 N ?N ?BIT|BYTE
BITOP AND|OR|XOR B B B
BITOP NOT B B
BITFIELD B GET Y O
BITFIELD B SET Y O N
BITFIELD B OVERFLOW WRAP|SAT|FAIL INCRBY Y O N
BITFIELD B OVERFLOW WRAP|SAT|FAIL SET Y #1 N GET Y O INCRBY Y O D
BITFIELD_RO B GET Y O GET Y #2
HSET K F V F V
HMSET K F V
HSETNX K F V
HGET K F
HMGET K F F
HGETALL|HKEYS|HVALS K
HLEN K
HSTRLEN K F
HEXISTS K F
HDEL K F F F
HINCRBY K F N
HINCRBYFLOAT K F D
HRANDFIELD K ?N
HRANDFIELD K N WITHVALUES
HSCAN K 0 ?MATCH P COUNT 1000
LPUSH|RPUSH K F F
LPUSHX|RPUSHX K F
LPOP|RPOP K ?N
LMPOP 2 K K LEFT|RIGHT ?COUNT N
LMPOP 1 K LEFT|RIGHT COUNT N
LLEN K
LINDEX K N
LRANGE K N N
LREM K N F
LSET K N F
LTRIM K N N
LINSERT K BEFORE|AFTER F F
LPOS K F ?RANK N
LPOS K F COUNT N
LPOS K F COUNT N MAXLEN N
LMOVE K K LEFT|RIGHT LEFT|RIGHT
RPOPLPUSH K K
BLPOP|BRPOP K K 0.01
BLMOVE K K LEFT|RIGHT LEFT|RIGHT 0.01
BRPOPLPUSH K K 0.01
BLMPOP 0.01 2 K K LEFT|RIGHT ?COUNT N
BZPOPMIN|BZPOPMAX K K 0.01
BZMPOP 0.01 2 K K MIN|MAX ?COUNT N
SADD K F F F
SADD K N N
SREM K F F
SCARD K
SISMEMBER K F
SMISMEMBER K F N F
SMEMBERS K
SMOVE K K F
SPOP K 1000
SPOP K 0
SRANDMEMBER K ?N
SINTER|SUNION|SDIFF K ?K ?K
SINTERSTORE|SUNIONSTORE|SDIFFSTORE K K ?K
SINTERCARD 2 K K ?LIMIT N
SSCAN K 0 ?MATCH P COUNT 1000
ZADD K ?NX|XX ?GT|LT ?CH D F D F
ZADD K INCR D F
ZINCRBY K D F
ZREM K F F
ZSCORE K F
ZMSCORE K F F
ZCARD K
ZCOUNT K S S
ZLEXCOUNT X L L
ZRANK K F
ZREVRANK K F
ZADD X 0 F 0 F
ZRANGE K N N ?REV ?WITHSCORES
ZRANGE K S S BYSCORE ?REV ?WITHSCORES
ZRANGE K S S BYSCORE LIMIT N N
ZRANGE X L L BYLEX ?REV
ZRANGESTORE K K N N ?REV
ZRANGESTORE K K S S BYSCORE ?REV
ZRANGESTORE K K S S BYSCORE LIMIT N N
ZRANGESTORE K X L L BYLEX ?REV
ZRANGEBYSCORE|ZREVRANGEBYSCORE K S S ?WITHSCORES
ZRANGEBYSCORE|ZREVRANGEBYSCORE K S S LIMIT N N
ZRANGEBYLEX|ZREVRANGEBYLEX X L L
ZREVRANGE K N N
ZREMRANGEBYSCORE K S S
ZREMRANGEBYRANK K N N
ZREMRANGEBYLEX X L L
ZPOPMIN|ZPOPMAX K ?N
ZMPOP 2 K K MIN|MAX
ZMPOP 1 K MIN|MAX COUNT N
ZRANDMEMBER K ?N
ZRANDMEMBER K N WITHSCORES
ZDIFF 2 K K ?WITHSCORES
ZINTER|ZUNION 2 K K ?WITHSCORES
ZINTER|ZUNION 3 K K K WEIGHTS D D D ?AGGREGATE ?SUM|MIN|MAX ?WITHSCORES
ZINTER|ZUNION 2 K K AGGREGATE SUM|MIN|MAX ?WITHSCORES
ZDIFFSTORE K 2 K K
ZINTERSTORE|ZUNIONSTORE K 2 K K ?WEIGHTS ?D ?D
ZINTERSTORE|ZUNIONSTORE K 2 K K AGGREGATE SUM|MIN|MAX
ZINTERCARD 2 K K ?LIMIT N
ZSCAN K 0 ?MATCH P COUNT 1000
DEL|UNLINK K
EXISTS|TOUCH K K
TYPE K
RENAME K K
RENAMENX K K
COPY K K ?REPLACE
COPY K K DB 1 ?REPLACE
MOVE K 1
SWAPDB 0 1
SELECT 0|1|0
DBSIZE
RANDOMKEY
KEYS P
SCAN 0 ?MATCH P COUNT 1000 ?TYPE ?string|hash|zset
SORT K ?ASC|DESC ?ALPHA
SORT K LIMIT N N ?DESC
SORT K ALPHA GET # GET key* GET key*->a ?STORE ?K
SORT K BY key* ?DESC
SORT_RO K ALPHA ?LIMIT ?N ?N
OBJECT ENCODING K
OBJECT REFCOUNT K
OBJECT IDLETIME|FREQ K
EXPIREAT|PEXPIREAT K T ?NX|XX|GT|LT ?XX|GT
EXPIRE|PEXPIRE K U ?NX|XX|GT|LT
EXPIRETIME|PEXPIRETIME K
TTL|PTTL K
PERSIST K
MULTI
EXEC
EXEC
DISCARD
WATCH K
UNWATCH
PING ?V
ECHO V
EVAL Q 2 K K V N
EVAL_RO Q 2 K K V N
PUBLISH K V
COMMAND GETKEYS SORT K STORE K
COMMAND GETKEYS ZUNIONSTORE K 2 K K
CLIENT GETNAME
CLIENT SETNAME F
TIME
`

// diffScripts are the scripts that Q stands for.
var diffScripts = []string{
	`return redis.call('GET',KEYS[1])`,
	`return redis.pcall('GET',KEYS[1])`,
	`return redis.call('SET',KEYS[1],ARGV[1])`,
	`return {redis.call('TYPE',KEYS[1]),redis.call('EXISTS',KEYS[2]),ARGV[1],tonumber(ARGV[2])}`,
	`redis.call('RPUSH',KEYS[1],ARGV[1]) return redis.call('LRANGE',KEYS[1],0,-1)`,
	`redis.call('HSET',KEYS[1],'f',ARGV[1]) return redis.call('HGET',KEYS[1],'f')`,
	`redis.setresp(3) return redis.call('ZRANGE',KEYS[1],0,-1,'WITHSCORES')`,
	`return redis.call('BLPOP',KEYS[1],0)`,
	`return redis.call('NOSUCH',KEYS[1])`,
	`return redis.error_reply('MY '..ARGV[2])`,
	`return #KEYS+#ARGV`,
	`return ARGV[1]+1`,
	`return KEYS[3]..'x'`,
	`redis.call('DEL',KEYS[1]) redis.call('SADD',KEYS[1],ARGV[2],3,1) return redis.call('SORT',KEYS[1],'BY','nosort')`,
}

// diffWord fills in one word of the grammar, in redis-cli's quoting.
func diffWord(random *rand.Rand, kind string) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	switch kind {
	case "K":
		return "key" + strconv.Itoa(random.Intn(8))
	case "X":
		return "names" + strconv.Itoa(random.Intn(2))
	case "B":
		return "bits" + strconv.Itoa(random.Intn(3))
	case "F":
		return pick("a", "b", "c", "d", "e", "alpha", "1", "-0", `""`, `"\xff\x01"`)
	case "V":
		return pick("x", "text", `""`, "1", "-7", "10", "3.5", "1e3", "9223372036854775807", "01", `"\r\n\x00"`,
			strings.Repeat("y", 44), strings.Repeat("z", 70))
	case "N":
		return pick("0", "1", "2", "3", "-1", "-2", "-3", "7", "-100", "100", "x", "9223372036854775807",
			"-9223372036854775808", "9223372036854775808", "01")
	case "C":
		return pick("0", "1", "3", "100", "-1", "x", "9223372036854775807")
	case "D":
		return pick("0", "1", "-1", "0.1", "0.2", "2.5", "1e3", "1e-7", "3.14159265358979", "1e17", "inf", "-inf",
			"-0", "x", "nan")
	case "S":
		return pick("-inf", "+inf", "0", "1", "(1", "2.5", "(2.5", "0.1", "1e3", "(-1", "x", "(")
	case "L":
		return pick("-", "+", "[a", "(a", "[c", "(c", "[alpha", "[1", "[", "(", "x")
	case "T":
		return pick("9999999999900", "9999999999800", "9999999999700", "99999999999", "1", "0", "-1", "x",
			"9223372036854775807")
	case "U":
		return pick("100000", "99999999", "0", "-1", "x", "9223372036854775807", "9223372036854775")
	case "O":
		return pick("0", "1", "7", "8", "9", "31", "63", "100", "#1", "-1", "x", "4294967296", "9223372036854775807")
	case "Y":
		return pick("u8", "i8", "u1", "i1", "u5", "i13", "u63", "i64", "u64", "i65", "x")
	case "P":
		return pick("*", "key*", "?", "[a-c]", "*1", "x*")
	case "Q":
		return strconv.Quote(diffScripts[random.Intn(len(diffScripts))])
	}
	return kind
}

// diffCommand fills in a form of the grammar, and now and then spoils it.
func diffCommand(random *rand.Rand, form string) string {
	var words []string
	for _, word := range strings.Fields(form) {
		if strings.HasPrefix(word, "?") {
			if random.Intn(3) > 0 {
				continue
			}
			word = word[1:]
		}
		choices := strings.Split(word, "|")
		words = append(words, diffWord(random, choices[random.Intn(len(choices))]))
	}
	if words[0] == "SPOP" || strings.Contains(form, "0.01") {
		return strings.Join(words, " ") // it would take out something random, or wait for long
	}
	switch at := random.Intn(len(words)); random.Intn(60) {
	case 0:
		words = words[:max(1, len(words)-1)]
	case 1:
		words = append(words, diffWord(random, "V"))
	case 2:
		if at > 1 || at == 1 && !strings.HasPrefix(words[0], "EVAL") { // texts of compile errors differ
			words[at] = diffWord(random, []string{"V", "N", "D", "K"}[random.Intn(4)])
		}
	}
	return strings.Join(words, " ")
}
