package engine

import (
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestPubSubAgainstRedis is TestRandomCommandsAgainstRedis with clients that do nothing but
// publish and listen, and what one may do meanwhile, alone and in transactions. What a replica is
// told is compared as well.
func TestPubSubAgainstRedis(t *testing.T) {
	d, seed := newDiffer(t)
	d.listening, d.replicas = true, newReplicaPair(t, d.real)
	forms := readFormsOf(t, "testdata/diff/pubsub.txt")
	d.compareRandom(seed, forms, *diffCommands/2)
}

// channelWord fills in one word of the grammar of pubsub.txt.
func channelWord(random *rand.Rand, kind string) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	switch kind {
	case "HP":
		return pick("*", "ch*", "ch?", "ch[1-9]", "n*", "ch1", "news", "x*")
	case "PL":
		return strconv.Quote("#!lua name=lib\n" +
			"redis.register_function('pub',function(k,a) return redis.call('PUBLISH',a[1],a[2]) end)\n" +
			"redis.register_function{function_name='spub',flags={'" + pick("no-writes", "allow-stale") + "'}," +
			"callback=function(k,a) return redis.pcall('SPUBLISH',a[1],a[2]) end}")
	case "PQ":
		return strconv.Quote(pick(
			`return redis.call('PUBLISH',ARGV[1],ARGV[2])`,
			`return redis.call('SPUBLISH',ARGV[1],ARGV[2])`,
			`return {redis.pcall('SPUBLISH',ARGV[1],ARGV[2]),redis.pcall('PUBLISH',ARGV[1],ARGV[2])}`,
			`return redis.pcall('SSUBSCRIBE',ARGV[1])`,
			`redis.setresp(3) redis.call('PUBLISH',ARGV[1],ARGV[2]) return redis.call('PUBSUB','SHARDNUMSUB',ARGV[1])`,
			"#!lua flags=no-writes\nreturn redis.pcall('SPUBLISH',ARGV[1],ARGV[2])",
		))
	}
	return kind
}

// playable leaves out the QUITs of clients that have switched their replies off, which redis-server
// does not hear of (see docs/differences.md), or that may be blocked, which are there for a moment more;
// and the UNSUBSCRIBEs without names of transactions, whose reply begins with any of the names.
func playable(steps []diffStep) []diffStep {
	stays, queues := map[string]bool{}, map[string]bool{}
	return slices.DeleteFunc(steps, func(s diffStep) bool {
		line := strings.ToUpper(s.line)
		switch line {
		case "CLIENT REPLY OFF", "CLIENT REPLY SKIP":
			stays[s.client] = true
		case "QUIT":
			return stays[s.client]
		case "MULTI":
			queues[s.client] = true
		case "EXEC", "DISCARD", "RESET":
			queues[s.client] = false
		case "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
			return queues[s.client]
		}
		stays[s.client] = stays[s.client] || strings.HasPrefix(line, "BLPOP")
		return false
	})
}

// drain is what a client has received.
func (d *differ) drain(tg target, client string) (values []string) {
	var all []resp.Value
	for v, ok := tg.next(client, false); ok; v, ok = tg.next(client, false) {
		all = append(all, v)
	}
	if d.listening {
		all = unfolded(all)
		sortUnordered(all)
	}
	for _, v := range all {
		values = append(values, monitored.ReplaceAllString(resp.Describe(v), "TIME [$1$2]"))
	}
	return values
}

// unfolded has the elements of a reply to EXEC stand for themselves that has what was published
// among them: so many fall into it as it is to have elements, and the rest come behind it. Of the
// messages of several patterns it may be any.
func unfolded(values []resp.Value) (list []resp.Value) {
	for _, v := range values {
		if v.Kind == resp.Array && slices.ContainsFunc(v.List, isPublished) {
			list = append(list, resp.Str("array of "+strconv.Itoa(len(v.List))))
			list = append(list, v.List...)
		} else {
			list = append(list, v)
		}
	}
	return list
}

// isPublished reports whether a value is a message.
func isPublished(v resp.Value) bool {
	switch kindOfPush(v) {
	case "message", "pmessage", "smessage":
		return true
	}
	return false
}

// TestMessagesInTransactions shows that messages of several patterns may fall into a reply to EXEC
// or come behind it, and that nothing else may.
func TestMessagesInTransactions(t *testing.T) {
	of := func(pattern string) resp.Value {
		return resp.List(resp.Str("pmessage"), resp.Str(pattern), resp.Str("ch1"), resp.Str("hello"))
	}
	other := resp.List(resp.Str("message"), resp.Str("ch1"), resp.Str("hello"))
	described := func(values ...resp.Value) string {
		values = unfolded(values)
		sortUnordered(values)
		return resp.Describe(resp.List(values...))
	}
	one := described(resp.List(other, of("*")), of("ch*"), resp.Int(3), resp.Null)
	require.Equal(t, one, described(resp.List(other, of("ch*")), of("*"), resp.Int(3), resp.Null))
	require.NotEqual(t, one, described(resp.List(other, of("ch*")), of("ch*"), resp.Int(3), resp.Null))
	require.NotEqual(t, one, described(resp.List(other, of("*"), of("ch*")), resp.Int(3), resp.Null))
	require.NotEqual(t, one, described(resp.List(of("*"), other), of("ch*"), resp.Int(3), resp.Null))
}

// sortUnordered orders what Redis has no order for: the confirmations of an UNSUBSCRIBE without
// names, but for their counts, and the messages of several patterns.
func sortUnordered(values []resp.Value) {
	for from := 0; from < len(values); {
		end := from + 1
		for end < len(values) && together(values[from], values[end]) {
			end++
		}
		run := values[from:end]
		if strings.HasSuffix(kindOfPush(run[0]), "unsubscribe") {
			names := make([]resp.Value, len(run))
			for i := range run {
				names[i] = run[i].List[1]
			}
			sortReply(resp.List(names...))
			for i := range run {
				run[i].List[1] = names[i]
			}
		} else {
			sortReply(resp.List(run...))
		}
		from = end
	}
}

// together reports whether two values are of one run that has no order.
func together(a, b resp.Value) bool {
	kind := kindOfPush(a)
	if kind != kindOfPush(b) {
		return false
	}
	if kind == "pmessage" {
		return resp.Describe(resp.List(a.List[2:]...)) == resp.Describe(resp.List(b.List[2:]...))
	}
	return strings.HasSuffix(kind, "unsubscribe")
}

func kindOfPush(v resp.Value) string {
	if len(v.List) < 3 {
		return ""
	}
	return v.List[0].Str
}

// clientLines are the lines of CLIENT LIST about the clients of the test, without what differs.
func (d *differ) clientLines(text string) string {
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		for _, known := range d.ids { //tidy:unordered at most one is equal
			if id == known {
				lines = append(lines, clientVolatile.ReplaceAllString(line, ""))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var clientVolatile = regexp.MustCompile(
	` (addr|laddr|fd|age|idle|qbuf|qbuf-free|argv-mem|multi-mem|rbs|rbp|obl|oll|omem|tot-mem|events)=\S*`)
