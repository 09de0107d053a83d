package java

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/server/engine"
	"minikv/sim"
	"minikv/trace"
)

// The walks of TestScripts.
const (
	walks = 100 // of each family
	steps = 200 // of a walk
)

// families are the scripts that one lock's requests run.
var families = [][]string{
	{"mutex-acquire", "mutex-release", "mutex-renew"},
	{"fenced-acquire", "mutex-release", "mutex-renew"},
	{"fair-acquire", "fair-try", "fair-withdraw", "fair-release", "mutex-renew"},
	{"read-acquire", "read-release", "read-renew", "write-acquire", "write-release", "mutex-renew"},
}

// TestScripts holds the scripts of sim's model of Redisson to Redisson's own, as they come
// over the wire: with the same keys and arguments, in any order and at any time, they
// reply, publish and leave behind the same.
func TestScripts(t *testing.T) {
	if os.Getenv("INTEROP_JAVA") == "" {
		t.Skip("interop/run.sh builds Redisson and runs this")
	}
	theirs, ours := overheard(t, build(t, "redisson4")), modelled(t)
	for _, family := range families {
		for _, name := range family {
			require.NotEmpty(t, theirs[name].text, "Redisson did not send %s", name)
			require.NotEmpty(t, ours[name].text, "the model did not send %s", name)
			require.Equal(t, theirs[name].args, ours[name].args, name)
		}
	}
	for i, family := range families {
		t.Run(family[0], func(t *testing.T) {
			for seed := range uint64(walks) {
				compare(t, family, theirs, ours, rand.New(rand.NewPCG(uint64(i), seed)))
			}
		})
	}
}

// call is a request as it was made once, with words in the place of what differs each time.
type call struct {
	text string
	args []string // how many keys, these, and the other arguments
}

// newCall is a request of one of these owners.
func newCall(text string, args []string, owners ...string) call {
	words := []string{}
	for _, owner := range owners {
		words = append(words, owner, "OWNER")
	}
	c := call{text: text}
	for _, arg := range args {
		arg = strings.NewReplacer(words...).Replace(arg)
		for _, changing := range []struct{ word, pattern string }{
			{"ID", `[0-9a-f]{32}$`}, {"NOW", `^\d{13}$`}, {"LATCH", `^(1[6-9]|20)\d{3}$`},
		} {
			arg = regexp.MustCompile(changing.pattern).ReplaceAllString(arg, changing.word)
		}
		c.args = append(c.args, arg)
	}
	return c
}

