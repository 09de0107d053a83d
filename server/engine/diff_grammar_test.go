package engine

import (
	flags "flag"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// diffForm is a form of commands, a line of testdata/diff/commands.txt.
type diffForm struct {
	words   []string
	exact   bool
	brief   bool     // it gives a lifetime that ends at once
	clients []string // one of which sends it
}

// The clients of the random commands: "2" and "3" speak these protocols; the
// blockers, the listeners and the one that watches are never waited for.
var (
	talkers   = []string{"2", "3"}
	blockers  = []string{"blocker 2", "blocker 3"}
	listeners = []string{"listener 2", "listener 3"}
	watchers  = []string{"monitor 2"}
	everybody = slices.Concat(talkers, blockers, listeners, watchers)
)

var diffMatch = flags.String("diff.match", "", "regular expression: only these forms are used")

// diffStep is one command of one client.
type diffStep struct {
	client, line string
	brief        bool // it gives a lifetime that ends at once
}

// text shows steps.
func text(steps []diffStep) string {
	var b strings.Builder
	for _, step := range steps {
		fmt.Fprintf(&b, "%-10s  %s\n", step.client, step.line)
	}
	return b.String()
}

// proto is the protocol of a client, the end of its name.
func (s *diffStep) proto() int { return int(s.client[len(s.client)-1] - '0') }

// readForms reads testdata/diff/commands.txt, which says what its words mean.
func readForms(t *testing.T) []diffForm { return readFormsOf(t, "testdata/diff/commands.txt") }

func readFormsOf(t *testing.T, file string) (forms []diffForm) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	match := regexp.MustCompile(*diffMatch)
	for _, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if !match.MatchString(line) {
			continue
		}
		form := diffForm{words: words, clients: talkers}
		switch words[0] {
		case "exact":
			form.words, form.exact = words[1:], true
		case "brief":
			form.words, form.exact, form.brief = words[1:], true, true
		case "block":
			form.words, form.exact, form.clients = words[1:], true, blockers
		case "listen":
			form.words, form.exact, form.clients = words[1:], true, listeners
		case "monitor":
			form.words, form.exact, form.clients = words[1:], true, watchers
		}
		forms = append(forms, form)
	}
	return forms
}

// episode makes the commands of one episode. Every other episode is mostly about
// commands that begin with one letter: among all commands few would find a value of
// their kind, let alone one with a past.
func episode(random *rand.Rand, forms []diffForm, steps int) []diffStep {
	family := forms
	if letter := forms[random.Intn(len(forms))].words[0][0]; random.Intn(2) == 0 {
		family = slices.DeleteFunc(slices.Clone(forms), func(f diffForm) bool { return f.words[0][0] != letter })
	}
	out := make([]diffStep, steps)
	for i := range out {
		list := family
		if random.Intn(3) == 0 {
			list = forms
		}
		out[i] = list[random.Intn(len(list))].command(random)
	}
	return out
}

// viaScript is the script that now and then sends a command.
const viaScript = "return redis.call(unpack(ARGV))"

// withoutScript is the command that a script of viaScript sends, or cmd itself.
func withoutScript(cmd [][]byte) [][]byte {
	if len(cmd) > 3 && string(cmd[1]) == viaScript {
		return cmd[3:]
	}
	return cmd
}

// diffEvals are the scripts that Q stands for.
var diffEvals = []string{
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
	`redis.setresp(3) return redis.call('ZADD',KEYS[1],'INCR','1.5','a')`,
	`redis.setresp(3) return redis.call('HGETALL',KEYS[1]).map.a`,
	`redis.setresp(3) redis.call('DEL',KEYS[1]) redis.call('SADD',KEYS[1],'m') return {redis.call('SMEMBERS',KEYS[1])}`,
	`redis.setresp(3) local r=redis.call('SMEMBERS',KEYS[1]) return {type(r),type(r.set and next(r.set))}`,
	`redis.setresp(3) return {map={[ARGV[1]]={double=tonumber(ARGV[2]) or 0.5}}}`,
	`redis.setresp(3) return {set={[ARGV[1]]=true}}`,
	`return {{big_number=ARGV[2]},{verbatim_string={string=ARGV[1],format='txt'}},true,false,{double=1.5}}`,
	`redis.setresp(3) return {redis.pcall('ZPOPMIN',KEYS[1]),redis.pcall('HGET',KEYS[2],'a'),redis.call('PING')}`,
	`return ARGV[1]+1`,
	`return KEYS[3]..'x'`,
	`redis.setresp(3) local r=redis.call('ZSCORE',KEYS[1],ARGV[1]) return {type(r),r}`,
	`redis.setresp(3) return {redis.call('GET','no'),redis.call('SISMEMBER',KEYS[1],ARGV[1]),redis.call('TYPE',KEYS[1])}`,
	`local a,b=redis.pcall('INCRBY',KEYS[1],ARGV[2]),redis.pcall('HINCRBY',KEYS[2],'a',ARGV[2]) a,b=b,a return {a,b}`,
	`local t=redis.call('LRANGE',KEYS[1],0,-1) for i,v in ipairs(t) do redis.call('RPUSH',KEYS[2],v) end return #t`,
	`redis.call('DEL',KEYS[1]) redis.call('SADD',KEYS[1],ARGV[2],3,1) return redis.call('SORT',KEYS[1],'BY','nosort')`,
	"#!lua\nreturn {redis.pcall('SET',KEYS[1],ARGV[1]),redis.pcall('GET',KEYS[2])}",
	"#!lua flags=no-writes\nreturn {redis.pcall('GET',KEYS[1]),redis.pcall('SET',KEYS[2],ARGV[1])}",
	"#!lua flags=allow-oom\nreturn {redis.pcall('SET',KEYS[1],ARGV[1]),redis.pcall('DEL',KEYS[2])}",
	"#!lua flags=no-writes,allow-stale\nreturn redis.call('DEL',KEYS[1])",
	"#!lua flags=nosuch\nreturn 1",
}

