package server_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

var (
	protocolSeed  = flag.Uint64("protocol.seed", 0, "seed of the random conversations; 0: by the clock")
	conversations = flag.Int("protocol.conversations", 2000, "how many random conversations are compared")
)

// TestProtocolAgainstRedis sends random bytes that are almost requests to a server and to
// the one at REDIS_SERVER (host:port, empty), each time on a new connection that then says
// that it will send no more, and compares all that comes back until the end. Half of the
// clients are strangers, who would have to give a password.
func TestProtocolAgainstRedis(t *testing.T) {
	address := redisserver.Address(t)
	seed := *protocolSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay: REDIS_SERVER=%s go test ./server -run TestProtocolAgainstRedis -protocol.seed=%d "+
		"-protocol.conversations=%d", address, seed, *conversations)
	_, ours := start(t)
	random := rand.New(rand.NewPCG(seed, 0))
	compareConversations(t, random, address, ours, "FLUSHALL\r\n")
	setPassword := func(from, to string) {
		text := fmt.Sprintf("AUTH %s\r\nCONFIG SET requirepass %q\r\n", from, to)
		for _, server := range []string{address, ours} {
			require.Contains(t, answers(t, server, []string{text}), "+OK")
		}
	}
	setPassword("", "secret")
	defer setPassword("secret", "")
	compareConversations(t, random, address, ours, "")
}

// compareConversations compares half of the conversations, each of which begins with the
// given words.
func compareConversations(t *testing.T, random *rand.Rand, address, ours, words string) {
	const most = 5
	differences, size, count := 0, 0, *conversations/2
	for range count {
		pieces := append([]string{words}, conversation(random)...)
		want, got := answers(t, address, pieces), answers(t, ours, pieces)
		size += len(strings.Join(pieces, ""))
		if want == got {
			continue
		}
		for i := 1; i < len(pieces); i++ {
			shorter := slices.Delete(slices.Clone(pieces), i, i+1)
			if a, b := answers(t, address, shorter), answers(t, ours, shorter); a != b {
				pieces, want, got, i = shorter, a, b, 0
			}
		}
		t.Errorf("after %q\nredis-server: %q\nminikv:       %q", pieces, want, got)
		if differences++; differences == most {
			break
		}
	}
	t.Logf("%d conversations of %d bytes, %d differences", count, size, differences)
}

// answers is all that a server sends to a client that sends pieces and no more. A server
// that has closed the connection after a fault refuses what comes later, which is no
// difference.
func answers(t *testing.T, address string, pieces []string) string {
	t.Helper()
	socket, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer func() { require.NoError(t, socket.Close()) }()
	require.NoError(t, socket.SetDeadline(time.Now().Add(10*time.Second)))
	_, _ = io.WriteString(socket, strings.Join(pieces, ""))
	_ = socket.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(socket)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("%q: %v after %q", pieces, err, all)
	}
	return inOrder(string(all))
}

// unsubscribed is a run of what says that a channel is left.
var unsubscribed = regexp.MustCompile(`(?s)(?:\*3\r\n\$11\r\nunsubscribe\r\n\$\d+\r\n.*?\r\n:\d+\r\n)+`)

// inOrder is a reply in which channels that are left one after the other have the order
// of their names. UNSUBSCRIBE leaves all in the order of a hash table, whose seed is another
// one in each process of redis-server.
func inOrder(reply string) string {
	return unsubscribed.ReplaceAllStringFunc(reply, func(run string) string {
		const begin = "*3\r\n$11\r\nunsubscribe\r\n"
		var names, counts []string
		for _, one := range strings.Split(run, begin)[1:] {
			at := strings.LastIndex(one, "\r\n:")
			names, counts = append(names, one[:at]), append(counts, one[at:])
		}
		slices.Sort(names)
		var b strings.Builder
		for i := range names {
			b.WriteString(begin + names[i] + counts[i])
		}
		return b.String()
	})
}

// conversation makes the pieces of what a client sends: mostly requests, with a fault now
// and then.
func conversation(random *rand.Rand) (pieces []string) {
	for range 1 + random.IntN(12) {
		pieces = append(pieces, request(random))
	}
	for random.IntN(3) > 0 {
		at := random.IntN(len(pieces))
		pieces[at] = spoiled(random, pieces[at])
	}
	return pieces
}

func choose(random *rand.Rand, choices ...string) string { return choices[random.IntN(len(choices))] }

