package engine

import (
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestScriptsAgainstRedis sends random Lua programs to the engine and to the
// server at REDIS_SERVER and compares the replies, in RESP2 and RESP3.
func TestScriptsAgainstRedis(t *testing.T) {
	address := os.Getenv("REDIS_SERVER")
	if address == "" {
		t.Skip("REDIS_SERVER is not set")
	}
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
		if asked++; asked > 50 {
			return "ERR it does not end"
		}
		return ""
	}
	eval := func(tg target, client, program string) string {
		asked = 0
		tg.send(client, bytesOf([]string{"FLUSHALL"}))
		_, ok := tg.next(client, true)
		require.True(t, ok)
		tg.send(client, bytesOf([]string{"EVAL", program, "0"}))
		v, ok := tg.next(client, true)
		require.True(t, ok, "no reply to %s", program)
		return compileError.ReplaceAllString(resp.Describe(v), "$1")
	}
	m := &scriptMaker{
		random:      rand.New(rand.NewSource(seed)),
		statements:  scriptStatements(),
		expressions: strings.Split(strings.TrimSpace(scriptExpressions), "\n"),
	}
	differences, all := 0, 0
	for i := range programs {
		if i > 0 && i%10_000 == 0 {
			t.Logf("%d programs, %d differences", i, differences)
		}
		statements := make([]string, 1+m.random.Intn(6))
		for j := range statements {
			statements[j] = m.fill(m.pick(m.statements), 2)
		}
		bare := m.random.Intn(3) == 0 && !raisesValues(statements[len(statements)-1])
		client := []string{"2", "3"}[m.random.Intn(2)]
		differs := func(list []string) bool {
			program := scriptProgram(list, bare)
			return eval(real, client, program) != eval(ours, client, program)
		}
		all += len(statements)
		if differs(statements) {
			differences++
			program := scriptProgram(shrunk(statements, differs), bare)
			t.Errorf("RESP%s\n%swant %s\ngot  %s", client,
				strings.TrimPrefix(program, scriptPrelude), eval(real, client, program), eval(ours, client, program))
		}
	}
	t.Logf("%d programs of %d statements, %d differences", programs, all, differences)
}

func bytesOf(words []string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

// compileError is an error of the compiler, whose text after the line is not
// that of Lua's own.
var compileError = regexp.MustCompile(`(?s)(Error compiling script \(new function\): user_script:)\d+:.*`)

// scriptStatements joins lines that begin with a blank to the one before.
func scriptStatements() []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSpace(scriptGrammar), "\n ", "\r "), "\n")
}

// raisesValues reports whether a statement may raise something other than a
// text: redis-server 7.0.15 dies of it if nothing catches it.
func raisesValues(statement string) bool {
	return strings.Contains(statement, "error") || strings.Contains(statement, "assert")
}

// shrunk drops statements as long as what is left still differs.
func shrunk(statements []string, differs func([]string) bool) []string {
	for i := 0; i < len(statements) && len(statements) > 1; {
		rest := slices.Delete(slices.Clone(statements), i, i+1)
		if differs(rest) {
			statements = rest
		} else {
			i++
		}
	}
	return statements
}
