package engine

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

// TestDumpsAgainstRedis makes random values in the engine and in the server at
// REDIS_SERVER and compares their DUMPs byte for byte, but for hash tables,
// which have no order in Redis. Each side then restores the other's payload
// and must have the same value.
func TestDumpsAgainstRedis(t *testing.T) {
	address := redisserver.Address(t)
	const values = 1000
	real, ours := newRealTarget(t, address), newEngineTarget()
	ask := func(tg target, words ...string) resp.Value {
		cmd := make([][]byte, len(words))
		for i, word := range words {
			cmd[i] = []byte(word)
		}
		tg.send(control, cmd)
		v, ok := tg.next(control, true)
		require.True(t, ok, words)
		return v
	}
	ours.connect(control, 2)
	random := rand.New(rand.NewSource(*diffSeed))
	for i := range values {
		key := fmt.Sprint("key", i)
		lines := dumpedValue(random, key)
		var want, got, read resp.Value
		for _, words := range lines {
			read = ask(real, words...)
			require.Equal(t, resp.Describe(read), resp.Describe(ask(ours, words...)), words)
		}
		encoding := ask(real, "OBJECT", "ENCODING", key).Str
		require.Equal(t, encoding, ask(ours, "OBJECT", "ENCODING", key).Str)
		want, got = ask(real, "DUMP", key), ask(ours, "DUMP", key)
		if encoding != "hashtable" {
			require.Equal(t, fmt.Sprintf("%q", want.Str), fmt.Sprintf("%q", got.Str), "%q", lines)
		}
		require.Equal(t, "OK", ask(ours, "RESTORE", key, "0", want.Str, "REPLACE").Str, "%q", want.Str)
		require.Equal(t, "OK", ask(real, "RESTORE", key, "0", got.Str, "REPLACE").Str, "%q", got.Str)
		after := ask(real, "OBJECT", "ENCODING", key).Str
		require.Equal(t, after, ask(ours, "OBJECT", "ENCODING", key).Str)
		want, got = ask(real, readBack(key, lines)...), ask(ours, readBack(key, lines)...)
		sortReply(want)
		sortReply(got)
		require.Equal(t, resp.Describe(want), resp.Describe(got))
		if encoding != "hashtable" && encoding != "skiplist" {
			require.Equal(t, ask(real, "DUMP", key).Str, ask(ours, "DUMP", key).Str)
		}
	}
}

// dumpedValue is commands that make a value.
func dumpedValue(random *rand.Rand, key string) (lines [][]string) {
	n := 1 + random.Intn(1<<random.Intn(8))
	numbers := random.Intn(2) == 0
	text := func() string {
		switch {
		case numbers || random.Intn(4) == 0:
			return fmt.Sprint(random.Int63()>>random.Intn(63) - random.Int63()>>random.Intn(63))
		case random.Intn(2) == 0:
			return strings.Repeat(string(rune('a'+random.Intn(26))), random.Intn(1<<random.Intn(9)))
		}
		b := make([]byte, random.Intn(1<<random.Intn(10)))
		for i := range b {
			b[i] = byte(random.Intn(1 + random.Intn(255)))
		}
		return string(b)
	}
	kind := random.Intn(6)
	if kind == 0 {
		return [][]string{{"SET", key, strings.Repeat(text(), 1+random.Intn(4)) + text()}}
	}
	for i := range n {
		switch kind {
		case 1:
			lines = append(lines, []string{"RPUSH", key, text()})
		case 2:
			lines = append(lines, []string{"SADD", key, text()})
		case 3:
			lines = append(lines, []string{"HSET", key, text(), text()})
		case 4:
			score := fmt.Sprint(random.Intn(9), ".", random.Intn(4)*25, "e", random.Intn(30)-10)
			lines = append(lines, []string{"ZADD", key, strings.ReplaceAll(score, " ", ""), text()})
		case 5:
			id := fmt.Sprintf("%d-%d", i/3+1, i%3+1)
			add := []string{"XADD", key, id, "f", text()}
			if random.Intn(3) == 0 {
				add = append(add, "g", text())
			}
			lines = append(lines, add)
			if random.Intn(5) == 0 {
				lines = append(lines, []string{"XDEL", key, id})
			}
		}
	}
	if kind == 5 && random.Intn(2) == 0 {
		lines = append(lines, []string{"XGROUP", "CREATE", key, "g", "0", "ENTRIESREAD", "1"},
			[]string{"XGROUP", "CREATE", key, "h", "$"})
	}
	return lines
}

// readBack is the command that reads the value that lines have made.
func readBack(key string, lines [][]string) []string {
	switch lines[0][0] {
	case "RPUSH":
		return []string{"LRANGE", key, "0", "-1"}
	case "SADD":
		return []string{"SMEMBERS", key}
	case "HSET":
		return []string{"HGETALL", key}
	case "ZADD":
		return []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
	case "XADD":
		return []string{"XINFO", "STREAM", key, "FULL", "COUNT", "0"}
	}
	return []string{"GET", key}
}
