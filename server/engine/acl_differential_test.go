package engine

import (
	flags "flag"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

var diffUsers = flags.Int("diff.users", 300, "how many random users are compared")

// TestAccessAgainstRedis gives random rules to a user of the engine and of the
// server at REDIS_SERVER, and compares what is said of it and what it may do.
func TestAccessAgainstRedis(t *testing.T) {
	address := redisserver.Address(t)
	seed := seedOfRun()
	t.Logf("replay: REDIS_SERVER=%s go test ./server/engine -run TestAccessAgainstRedis -diff.seed=%d -diff.users=%d",
		address, seed, *diffUsers)
	d := &accessDiffer{t: t, real: newRealTarget(t, address), ours: newEngineTarget(), tried: map[string]int{}}
	d.ours.connect(control, 2)
	random := rand.New(rand.NewSource(seed))
	forms := readForms(t)
	const users, commands, most = 8, 40, 5
	for i := 0; i < *diffUsers && d.differences < most; i++ {
		if i%users == 0 {
			d.same("ACL", "DELUSER", "u")
		}
		d.same(randomSetUser(random)...)
		d.same("ACL", "GETUSER", "u")
		d.same("ACL", "LIST")
		for range commands {
			words, ok := resp.SplitArgs([]byte(forms[random.Intn(len(forms))].command(random).line))
			require.True(t, ok)
			d.same(append([]string{"ACL", "DRYRUN", "u"}, stringsOf(words)...)...)
			d.same(append([]string{"COMMAND", "GETKEYSANDFLAGS"}, stringsOf(words)...)...)
		}
	}
	d.same("ACL", "DELUSER", "u")
	t.Logf("%d users, %d differences; replies compared: %v", *diffUsers, d.differences, d.tried)
}

// accessDiffer sends the same to both servers.
type accessDiffer struct {
	t           *testing.T
	real        *realTarget
	ours        *engineTarget
	tried       map[string]int
	rules       []string // of the user, as they came
	differences int
}

func (d *accessDiffer) same(words ...string) {
	if words[1] == "DELUSER" {
		d.rules = nil
	}
	d.real.send(control, bytesOf(words))
	d.ours.send(control, bytesOf(words))
	want, ok := d.real.next(control, true)
	require.True(d.t, ok, "no reply to %q", words)
	got, ok := d.ours.next(control, true)
	require.True(d.t, ok, "no reply to %q", words)
	kind := words[1]
	switch {
	case want.Kind == resp.Error:
		kind += " error"
	case words[1] == "DRYRUN" && want.Kind == resp.Bulk:
		kind += " denied"
	}
	d.tried[kind]++
	unordered(&want)
	unordered(&got)
	if words[1] == "SETUSER" && want.Kind != resp.Error {
		d.rules = append(d.rules, strings.Join(words[3:], " "))
	}
	if a, b := resp.Describe(want), resp.Describe(got); a != b {
		d.differences++
		d.t.Errorf("rules %q\n%q\nredis-server: %s\nengine: %s", d.rules, words, a, b)
	}
}

// unordered sorts the rules for single commands, which Redis has in any order.
func unordered(v *resp.Value) {
	if strings.Contains(v.Str, "@all") {
		words := strings.FieldsFunc(v.Str, func(r rune) bool { return strings.ContainsRune(" ()", r) })
		slices.Sort(words)
		v.Str = strings.Join(words, " ")
	}
	for i := range v.List {
		unordered(&v.List[i])
	}
}

func stringsOf(words [][]byte) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// randomSetUser is ACL SETUSER with a few rules, some of which are wrong.
func randomSetUser(random *rand.Rand) []string {
	words := []string{"ACL", "SETUSER", "u"}
	for range random.Intn(6) {
		if random.Intn(4) > 0 {
			words = append(words, randomRule(random, false))
			continue
		}
		inner := []string{}
		for range random.Intn(5) {
			inner = append(inner, randomRule(random, true))
		}
		text := "(" + strings.Join(inner, " ") + ")"
		if random.Intn(3) == 0 {
			words = append(words, strings.Split(text, " ")...)
		} else {
			words = append(words, text)
		}
	}
	return words
}

// randomRule is a rule for a user, or for a selector.
func randomRule(random *rand.Rand, ofSelector bool) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	pattern := func() string {
		return pick("key*", "key1", "*", "k?y[1-9]", "a", "st*", "", "{t}*", "dst", "z*", "hll*", "key[12]")
	}
	command := func() string {
		cmd := &table[random.Intn(len(table))]
		name := cmd.full
		if len(cmd.Sub) > 0 && random.Intn(2) == 0 {
			name = cmd.Sub[random.Intn(len(cmd.Sub))].full
		}
		if random.Intn(12) == 0 {
			name += pick("|", "|x", "|get", "x", "|x|y", "\x00y", "|GET", "|Set")
		}
		if random.Intn(6) == 0 {
			name = strings.ToUpper(name)
		}
		return name
	}
	switch random.Intn(22) {
	case 0, 1, 2:
		return pick("+", "-") + command()
	case 3, 4, 5, 6:
		return pick("+@", "-@") + pick(aclCategories...)
	case 7, 8, 9:
		return pick("~", "~", "%R~", "%W~", "%RW~", "%wR~", "%r~") + pattern()
	case 10, 11:
		return "&" + pick("ch*", "chan1", "*", "news.*", "")
	case 12, 13:
		return pick("allkeys", "resetkeys", "allchannels", "resetchannels", "ALLCOMMANDS", "nocommands", "+@all",
			"-@all")
	case 14:
		return pick("+@nosuch", "-nosuch", "+get|a", "+select|0", "-select|0", "+config|nosuch", "%X~a", "%RR~a", "%R",
			"&a b", "~a b", "x", "+", "-", "+@", "+config|get|x", "clear", "(", ")", "()", "(x", "y)", "+lolwut",
			"-config|get|x", "-module|load", "+memory|malloc-stats", "+@Admin", "+sentinel", "~a\x00", "\x00",
			"allkeys\x00x", ">")
	}
	if ofSelector {
		return pick("+get", "+set", "~*", "&*", "+@read", "+@write", "on", "reset", `"`, `"+get"`, "allkeys", "+@keyspace")
	}
	return pick("on", "off", "nopass", "resetpass", "reset", "clearselectors", "clearselectors", ">a", ">b", "<a", "<b",
		"skip-sanitize-payload", "sanitize-payload", "", "RESET", "Off",
		"#ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
		"!ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "#abc", "!abc", "#")
}

// TestCommandsAgainstRedis compares what COMMAND INFO says of every command but
// for the tips, and ACL CAT of every category.
func TestCommandsAgainstRedis(t *testing.T) {
	address := redisserver.Address(t)
	real, ours := newRealTarget(t, address), newEngineTarget()
	ours.connect(control, 2)
	both := func(words ...string) (want, got resp.Value) {
		ours.send(control, bytesOf(words))
		got, ok := ours.next(control, true)
		require.True(t, ok)
		return real.ask(control, words...), got
	}
	for _, category := range aclCategories {
		want, got := both("ACL", "CAT", category)
		sortReply(want)
		sortReply(got)
		require.Equal(t, resp.Describe(want), resp.Describe(got), category)
	}
	for _, name := range docLines(t, "testdata/docs/redis-7.0.15.txt") {
		name = strings.ReplaceAll(strings.ToLower(name), " ", "|")
		want, got := both("COMMAND", "INFO", name)
		if got.List[0].IsNil() {
			require.NotEmpty(t, absence(t, strings.ToUpper(strings.ReplaceAll(name, "|", " "))), name)
			continue
		}
		const tips, subs = 7, 9
		for _, one := range []resp.Value{want.List[0], got.List[0]} {
			one.List[tips], one.List[subs] = resp.Null, resp.Null // subcommands are compared by themselves
		}
		require.Equal(t, resp.Describe(want), resp.Describe(got), name)
	}
}