// overheard is what Redisson sends, the first request of each script.
func overheard(t *testing.T, built redisson) map[string]call {
	w := newWire(t, "m1", startMinikv(t), "127.0.0.1:0")
	agent := built.start(t, []string{w.address})
	ask := func(thread, kind, verb, argument string) string {
		result, err := agent.call(request{thread, kind, lockKey, verb, argument})
		require.NoError(t, err)
		return result
	}
	owners := []string{ask("t1", "mutex", "owner", ""), ask("t2", "mutex", "owner", "")}
	for _, kind := range []string{"mutex", "fenced", "read", "write"} {
		verb, argument := "lock", "-1"
		if kind == "fenced" {
			verb = "lockForToken"
		}
		ask("t1", kind, verb, argument)
		time.Sleep(watchdog / 2) // one renewal
		ask("t1", kind, "unlock", "")
	}
	ask("t1", "fair", "waitLock", fairWait)
	ask("t2", "fair", "waitLock", fairWait)
	ask("t1", "fair", "unlock", "")
	ask("t1", "fair", "tryLock", "")
	calls := map[string]call{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, args := range w.calls {
		text := w.texts[args[1]]
		if name := scriptName(text); calls[name].text == "" {
			calls[name] = newCall(text, args[2:], owners...)
		}
	}
	return calls
}

// fairWait is a wait for a fair lock, in milliseconds.
const fairWait = "1000"

// modelled is what the model sends.
func modelled(t *testing.T) map[string]call {
	calls, texts := map[string]call{}, map[string]string{}
	shas := map[string]string{} // of scripts, by name
	for _, world := range []string{
		"lock=mutex", "lock=fenced", "lock=rw readers=1", "lock=fair wait=" + fairWait + "ms", "lock=fair once=on",
	} {
		s, err := sim.ParseScenario("scripts.scenario", "world clients=2 profile=redisson ttl=3s hold=1500ms rounds=1 "+
			world+"\nat 0s start all\nexpect exclusion=holds\nrun for=6s seed=1\n")
		require.NoError(t, err)
		_, err = s.Run(t.Context(), sim.Options{Details: true, Observe: func(e *trace.Event, _ []string) {
			name, _, _ := strings.Cut(e.Text, "(")
			for _, d := range e.Details {
				words, ok := resp.SplitArgs([]byte(d.Text))
				switch {
				case e.Kind != trace.Execute || d.What != trace.Called || !ok:
				case string(words[0]) == "SCRIPT":
					text := string(words[2])
					texts[shaOf(text)] = text
				case string(words[0]) == "EVALSHA" && shas[name] == "":
					shas[name] = string(words[1])
					calls[name] = newCall("", plainWords(words[2:]), "c1:1", "c2:1")
				}
			}
		}})
		require.NoError(t, err)
	}
	for name, c := range calls {
		c.text = texts[shas[name]]
		calls[name] = c
	}
	return calls
}

// stand is where the scripts of one side run.
type stand struct {
	node      *engine.Node
	does, ear *engine.Session
	calls     map[string]call
}

// still is a clock that goes when it is told to.
type still struct{ passed time.Duration }

func (c *still) Wall() time.Time     { return time.UnixMilli(1_800_000_000_000).Add(c.passed) }
func (c *still) Mono() time.Duration { return c.passed }

func newStand(clock *still, calls map[string]call) *stand {
	n := engine.New(engine.Config{
		Clock: clock, Random: func() uint64 { return 1 }, Lua: luaengine.New(engine.Resolve),
	})
	s := &stand{node: n, does: n.NewSession("127.0.0.1:1"), ear: n.NewSession("127.0.0.1:2"), calls: calls}
	n.Do(s.ear, [][]byte{[]byte("PSUBSCRIBE"), []byte("*")})
	return s
}

// do is the reply to a command.
func (s *stand) do(words ...string) resp.Value {
	command := make([][]byte, len(words))
	for i, word := range words {
		command[i] = []byte(word)
	}
	s.node.Do(s.does, command)
	v, _, err := resp.Parse(s.does.Out)
	if err != nil {
		panic(err)
	}
	s.does.Out = s.does.Out[:0]
	return v
}

// request is the reply to a request of a lock, and what it has published.
func (s *stand) request(name string, values *strings.Replacer) string {
	c := s.calls[name]
	words := []string{"EVAL", c.text}
	for _, arg := range c.args {
		words = append(words, values.Replace(arg))
	}
	s.ear.Out = s.ear.Out[:0]
	reply := s.do(words...)
	return fmt.Sprintf("%+v %q", reply, s.ear.Out)
}

// left is all that the server has.
func (s *stand) left() string {
	var b strings.Builder
	for _, key := range s.keys() {
		var content []string
		switch s.do("TYPE", key).Str {
		case "string":
			content = []string{s.do("GET", key).Str}
		case "hash":
			list := s.do("HGETALL", key).List
			for i := 0; i < len(list); i += 2 {
				content = append(content, list[i].Str+"="+list[i+1].Str)
			}
			slices.Sort(content)
		case "list":
			content = plain(s.do("LRANGE", key, "0", "-1"))
		case "zset":
			content = plain(s.do("ZRANGE", key, "0", "-1", "WITHSCORES"))
		}
		fmt.Fprintf(&b, "%s (%d): %q\n", key, s.do("PTTL", key).Int, content)
	}
	return b.String()
}

// harms are what can happen to a lock without its owners.
func (s *stand) harms() [][]string {
	list := [][]string{
		{"PERSIST", lockKey}, {"HSET", lockKey, "z:1", "1"}, {"ZREM", "redisson_lock_timeout:{" + lockKey + "}", "x:1"},
	}
	for _, key := range s.keys() {
		list = append(list, []string{"DEL", key})
	}
	return list
}

// keys are all keys, sorted.
func (s *stand) keys() []string {
	keys := plain(s.do("KEYS", "*"))
	slices.Sort(keys)
	return keys
}

func plain(v resp.Value) (list []string) {
	for _, one := range v.List {
		list = append(list, one.Str)
	}
	return list
}

// compare takes both sides through the same walk.
func compare(t *testing.T, family []string, theirs, ours map[string]call, random *rand.Rand) {
	clock := &still{}
	redisson, model := newStand(clock, theirs), newStand(clock, ours)
	for range steps {
		before, done, got, want := redisson.left(), "", "", ""
		switch n := random.IntN(20); {
		case n < 3:
			d := pick(random, ms, 300*ms, 1500*ms, 5000*ms)
			clock.passed += d
			done = fmt.Sprint(d, " pass")
		case n < 4:
			words := pick(random, redisson.harms()...)
			require.Equal(t, redisson.do(words...), model.do(words...))
			done = fmt.Sprint(words)
		default:
			name, now := pick(random, family...), clock.Wall().Add(pick(random, 0, -2000*ms, 2000*ms))
			values := []string{
				"OWNER", pick(random, "x:1", "x:2", "y:1"), "ID", pick(random, "a", "b"),
				"NOW", fmt.Sprint(now.UnixMilli()), "LATCH", "16000",
				"3000", pick(random, "1000", "3000", "10000"), fairWait, pick(random, "1000", "300000"),
			}
			done = fmt.Sprint(name, values)
			got, want = model.request(name, strings.NewReplacer(values...)),
				redisson.request(name, strings.NewReplacer(values...))
		}
		require.Equal(t, want, got, "the reply after %s\nwith\n%s", done, before)
		require.Equal(t, redisson.left(), model.left(), "after %s\nwith\n%s", done, before)
	}
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }
