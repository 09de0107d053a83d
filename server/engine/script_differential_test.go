package engine

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

// TestScriptsAgainstRedis sends random Lua programs to the engine and to the
// server at REDIS_SERVER and compares the replies, in RESP2 and RESP3.
func TestScriptsAgainstRedis(t *testing.T) {
	address := redisserver.Address(t)
	seed, programs := seedOfRun(), *diffScripts
	t.Logf("replay: REDIS_SERVER=%s go test ./server/engine -run TestScriptsAgainstRedis -diff.seed=%d -diff.scripts=%d",
		address, seed, programs)
	real, ours := newRealTarget(t, address), newEngineTarget()
	for _, tg := range []target{real, ours} {
		tg.connect("2", 2)
		tg.connect("3", 3)
	}
	asked := 0
	ours.node.cfg.Limit = func() string {
		if asked++; asked > 5000 {
			return "ERR it does not end"
		}
		return ""
	}
	eval := func(tg target, client, program string) string {
		asked = 0
		tg.send(client, bytesOf([]string{"FLUSHALL"}))
		_, ok := tg.next(client, true)
		require.True(t, ok)
		tg.send(client, bytesOf([]string{"EVAL", program, "2", "k1", "k2", "a1", "22", "a3"}))
		v, ok := tg.next(client, true)
		require.True(t, ok, "no reply to %s", program)
		return resp.Describe(v)
	}
	random := rand.New(rand.NewSource(seed))
	lines, structured := newScriptMaker(random), &luaMaker{random: random}
	differences := 0
	for i := range programs {
		if i > 0 && i%10_000 == 0 {
			t.Logf("%d programs, %d differences", i, differences)
		}
		// Half of each: lines meet functions and operators with values of every kind,
		// programs of luaGrammar variables, functions and control flow with each other.
		// Neither finds the faults of the other, and half a run of either finds its own.
		var p randomProgram = structured.program()
		if random.Intn(2) == 0 {
			p = lines.program()
		}
		client := []string{"2", "3"}[random.Intn(2)]
		differs := func() bool {
			program := p.String()
			return eval(real, client, program) != eval(ours, client, program)
		}
		if differs() {
			differences++
			p.shrink(differs)
			program := p.String()
			t.Errorf("program %d, RESP%s\n%swant %s\ngot  %s", i, client,
				program, eval(real, client, program), eval(ours, client, program))
		}
	}
	t.Logf("%d programs, %d differences", programs, differences)
}

// randomProgram is a program that can be made shorter.
type randomProgram interface {
	String() string
	// shrink leaves out what the program does not need to differ.
	shrink(differs func() bool)
}

func bytesOf(words []string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

// raisesValues reports whether a statement may raise something other than a
// text: redis-server 7.0.15 dies of it if nothing catches it.
func raisesValues(statement string) bool {
	return strings.Contains(statement, "error") || strings.Contains(statement, "assert")
}
