package datastore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"minikv/internal/slot"
)

func newTestStore(now *int64) *Keyspace {
	return New(Options{Now: func() int64 { return *now }})
}

// A large ordered map keeps insertion order through deletions, compactions and
// the change from searching to an index.
func TestOrderedMapAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m omap[int]
		want := []string{}
		for step := range rapid.IntRange(1, 300).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 60).Draw(t, "key"))
			if at := slices.Index(want, key); rapid.IntRange(0, 9).Draw(t, "what") < 6 {
				require.Equal(t, at < 0, m.set([]byte(key), step))
				if at < 0 {
					want = append(want, key)
				}
				got, _ := m.get([]byte(key))
				require.Equal(t, step, got)
			} else if at >= 0 {
				m.remove(m.find([]byte(key)))
				want = slices.Delete(want, at, at+1)
			} else {
				require.Equal(t, -1, m.find([]byte(key)))
			}
		}
		copied := m.clone()
		for _, o := range []*omap[int]{&m, &copied} {
			got := []string{}
			o.each(func(key string, _ int) bool { got = append(got, key); return true })
			require.Equal(t, want, got)
			require.Equal(t, len(want), o.len())
		}
	})
}

// A sorted set of many chunks gives the ranks and spans of a sorted slice.
func TestLargeSortedSet(t *testing.T) {
	now := int64(0)
	db := newTestStore(&now).DB(0)
	key, n := []byte("z"), 5000
	for i := range n {
		_, err := db.ZSet(key, fmt.Appendf(nil, "m%05d", i*7919%n), float64(i*7919%n/3))
		require.NoError(t, err)
	}
	for _, i := range []int{0, 1, 255, 256, 257, 2500, n - 1} {
		rank, ok, err := db.ZRank(key, fmt.Appendf(nil, "m%05d", i))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, i, rank)
		members, err := db.ZRange(key, i, min(n, i+300))
		require.NoError(t, err)
		require.Len(t, members, min(n, i+300)-i)
		require.Equal(t, fmt.Sprintf("m%05d", i), members[0].Name)
	}
	from, to, err := db.ZScoreSpan(key, ScoreRange{Min: 100, Max: 200, AboveMin: true, BelowMax: true})
	require.NoError(t, err)
	require.Equal(t, []int{303, 600}, []int{from, to})
	require.NoError(t, db.ZRemoveSpan(key, 300, 4900))
	members, err := db.ZRange(key, 299, 301)
	require.NoError(t, err)
	require.Equal(t, []Member{{"m00299", 99}, {"m04900", 1633}}, members)
	require.NoError(t, db.ZRemoveSpan(key, 0, 400))
	require.False(t, db.Exists(key))
}

func TestNameSpan(t *testing.T) {
	now := int64(0)
	db := newTestStore(&now).DB(0)
	for _, name := range []string{"a", "b", "c", "d"} {
		_, err := db.ZSet([]byte("z"), []byte(name), 0)
		require.NoError(t, err)
	}
	tests := map[string]struct {
		r        NameRange
		from, to int
	}{
		"all":       {NameRange{NameBound{Side: -1}, NameBound{Side: 1}}, 0, 4},
		"closed":    {NameRange{NameBound{Name: "b"}, NameBound{Name: "c"}}, 1, 3},
		"open":      {NameRange{NameBound{Name: "a", Exclusive: true}, NameBound{Name: "d", Exclusive: true}}, 1, 3},
		"backwards": {NameRange{NameBound{Side: 1}, NameBound{Side: -1}}, 4, 0},
	}
	for name, test := range tests {
		from, to, err := db.ZNameSpan([]byte("z"), test.r, false)
		require.NoError(t, err)
		require.Equal(t, []int{test.from, test.to}, []int{from, to}, name)
	}
}

func TestParseInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "-7": -7, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		got, ok := ParseInteger(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
		require.Equal(t, text, FormatInteger(want))
	}
	for _, text := range []string{
		"", "-", "+1", "01", "-0", "00", " 1", "1 ", "1a", "a", "0x1", "1.0",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616",
		"99999999999999999999", "184467440737095516160",
	} {
		_, ok := ParseInteger([]byte(text))
		require.False(t, ok, text)
	}
}

