package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/lockclient"
	"minikv/trace"
)

// walk is one way through a script of the lock client: what it is given, and
// the commands that make the data that it meets.
type walk struct {
	keys, args string
	setup      []string
}

// walksOf reads the walks of a script, as cmd/locksim has them.
func walksOf(tb testing.TB, script string) []walk {
	text, err := os.ReadFile(filepath.Join("../../cmd/locksim/walks", script+".walk"))
	require.NoError(tb, err)
	// The owners of walks are short, for reading; those of clients are not.
	const uuid = "8fad5b-d9cb-469f-a165-70867728950e:"
	owners := strings.NewReplacer("9d1e:", "9d"+uuid, "77aa:", "77"+uuid, "b1:", "b1"+uuid)
	var walks []walk
	for line := range strings.Lines(owners.Replace(string(text))) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "#":
			walks = append(walks, walk{})
		case "keys":
			walks[len(walks)-1].keys = rest
		case "args":
			walks[len(walks)-1].args = rest
		case "setup":
			w := &walks[len(walks)-1]
			w.setup = append(w.setup, rest)
		}
	}
	return walks
}

func wordsOf(tb testing.TB, line string) [][]byte {
	list, ok := resp.SplitArgs([]byte(line))
	require.True(tb, ok, line)
	return list
}

// contest is one walk of a script on a node whose databases all have the data
// that the walk begins with, against what it does to the store.
type contest struct {
	tb      testing.TB
	node    *Node
	session *Session
	setup   [][][]byte
	command [][]byte
	store   []storeOp
	touched map[string]bool // all keys that may be there
	calls   int
}

// newContest has so many other keys in each database.
func newContest(tb testing.TB, script *lockclient.Script, w walk, others int) *contest {
	n, s, _, _ := benchNode(true)
	c := &contest{tb: tb, node: n, session: s, touched: make(map[string]bool)}
	for i := range n.keys.Databases() * others {
		key := fmt.Appendf(nil, "other:%d", i/n.keys.Databases())
		n.keys.DB(i%n.keys.Databases()).SetString(key, []byte("v"), datastore.NoDeadline)
	}
	n.Do(s, words("SCRIPT", "LOAD", script.Text))
	keys := wordsOf(tb, w.keys)
	c.command = append(words("EVALSHA", script.SHA, strconv.Itoa(len(keys))), keys...)
	c.command = append(c.command, wordsOf(tb, w.args)...)
	for _, line := range w.setup {
		command := wordsOf(tb, line)
		c.setup = append(c.setup, command)
		c.touched[string(command[1])] = true
	}
	c.record()
	return c
}

// record notes the calls of the script, as the observer of the node is told them.
func (c *contest) record() {
	c.reset()
	c.session.DB = 0
	c.node.cfg.Observe = func(d trace.Detail) {
		if d.What != trace.Called || strings.HasPrefix(d.Text, "EVALSHA") {
			return
		}
		c.calls++
		command := wordsOf(c.tb, d.Text)
		c.touched[string(command[1])] = true
		if op := storeOperation(c.tb, c.node, command); op != nil {
			c.store = append(c.store, op)
		}
	}
	c.node.Do(c.session, c.command)
	c.node.cfg.Observe = nil
}

// reset gives every database the data that the walk begins with.
func (c *contest) reset() {
	for i := range c.node.keys.Databases() {
		db := c.node.keys.DB(i)
		for key := range c.touched {
			db.Delete([]byte(key))
		}
		c.session.DB = i
		for _, command := range c.setup {
			c.node.Do(c.session, command)
		}
	}
	c.node.Dirty()
	c.session.Out = c.session.Out[:0]
}

// round measures the script once in every database, and then the store.
func (c *contest) round() (script, store time.Duration) {
	n, s := c.node, c.session
	databases := n.keys.Databases()
	c.reset()
	began := time.Now()
	for i := range databases {
		s.DB = i
		n.Do(s, c.command)
		n.Dirty()
		s.Out = s.Out[:0]
	}
	script = time.Since(began)
	c.reset()
	began = time.Now()
	for i := range databases {
		db := n.keys.DB(i)
		for _, op := range c.store {
			op(db)
		}
	}
	return script, time.Since(began)
}