// diffWord fills in one word of the grammar, in redis-cli's quoting.
// No number in it is out of the range of C's functions for what it stands for:
// redis-server does not clear the errno that these leave, and later SORTs fail by it.
func diffWord(random *rand.Rand, kind string) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	switch kind {
	case "K": // the first ones more often, so that commands meet
		return "key" + strconv.Itoa(random.Intn(1+random.Intn(8)))
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
	case "H":
		return pick("ch1", "ch2", "news")
	case "W":
		return pick("9999999999900", "9999999999800", "9999999999700", "0", "-1", "x", "9223372036854775807")
	case "T":
		return pick("9999999999900", "9999999999800", "9999999999700", "99999999999", "1", "0", "-1", "x",
			"9223372036854775807")
	case "U":
		lives := strconv.Itoa(100_000 + random.Intn(99_000_000)) // no two that differ by the time of a test
		return pick(lives, lives, lives, "0", "-1", "x", "9223372036854775807", "9223372036854775")
	case "O":
		return pick("0", "1", "7", "8", "9", "31", "63", "100", "#1", "-1", "x", "4294967296", "9223372036854775807")
	case "Y":
		return pick("u8", "i8", "u1", "i1", "u5", "i13", "u63", "i64", "u64", "i65", "x")
	case "P":
		return pick("*", "key*", "?", "[a-c]", "*1", "x*")
	case "WHO":
		return "@" + strings.ReplaceAll(pick(everybody...), " ", "")
	case "EAR": // not one that writes: in some commands Redis replies before it tells of the change
		return "@" + strings.ReplaceAll(pick(listeners...), " ", "")
	case "Q":
		return strconv.Quote(diffEvals[random.Intn(len(diffEvals))])
	}
	return familyWord(random, kind)
}

// text is the form as it stands in the file, but for who sends it.
func (f *diffForm) text() string { return strings.Join(f.words, " ") }

// hasLifetime reports whether a word is a time to live.
func (f *diffForm) hasLifetime() bool {
	return slices.ContainsFunc(f.words, func(word string) bool {
		return slices.Contains(strings.Split(strings.TrimPrefix(word, "?"), "|"), "U")
	})
}

// countsKeys are commands that say how many keys follow: who looks for these, as COMMAND GETKEYS does,
// reads that number with C's strtol, see diffWord.
var countsKeys = regexp.MustCompile(`\b(B?[LZ]MPOP|[SZ]INTERCARD|Z(UNION|INTER|DIFF)(STORE)?|EVAL\w*|FCALL\w*) `)

// command fills in a form, and now and then spoils it.
func (f *diffForm) command(random *rand.Rand) diffStep {
	var words []string
	for _, word := range f.words {
		if strings.HasPrefix(word, "?") {
			if random.Intn(3) > 0 {
				continue
			}
			word = word[1:]
		}
		choices := strings.Split(word, "|")
		words = append(words, diffWord(random, choices[random.Intn(len(choices))]))
	}
	step := diffStep{client: f.clients[random.Intn(len(f.clients))], brief: f.brief}
	switch at := random.Intn(len(words)); {
	case f.exact:
	case random.Intn(60) == 0:
		words = words[:max(1, len(words)-1)]
	case random.Intn(60) == 0:
		words = append(words, diffWord(random, "V"))
	case random.Intn(60) == 0 && (at > 1 || at == 1 && !strings.HasPrefix(words[0], "EVAL")):
		if f.hasLifetime() {
			break // a time to live that ends during the test
		}
		if strings.HasSuffix(words[0], "SCAN") && (words[at] == "0" || words[at-1] == "COUNT") {
			break // a cursor that was not given out, or a part of a hash table, which has no order
		}
		words[at] = diffWord(random, []string{"V", "N", "D", "K"}[random.Intn(4)])
	}
	if line := strings.Join(words, " "); countsKeys.MatchString(line) {
		words = strings.Split(strings.ReplaceAll(line, "9223372036854775808", "9223372036854775807"), " ")
	}
	if random.Intn(40) == 0 {
		words[0] = strings.ToLower(words[0])
	}
	if !f.exact && random.Intn(40) == 0 {
		words = append([]string{"EVAL", strconv.Quote(viaScript), "0"}, words...)
	}
	step.line = strings.Join(words, " ")
	return step
}

// TestRandomCommandsReachEveryCommand keeps the forms complete.
func TestRandomCommandsReachEveryCommand(t *testing.T) {
	reached := map[string]bool{}
	for _, form := range readForms(t) {
		for _, name := range strings.Split(form.words[0], "|") {
			reached[name] = true
			if len(form.words) > 1 {
				for _, sub := range strings.Split(strings.TrimPrefix(form.words[1], "?"), "|") {
					reached[name+" "+sub] = true
				}
			}
		}
	}
	for _, cmd := range table {
		if !reached[cmd.Name] {
			t.Errorf("testdata/diff/commands.txt has no form of %s", cmd.Name)
		}
		for _, sub := range cmd.Sub {
			if name := cmd.Name + " " + sub.Name; !reached[name] && sub.Name != "HELP" {
				t.Errorf("testdata/diff/commands.txt has no form of %s", name)
			}
		}
	}
}