func TestIncrement(t *testing.T) {
	now := int64(0)
	db := newTestStore(&now).DB(0)
	h, f := []byte("h"), []byte("f")
	_, err := db.HashSet(h, f, []byte("9223372036854775806"))
	require.NoError(t, err)
	n, err := db.HashIncrBy(h, f, 1)
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64), n)
	_, err = db.HashIncrBy(h, f, 1)
	require.ErrorIs(t, err, ErrOverflow)
	db.SetString(h, []byte("-9223372036854775808"), NoDeadline)
	_, err = db.IncrBy(h, -1)
	require.ErrorIs(t, err, ErrOverflow)
	db.SetString(h, []byte("x"), NoDeadline)
	_, err = db.IncrBy(h, 0)
	require.ErrorIs(t, err, ErrNotInteger)
	require.Equal(t, "string{x}", db.Describe(h))
}

// A key lives through the millisecond of its deadline and is gone in the next.
func TestExpiryIsStrict(t *testing.T) {
	now := int64(1000)
	store := newTestStore(&now)
	db, key := store.DB(0), []byte("k")
	db.SetString(key, []byte("v"), 1500)
	next, ok := store.NextExpiry()
	require.True(t, ok)
	require.Equal(t, int64(1501), next)
	now = 1500
	require.Zero(t, store.ExpireDue(now, 10))
	require.True(t, db.Exists(key))
	now = 1501
	require.False(t, db.Exists(key))
	require.Zero(t, db.Len())
}

func TestExpiryPolicies(t *testing.T) {
	now := int64(1000)
	store := newTestStore(&now)
	fired := 0
	store.OnExpire = func(int, string) { fired++ }
	db, key := store.DB(3), []byte("k")
	db.SetString(key, []byte("v"), 1500)
	now = 2000

	store.SetExpiry(HideExpired)
	require.False(t, db.Exists(key))
	require.Zero(t, store.ExpireDue(now, 10))
	require.Equal(t, 1, db.Len())
	require.Empty(t, db.Keys())
	store.SetExpiry(IgnoreExpiry)
	require.True(t, db.Exists(key))
	require.Zero(t, fired)

	store.SetExpiry(RemoveExpired)
	store.Freeze(1500)
	require.True(t, db.Exists(key))
	store.Thaw()
	require.False(t, db.Exists(key))
	require.Equal(t, 1, fired)
}

// A write over a hidden expired key starts from nothing.
func TestWriteOverHiddenKey(t *testing.T) {
	now := int64(1000)
	store := newTestStore(&now)
	store.SetExpiry(HideExpired)
	db, key := store.DB(0), []byte("k")
	db.SetString(key, []byte("v"), 1500)
	now = 2000
	_, err := db.HashSet(key, []byte("f"), []byte("1"))
	require.NoError(t, err)
	require.Equal(t, "hash{f:1}", db.Describe(key))
	require.Equal(t, 1, db.Len())
}

func TestExpireDueOrderAndLimit(t *testing.T) {
	now := int64(0)
	store := newTestStore(&now)
	var gone []string
	store.OnExpire = func(db int, key string) { gone = append(gone, key) }
	for i, at := range []int64{30, 10, 20, 10, 40} {
		store.DB(0).SetString(fmt.Appendf(nil, "k%d", i), []byte("v"), at)
	}
	store.DB(0).SetDeadline([]byte("k1"), 35)
	store.DB(0).SetDeadline([]byte("k4"), 5)
	keys, mean := store.DB(0).Expiring(5)
	require.Equal(t, 5, keys)
	require.Equal(t, int64((25+30+15+5+0)/5), mean)
	now = 100
	require.Equal(t, 2, store.ExpireDue(now, 2))
	require.Equal(t, 3, store.ExpireDue(now, 10))
	require.Equal(t, []string{"k4", "k3", "k2", "k0", "k1"}, gone)
}

// Renewals and create/delete cycles leave nothing behind.
func TestNoGrowth(t *testing.T) {
	now := int64(0)
	store := newTestStore(&now)
	db := store.DB(0)
	for i := range 20 {
		db.SetString(fmt.Appendf(nil, "still%d", i), []byte("v"), NoDeadline)
	}
	for i := range 100_000 {
		now++
		key := fmt.Appendf(nil, "lock%d", i%50)
		if i%3 == 0 {
			db.Delete(key)
		} else {
			_, err := db.HashIncrBy(key, []byte("owner"), 1)
			require.NoError(t, err)
			db.SetDeadline(key, now+30_000)
		}
	}
	require.LessOrEqual(t, len(db.due.nodes), 50)
	require.Less(t, cap(db.shards[0].entries), 1000)
	require.LessOrEqual(t, len(store.pool.hashes), poolMax)
}