// requests are forms of requests, in which W is any word.
var requests = strings.Split("PING|PING W|ECHO W|SET W W|GET W|get W|GET|DEL W W|APPEND W W|INCR W|STRLEN W|TYPE W|"+
	"EXISTS W W|MGET W W W|RPUSH W W W|LRANGE W 0 -1|HSET W W W|HGET W W|SELECT 0|MULTI|EXEC|DISCARD|WATCH W|"+
	"CLIENT SETNAME W|CLIENT GETNAME|CLIENT REPLY W|CLIENT REPLY SKIP|SUBSCRIBE a|UNSUBSCRIBE|PSUBSCRIBE a|"+
	"PUBLISH W W|QUIT|RESET|W|W W|W W W|AUTH W|AUTH secret|AUTH default secret|OBJECT W W|CONFIG W W|EVAL W 0|"+
	"EVAL W W W", "|")

// request is a whole request, as a client library or somebody at a terminal sends it.
func request(random *rand.Rand) string {
	words := strings.Fields(choose(random, requests...))
	for i := range words {
		if words[i] == "W" {
			words[i] = word(random)
		}
	}
	if random.IntN(3) > 0 {
		return string(resp.AppendCommand(nil, words...))
	}
	for i := range words {
		switch random.IntN(6) {
		case 0:
			words[i] = resp.Quote(words[i])
		case 1:
			words[i] = "'" + words[i] + "'"
		}
	}
	return strings.Join(words, choose(random, " ", " ", " ", "  ", "\t", " \v", "\x00")) +
		choose(random, "\r\n", "\r\n", "\n", "\r\r\n", " \r\n")
}

func word(random *rand.Rand) string {
	return choose(random, "a", "b", "key", "x y", "", "1", "-1", "9223372036854775807", "007", "\r\n", "\x00", "'", `"`,
		"\\", `\x41`, `\n`, "ON", "OFF", "\xff", "return 1", "nosuch", "%s%n", strings.Repeat("l", 40+random.IntN(200)),
		fmt.Sprint(random.IntN(1000)))
}

// faults are what may stand before a request: what a client of another protocol sends,
// or a wrong length.
var faults = []string{
	"*0\r\n", "*-1\r\n", "*-2\r\n", "*\r\n", "*+1\r\n", "*01\r\n", "*x\r\n", "* 1\r\n", "*1 \r\n", "*10\r\n", "*11\r\n",
	"*2147483647\r\n", "*2147483648\r\n", "*9223372036854775808\r\n", "*3\r\n$3\r\nSET\r\n",
	"*1\r\n$4\r\nPI",
	"*1\r\n$0\r\n\r\n", "*1\r\n$-1\r\n", "*1\r\n$x\r\n", "*1\r\n$+4\r\nPING\r\n", "*1\r\n$04\r\nPING\r\n",
	"*1\r\n$536870913\r\n", "*2\r\n$4\r\nECHO\r\n$16385\r\n", "*2\r\n$4\r\nECHO\r\n$16384\r\n", "*1\r\n:1\r\n",
	"*1\r\n\r\n", "*1\r\n\n", "*1\n$4\nPING\n", "*1\rx$4\rxPING\r\n", "\r\n", "\n", "\x00\r\n",
	"$4\r\nPING\r\n", "+OK\r\n",
	"GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n", "Host: x\r\n", "post\r\n", "host: x\r\n",
}

// spoiled is a request with a fault.
func spoiled(random *rand.Rand, text string) string {
	at := random.IntN(len(text) + 1)
	switch random.IntN(8) {
	case 0:
		return text[:at]
	case 1:
		return text[at:]
	case 2:
		more := choose(random, "*", "$", "\r", "\n", "\r\n", "\x00", " ", "'", `"`, "-", "+", "0", "9", "x", "\xff")
		return text[:at] + more + text[at:]
	case 3:
		if at < len(text) {
			return text[:at] + string(rune(random.IntN(128))) + text[at+1:]
		}
	case 4:
		return choose(random, faults...) + text
	case 5:
		return strings.Replace(text, "\r\n", choose(random, "\n", "\r", "\n\r", "\r\n\r\n", ""), 1+random.IntN(3))
	case 6:
		return strings.Replace(text, "$", choose(random, "$1", "$-", "*", "$0", "$ "), 1)
	}
	return text + text[at:]
}