// storeOp is one operation on the keyspace, its arguments bound.
type storeOp func(db *datastore.DB)

// storeOperation is the one operation of the store that a command needs, nil if
// it needs none: numbers are read and deadlines computed beforehand, and what
// commands look at for their replies is left out.
func storeOperation(tb testing.TB, n *Node, args [][]byte) storeOp {
	key, rest := args[1], args[2:]
	switch name := strings.ToLower(string(args[0])); name {
	case "exists":
		return func(db *datastore.DB) { db.Exists(key) }
	case "del":
		return func(db *datastore.DB) { db.Delete(key) }
	case "pttl":
		return func(db *datastore.DB) { db.Deadline(key) }
	case "pexpire":
		deadline := n.nowMillis() + numberIn(tb, rest[0])
		return func(db *datastore.DB) { db.SetDeadline(key, deadline) }
	case "get", "set", "incr", "incrby", "decr", "decrby":
		return stringOperation(tb, n, name, key, rest)
	case "hexists", "hget", "hset", "hdel", "hkeys", "hlen", "hincrby":
		return hashOperation(tb, name, key, rest)
	case "lindex", "lpop", "rpush", "lrem", "lrange":
		return listOperation(tb, name, key, rest)
	case "zscore", "zadd", "zincrby", "zrem", "zrange", "zrangebyscore", "zremrangebyscore", "zcard":
		return zsetOperation(tb, name, key, rest)
	case "publish", "spublish":
		return nil
	}
	require.Fail(tb, "no operation of the store for it", "%q", args)
	return nil
}

func numberIn(tb testing.TB, text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 10, 64)
	require.NoError(tb, err)
	return n
}

func stringOperation(tb testing.TB, n *Node, name string, key []byte, rest [][]byte) storeOp {
	switch name {
	case "get":
		return func(db *datastore.DB) { _, _, _ = db.String(key) }
	case "set":
		deadline := datastore.NoDeadline
		if len(rest) > 1 {
			deadline = n.nowMillis() + numberIn(tb, rest[2])
		}
		return func(db *datastore.DB) { db.SetString(key, rest[0], deadline) }
	}
	delta := int64(1)
	if len(rest) > 0 {
		delta = numberIn(tb, rest[0])
	}
	if name[0] == 'd' {
		delta = -delta
	}
	return func(db *datastore.DB) { _, _ = db.IncrBy(key, delta) }
}

func hashOperation(tb testing.TB, name string, key []byte, rest [][]byte) storeOp {
	switch name {
	case "hexists", "hget":
		return func(db *datastore.DB) { _, _, _ = db.HashGet(key, rest[0]) }
	case "hset":
		return func(db *datastore.DB) {
			for i := 0; i < len(rest); i += 2 {
				_, _ = db.HashSet(key, rest[i], rest[i+1])
			}
		}
	case "hdel":
		return func(db *datastore.DB) {
			for _, field := range rest {
				_, _ = db.HashDelete(key, field)
			}
		}
	case "hkeys":
		return func(db *datastore.DB) { _ = db.HashEach(key, func(string, string) {}) }
	case "hlen":
		return func(db *datastore.DB) { _, _ = db.HashLen(key) }
	}
	delta := numberIn(tb, rest[1])
	return func(db *datastore.DB) { _, _ = db.HashIncrBy(key, rest[0], delta) }
}

func listOperation(tb testing.TB, name string, key []byte, rest [][]byte) storeOp {
	switch name {
	case "lindex":
		index := int(numberIn(tb, rest[0]))
		return func(db *datastore.DB) { _, _, _ = db.ListAt(key, index) }
	case "lpop":
		return func(db *datastore.DB) { _, _, _ = db.ListPop(key, datastore.Head) }
	case "rpush":
		return func(db *datastore.DB) { _, _ = db.ListPush(key, datastore.Tail, rest[0]) }
	case "lrem":
		return func(db *datastore.DB) { _, _ = db.ListRemove(key, datastore.Head, 0, rest[1]) }
	}
	return func(db *datastore.DB) {
		n, _ := db.ListLen(key)
		_, _ = db.ListRange(key, 0, n)
	}
}

func zsetOperation(tb testing.TB, name string, key []byte, rest [][]byte) storeOp {
	number := func(text []byte) float64 {
		f, ok := parseFloat(text)
		require.True(tb, ok, "%q", text)
		return f
	}
	switch name {
	case "zscore":
		return func(db *datastore.DB) { _, _, _ = db.ZScore(key, rest[0]) }
	case "zadd":
		score := number(rest[0])
		return func(db *datastore.DB) { _, _ = db.ZSet(key, rest[1], score) }
	case "zincrby":
		delta := number(rest[0])
		return func(db *datastore.DB) {
			old, _, _ := db.ZScore(key, rest[1])
			_, _ = db.ZSet(key, rest[1], old+delta)
		}
	case "zrem":
		return func(db *datastore.DB) {
			for _, member := range rest {
				_, _ = db.ZRemove(key, member)
			}
		}
	case "zcard":
		return func(db *datastore.DB) { _, _ = db.ZLen(key) }
	case "zrange":
		last := numberIn(tb, rest[1])
		return func(db *datastore.DB) {
			n, _ := db.ZLen(key)
			if last >= 0 {
				n = min(n, int(last)+1)
			}
			_, _ = db.ZRange(key, 0, n)
		}
	}
	span := datastore.ScoreRange{Min: number(rest[0]), Max: number(rest[1])}
	if name == "zremrangebyscore" {
		return func(db *datastore.DB) {
			from, to, _ := db.ZScoreSpan(key, span)
			_ = db.ZRemoveSpan(key, from, to)
		}
	}
	return func(db *datastore.DB) {
		from, to, _ := db.ZScoreSpan(key, span)
		_, _ = db.ZRange(key, from, to)
	}
}

// BenchmarkLockScripts is every script of the lock client on each of its walks
// through Node.Do, and the operations of the store that its commands need, in
// turns: what both take together for all walks (ns/op and store-ns), and how
// many times the store's time the scripts take: for all walks, for the first,
// which is what the script is there for, and for the worst. Medians, in databases
// that have 1,000 other keys, or with -v also in such that have none.
func BenchmarkLockScripts(b *testing.B) {
	for _, name := range lockclient.ShippedNames() {
		b.Run(name, func(b *testing.B) { benchScript(b, name, 1000) })
		if testing.Verbose() {
			b.Run(name+"/alone", func(b *testing.B) { benchScript(b, name, 0) })
		}
	}
}

func benchScript(b *testing.B, name string, others int) {
	script := lockclient.Shipped(name)
	var contests []*contest
	for _, w := range walksOf(b, name) {
		contests = append(contests, newContest(b, script, w, others))
	}
	taken, store := make([][]time.Duration, len(contests)), make([][]time.Duration, len(contests))
	for b.Loop() {
		for i, c := range contests {
			x, y := c.round()
			taken[i], store[i] = append(taken[i], x), append(store[i], y)
		}
	}
	var all, bare, first, worst, calls float64
	for i, c := range contests {
		slices.Sort(taken[i])
		slices.Sort(store[i])
		d := float64(c.node.keys.Databases())
		x, y := float64(taken[i][len(taken[i])/2])/d, float64(store[i][len(store[i])/2])/d
		all, bare, worst, calls = all+x, bare+y, max(worst, x/y), calls+float64(c.calls)
		if i == 0 {
			first = x / y
		}
		if testing.Verbose() {
			b.Logf("walk %d: %.0f ns, store %.0f ns, ratio %.2f, %d calls", i+1, x, y, x/y, c.calls)
		}
	}
	b.ReportMetric(all, "ns/op")
	b.ReportMetric(bare, "store-ns")
	b.ReportMetric(all/bare, "ratio")
	b.ReportMetric(first, "first")
	b.ReportMetric(worst, "worst")
	b.ReportMetric(calls, "calls")
}