func TestSnapshotIsIndependent(t *testing.T) {
	now := int64(0)
	store := newTestStore(&now)
	db := store.DB(2)
	h, l, z, s := []byte("h"), []byte("l"), []byte("z"), []byte("s")
	write := func(text string) {
		_, err := db.HashSet(h, []byte("f"), []byte(text))
		require.NoError(t, err)
		_, err = db.ListPush(l, Tail, []byte(text))
		require.NoError(t, err)
		_, err = db.ZSet(z, []byte(text), 1)
		require.NoError(t, err)
		_, err = db.SetAdd(s, []byte(text))
		require.NoError(t, err)
	}
	write("one")
	db.SetDeadline(z, 77)
	snapshot := store.Snapshot()
	write("two")
	for range 2 {
		copied, made := newTestStore(&now), []string(nil)
		copied.OnNew = func(_ int, key string, _ Kind) { made = append(made, key) }
		copied.Load(snapshot)
		to := copied.DB(2)
		to.SetString([]byte("new"), []byte("1"), NoDeadline)
		require.Equal(t, []string{"new"}, made, "those of the snapshot are not new")
		require.Equal(t, "hash{f:one} list{one} zset{one:1} ttl=77ms set{one}",
			to.Describe(h)+" "+to.Describe(l)+" "+to.Describe(z)+" "+to.Describe(s))
		to.ListPush(l, Head, []byte("three"))
		to.HashSet(h, []byte("g"), nil)
	}
	require.Equal(t, 4, snapshot.Len())
	require.Equal(t, `hash{f:two}`, db.Describe(h))
}

func TestListInsideMoves(t *testing.T) {
	now := int64(0)
	db := newTestStore(&now).DB(0)
	key := []byte("l")
	for _, text := range []string{"c", "b", "a"} {
		db.ListPush(key, Head, []byte(text))
	}
	n, err := db.ListInsert(key, true, []byte("b"), []byte("b2"))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	n, _ = db.ListInsert(key, false, []byte("a"), []byte("a0"))
	require.Equal(t, 5, n)
	n, _ = db.ListInsert(key, false, []byte("nope"), []byte("x"))
	require.Equal(t, -1, n)
	ok, _ := db.ListSet(key, 4, []byte("C"))
	require.True(t, ok)
	ok, _ = db.ListSet(key, 5, []byte("D"))
	require.False(t, ok)
	require.Equal(t, "list{a0 a b b2 C}", db.Describe(key))
	n, _ = db.ListTrim(key, 1, 3)
	require.Equal(t, 3, n)
	texts, _ := db.ListRange(key, 0, 2)
	require.Equal(t, []string{"a", "b"}, texts)
	db.ListTrim(key, 2, 2)
	require.False(t, db.Exists(key))
}

func TestDescribeQuotes(t *testing.T) {
	now := int64(0)
	db := newTestStore(&now).DB(0)
	require.Equal(t, "none", db.Describe([]byte("k")))
	db.HashSet([]byte("k"), []byte("3f-uuid:1"), []byte("a b"))
	db.HashSet([]byte("k"), []byte("{"), []byte(""))
	db.SetDeadline([]byte("k"), 2980)
	require.Equal(t, `hash{3f-uuid:1:"a b" "{":""} ttl=2980ms`, db.Describe([]byte("k")))
}

func TestDescribeScores(t *testing.T) {
	now := int64(0)
	db := newTestStore(&now).DB(0)
	for i, score := range []float64{-1, 0.5, 1724000300000, 1e20, math.Inf(1)} {
		_, err := db.ZSet([]byte("z"), []byte{'a' + byte(i)}, score)
		require.NoError(t, err)
	}
	require.Equal(t, "zset{a:-1 b:0.5 c:1724000300000 d:1e+20 e:+Inf}", db.Describe([]byte("z")))
}

// The last instant there is must not look overdue.
func TestADeadlineThatNeverComesIsNotDue(t *testing.T) {
	k := New(Options{Now: func() int64 { return 1000 }})
	k.DB(0).SetString([]byte("k"), []byte("v"), math.MaxInt64)
	_, ok := k.NextExpiry()
	require.False(t, ok)
}

// Whoever watches a node must not change what it does: neither how long a key has
// been idle, nor how often it was used, nor the draws that this takes.
func TestDescribeIsNoAccess(t *testing.T) {
	now, draws := int64(0), 0
	k := newTestStore(&now)
	k.CountUses(UseCounting{Draw: func() uint64 { draws++; return 0 }}, 0)
	db, key := k.DB(0), []byte("k")
	db.SetString(key, []byte("1"), 2980)
	db.SetIdle(key, time.Hour)
	before := draws
	require.Equal(t, `string{1} ttl=2980ms`, db.Describe(key))
	require.Equal(t, time.Hour, db.Idle(key))
	require.Equal(t, before, draws)
	now = 2981
	require.Equal(t, "none", db.Describe(key))
	require.Equal(t, 1, db.Len())
}

// When uses begin or cease to be counted, Redis reads the 24 bits that it has of a key
// as the other of the two: a last access in seconds, or a minute and a counter.
func TestUsesAndLastAccessAreTheSameBits(t *testing.T) {
	const second = 1_700_000_000 // 0x53f100 in 24 bits, and minute 21,781 in 16
	now := int64(second*1000 + 250)
	k := newTestStore(&now)
	k.SetAccessTime(time.Hour)
	db, old, fresh := k.DB(0), []byte("old"), []byte("fresh")
	db.SetString(old, []byte("1"), NoDeadline)
	db.SetIdle(old, 3*time.Second) // 0x53f0fd: 253 uses in minute 21,488, 293 minutes ago
	counting := UseCounting{Draw: func() uint64 { return 0 }, Decay: 2}
	k.CountUses(counting, now)
	require.Equal(t, 253-293/2, db.Uses(old))
	db.SetString(fresh, []byte("1"), NoDeadline)
	require.Equal(t, 5, db.Uses(fresh))
	k.CountUses(counting, now) // another setting has changed
	require.Equal(t, 253-293/2, db.Uses(old))

	k.CountUses(UseCounting{}, now)
	require.Equal(t, int64(3), int64(db.Idle(old)/time.Second))
	// 21,781<<8|5 is behind the clock's 0x53f100, so it is of its last round.
	require.Equal(t, int64(0x53f100-(21781<<8|5)+(1<<24-1)), int64(db.Idle(fresh)/time.Second))
	k.CountUses(counting, now)
	require.Equal(t, 253-293/2, db.Uses(old))
	require.Equal(t, 5, db.Uses(fresh))
}

// A last access that looks like a later minute than the clock's is of its last round.
func TestUsesOfTheLastRound(t *testing.T) {
	now := int64(1_698_693_720_000) // 0x400258 in 24 bits, and minute 10 in 16
	k := newTestStore(&now)
	k.SetAccessTime(time.Hour)
	db, key := k.DB(0), []byte("key")
	db.SetString(key, []byte("1"), NoDeadline) // 0x58 uses in minute 0x4002
	k.CountUses(UseCounting{Draw: func() uint64 { return 0 }, Decay: 1000}, now)
	require.Equal(t, 0x58-(10-0x4002+1<<16-1)/1000, db.Uses(key))
}

// A key with another value keeps its place among those of its slot, unless the key before it
// goes meanwhile.
func TestRenew(t *testing.T) {
	db := New(Options{}).DB(0)
	for _, key := range []string{"{a}1", "{a}2", "{a}3"} {
		db.SetString([]byte(key), []byte("x"), NoDeadline)
	}
	add := func(key string) func() {
		return func() { _, _ = db.SetAdd([]byte(key), []byte("m")) }
	}
	list := func() []string { return db.KeysInSlot(slot.OfString("{a}"), 10) }
	for _, key := range []string{"{a}1", "{a}2", "{a}3"} {
		require.True(t, db.Renew([]byte(key), add(key)))
		require.Equal(t, Set, db.Kind([]byte(key)))
		require.Equal(t, []string{"{a}3", "{a}2", "{a}1"}, list())
	}
	require.False(t, db.Renew([]byte("{a}4"), add("{a}4")))
	require.Equal(t, []string{"{a}4", "{a}3", "{a}2", "{a}1"}, list())
	require.True(t, db.Renew([]byte("{a}2"), func() {
		db.Delete([]byte("{a}3"))
		add("{a}2")()
	}))
	require.Equal(t, []string{"{a}2", "{a}4", "{a}1"}, list())
	require.True(t, db.Renew([]byte("{a}4"), func() {}))
	require.Equal(t, []string{"{a}2", "{a}1"}, list())
}
