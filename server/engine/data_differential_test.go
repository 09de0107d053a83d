package engine

import (
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// dataGrammar is one line per command form. K is a key, X the key of a sorted
// set whose scores are equal (ranges of names mean nothing over others), F a
// field or element, V a value, N an integer, D a fraction, S a bound of scores,
// L one of names, T a date; a|b is one of both, and a leading ? makes a word
// optional. Dates are absolute, so that the two servers' clocks do not matter.
const dataGrammar = `
SET K V ?NX|XX ?GET ?KEEPTTL
SET K V PXAT|EXAT T ?NX|XX ?GET
GET K
GETDEL K
GETEX K ?PERSIST
GETEX K PXAT|EXAT T
GETSET K V
SETNX K V
MSET K V K V
MSETNX K V K V
MGET K K
APPEND K V
STRLEN K
GETRANGE K N N
SETRANGE K N V
INCR K
INCRBY K N
DECRBY K N
INCRBYFLOAT K D
HSET K F V F V
HMSET K F V
HSETNX K F V
HGET K F
HMGET K F F
HGETALL K
HKEYS K
HVALS K
HLEN K
HSTRLEN K F
HEXISTS K F
HDEL K F F F
HINCRBY K F N
HINCRBYFLOAT K F D
LPUSH K F F
RPUSH K F F
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
DEL|UNLINK K
EXISTS|TOUCH K K
TYPE K
RENAME K K
RENAMENX K K
DBSIZE
EXPIREAT|PEXPIREAT K T ?NX|XX|GT|LT ?XX|GT
EXPIRETIME|PEXPIRETIME K
PERSIST K
`

// TestDataCommandsAgainstRedis sends random commands to the engine and to the
// server at REDIS_SERVER and compares the replies, in RESP2 and RESP3.
func TestDataCommandsAgainstRedis(t *testing.T) {
	address := os.Getenv("REDIS_SERVER")
	if address == "" {
		t.Skip("REDIS_SERVER is not set")
	}
	forms := strings.Split(strings.TrimSpace(dataGrammar), "\n")
	real, ours := newRealTarget(t, address), newEngineTarget()
	for _, tg := range []target{real, ours} {
		tg.connect("2", 2)
		tg.connect("3", 3)
	}
	random := rand.New(rand.NewSource(1))
	var history []string
	for range 40_000 {
		line := randomCommand(random, forms[random.Intn(len(forms))])
		if random.Intn(1000) == 0 {
			line, history = "FLUSHALL", nil
		}
		history = append(history, line)
		cmd, ok := resp.SplitArgs([]byte(line))
		require.True(t, ok, line)
		client := []string{"2", "3"}[random.Intn(2)]
		real.send(client, cmd)
		ours.send(client, cmd)
		want, _ := real.next(client, true)
		got, _ := ours.next(client, true)
		require.Equal(t, resp.Describe(want), resp.Describe(got), "RESP%s, after\n%s",
			client, strings.Join(history[max(0, len(history)-30):], "\n"))
	}
}

// randomCommand fills in a form of the grammar.
func randomCommand(random *rand.Rand, form string) string {
	var words []string
	for _, word := range strings.Fields(form) {
		if strings.HasPrefix(word, "?") {
			if random.Intn(3) > 0 {
				continue
			}
			word = word[1:]
		}
		choices := strings.Split(word, "|")
		words = append(words, randomWord(random, choices[random.Intn(len(choices))]))
	}
	return strings.Join(words, " ")
}

func randomWord(random *rand.Rand, kind string) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	switch kind {
	case "K":
		return "key" + strconv.Itoa(random.Intn(8))
	case "X":
		return "names" + strconv.Itoa(random.Intn(2))
	case "F":
		return pick("a", "b", "c", "d", "e", "alpha", "1", `""`)
	case "V":
		return pick("x", "text", `""`, "1", "-7", "10", "3.5", "1e3", "9223372036854775807", "01")
	case "N":
		return pick("0", "1", "2", "3", "-1", "-2", "-3", "7", "-100", "100", "x", "9223372036854775807")
	case "D":
		return pick("0", "1", "-1", "0.1", "0.2", "2.5", "1e3", "1e-7", "3.14159265358979", "1e17", "inf", "-inf", "x")
	case "S":
		return pick("-inf", "+inf", "0", "1", "(1", "2.5", "(2.5", "0.1", "1e3", "(-1", "x", "(")
	case "L":
		return pick("-", "+", "[a", "(a", "[c", "(c", "[alpha", "[1", "[", "(", "x")
	case "T":
		return pick("99999999999", "99999999998", "99999999997", "9999999999900", "1", "0", "-1", "x")
	}
	return kind
}
