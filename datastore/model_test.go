package datastore

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"minikv/internal/slot"
)

// model is a keyspace written as plainly as can be: a list of keys per
// database, each with a list of elements.
type model struct {
	dbs     [2][]*modelKey
	expired []string
}

type modelKey struct {
	name     string
	kind     Kind
	items    []Member // hash and string: Name is "field=text"; list; zset
	deadline int64
}

func (m *model) find(db int, name string) *modelKey {
	for _, k := range m.dbs[db] {
		if k.name == name {
			return k
		}
	}
	return nil
}

func (m *model) ensure(db int, name string, kind Kind) *modelKey {
	k := m.find(db, name)
	if k == nil {
		k = &modelKey{name: name, kind: kind, deadline: NoDeadline}
		m.dbs[db] = append(m.dbs[db], k)
	}
	return k
}

func (m *model) drop(db int, name string) bool {
	before := len(m.dbs[db])
	m.dbs[db] = slices.DeleteFunc(m.dbs[db], func(k *modelKey) bool { return k.name == name })
	return len(m.dbs[db]) < before
}

// expire removes what has expired at now.
func (m *model) expire(now int64) {
	for db := range m.dbs {
		m.dbs[db] = slices.DeleteFunc(m.dbs[db], func(k *modelKey) bool {
			gone := k.deadline != NoDeadline && now > k.deadline
			if gone {
				m.expired = append(m.expired, fmt.Sprint(db, k.name))
			}
			return gone
		})
	}
}

func (k *modelKey) at(name string) int {
	return slices.IndexFunc(k.items, func(i Member) bool { return i.Name == name })
}

func (k *modelKey) field(name string) int {
	return slices.IndexFunc(k.items, func(i Member) bool { return strings.HasPrefix(i.Name, name+"=") })
}

func (k *modelKey) describe(now int64) string {
	words := make([]string, len(k.items))
	for i, item := range k.items {
		words[i] = strings.Replace(item.Name, "=", ":", 1)
		if k.kind == ZSet {
			words[i] = fmt.Sprintf("%s:%v", item.Name, item.Score)
		}
	}
	ttl := ""
	if k.deadline != NoDeadline {
		ttl = fmt.Sprintf(" ttl=%dms", k.deadline-now)
	}
	return k.kind.String() + "{" + strings.Join(words, " ") + "}" + ttl
}

// machine drives the model and two keyspaces that differ only in their shards.
type machine struct {
	now     int64
	model   model
	stores  [2]*Keyspace
	expired [2][]string
}

func newMachine() *machine {
	m := &machine{now: 1000}
	for i, shards := range []int{1, 7} {
		m.stores[i] = New(Options{Shards: shards, Now: func() int64 { return m.now }})
		m.stores[i].OnExpire = func(db int, key string) {
			m.expired[i] = append(m.expired[i], fmt.Sprint(db, key))
		}
	}
	return m
}

// do runs one operation on both stores and requires one outcome, which it returns.
func (m *machine) do(t *rapid.T, db int, run func(db *DB) string) string {
	m.model.expire(m.now)
	a, b := run(m.stores[0].DB(db)), run(m.stores[1].DB(db))
	require.Equal(t, a, b, "1 shard and 7 shards differ")
	return a
}

// check compares every key of both stores with the model.
func (m *machine) check(t *rapid.T) {
	m.model.expire(m.now)
	for _, store := range m.stores {
		for db := range m.model.dbs {
			d := store.DB(db)
			names := []string{}
			for _, k := range m.model.dbs[db] {
				names = append(names, k.name)
				require.Equal(t, k.describe(m.now), d.Describe([]byte(k.name)), "key %s in db %d", k.name, db)
			}
			require.Equal(t, names, d.Keys())
			m.checkSlots(t, d)
		}
	}
}

func (m *machine) checkSlots(t *rapid.T, d *DB) {
	total := 0
	for s := range slot.Count {
		n := d.CountInSlot(s)
		total += n
		if n > 0 {
			for _, key := range d.KeysInSlot(s, n) {
				require.Equal(t, s, slot.OfString(key))
			}
			require.Len(t, d.KeysInSlot(s, n+1), n)
		}
	}
	require.Equal(t, d.Len(), total)
}

func TestKeyspaceAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		names := rapid.SampledFrom([]string{"a", "b", "{a}2", "c", "d", "e", "f", "g", "h", "i", "j", "k"})
		texts := rapid.SampledFrom([]string{"x", "y", "z", "1", "-7", "1024", "p", "q", "r", "s", "t", "u", "v"})
		dbs := rapid.IntRange(0, 1)
		typed := func(kind Kind, run func(t *rapid.T, db int, key string)) func(*rapid.T) {
			return func(t *rapid.T) {
				db, key := dbs.Draw(t, "db"), names.Draw(t, "key")
				m.model.expire(m.now)
				if k := m.model.find(db, key); k != nil && k.kind != kind {
					got := m.do(t, db, func(d *DB) string { return wrongTyped(d, kind, key) })
					require.Equal(t, ErrWrongType.Error(), got)
					return
				}
				run(t, db, key)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"wait": func(t *rapid.T) {
				m.now += rapid.Int64Range(0, 60).Draw(t, "ms")
			},
			"tick": m.tick,
			"set": func(t *rapid.T) {
				m.setString(t, dbs.Draw(t, "db"), names.Draw(t, "key"), texts.Draw(t, "text"))
			},
			"delete": func(t *rapid.T) {
				db, key := dbs.Draw(t, "db"), names.Draw(t, "key")
				got := m.do(t, db, func(d *DB) string { return fmt.Sprint(d.Delete([]byte(key))) })
				require.Equal(t, fmt.Sprint(m.model.drop(db, key)), got)
			},
			"deadline": func(t *rapid.T) { m.deadline(t, dbs.Draw(t, "db"), names.Draw(t, "key")) },
			"rename":   func(t *rapid.T) { m.rename(t, dbs.Draw(t, "db"), names.Draw(t, "key"), names.Draw(t, "to")) },
			"swap": func(t *rapid.T) {
				m.tick(t)
				m.stores[0].SwapDB(0, 1)
				m.stores[1].SwapDB(0, 1)
				m.model.dbs[0], m.model.dbs[1] = m.model.dbs[1], m.model.dbs[0]
			},
			"restart": func(t *rapid.T) { m.restart() },
			"hset": typed(Hash, func(t *rapid.T, db int, key string) {
				m.hashSet(t, db, key, texts.Draw(t, "field"), texts.Draw(t, "text"))
			}),
			"hdel": typed(Hash, func(t *rapid.T, db int, key string) { m.hashDelete(t, db, key, texts.Draw(t, "field")) }),
			"push": typed(List, func(t *rapid.T, db int, key string) { m.push(t, db, key, texts.Draw(t, "text")) }),
			"pop":  typed(List, func(t *rapid.T, db int, key string) { m.pop(t, db, key) }),
			"lrem": typed(List, func(t *rapid.T, db int, key string) { m.listRemove(t, db, key, texts.Draw(t, "text")) }),
			"zadd": typed(ZSet, func(t *rapid.T, db int, key string) { m.zadd(t, db, key, texts.Draw(t, "member")) }),
			"zrem": typed(ZSet, func(t *rapid.T, db int, key string) { m.zrem(t, db, key, texts.Draw(t, "member")) }),
		})
	})
}

// wrongTyped runs an operation of a kind that the key does not have.
func wrongTyped(d *DB, kind Kind, key string) string {
	var err error
	switch kind {
	case Hash:
		_, err = d.HashSet([]byte(key), []byte("f"), []byte("v"))
	case List:
		_, err = d.ListPush([]byte(key), Head, []byte("v"))
	case ZSet:
		_, err = d.ZSet([]byte(key), []byte("m"), 1)
	}
	return fmt.Sprint(err)
}

func (m *machine) tick(t *rapid.T) {
	m.model.expire(m.now)
	for _, store := range m.stores {
		store.ExpireDue(m.now, 1000)
		next, ok := store.NextExpiry()
		want, wantOK := int64(0), false
		for db := range m.model.dbs {
			for _, k := range m.model.dbs[db] {
				if k.deadline != NoDeadline && (!wantOK || k.deadline+1 < want) {
					want, wantOK = k.deadline+1, true
				}
			}
		}
		require.Equal(t, wantOK, ok)
		require.Equal(t, want, next)
	}
	for i := range m.expired {
		slices.Sort(m.expired[i])
	}
	slices.Sort(m.model.expired)
	require.Equal(t, m.model.expired, m.expired[0])
	require.Equal(t, m.model.expired, m.expired[1])
	m.expired, m.model.expired = [2][]string{}, nil
}

func (m *machine) setString(t *rapid.T, db int, key, text string) {
	deadline := rapid.SampledFrom([]int64{NoDeadline, KeepDeadline, m.now + 20}).Draw(t, "deadline")
	m.do(t, db, func(d *DB) string { d.SetString([]byte(key), []byte(text), deadline); return "" })
	k := m.model.ensure(db, key, String)
	k.kind, k.items = String, []Member{{Name: text}}
	if deadline != KeepDeadline {
		k.deadline = deadline
	}
}

func (m *machine) deadline(t *rapid.T, db int, key string) {
	at := rapid.SampledFrom([]int64{NoDeadline, m.now - 1, m.now, m.now + 10, m.now + 40, m.now + 90}).Draw(t, "at")
	m.model.expire(m.now)
	k := m.model.find(db, key)
	got := m.do(t, db, func(d *DB) string { return fmt.Sprint(d.SetDeadline([]byte(key), at)) })
	require.Equal(t, fmt.Sprint(k != nil), got)
	if k != nil {
		k.deadline = at
	}
}

func (m *machine) rename(t *rapid.T, db int, from, to string) {
	m.model.expire(m.now)
	k := m.model.find(db, from)
	got := m.do(t, db, func(d *DB) string { return fmt.Sprint(d.Rename([]byte(from), []byte(to))) })
	require.Equal(t, fmt.Sprint(k != nil), got)
	if k != nil && from != to {
		m.model.drop(db, to)
		m.model.drop(db, from)
		k.name = to
		m.model.dbs[db] = append(m.model.dbs[db], k)
	}
}

// restart moves each store's contents to a new one with other shards.
func (m *machine) restart() {
	for i, store := range m.stores {
		s := store.Snapshot()
		fresh := New(Options{Shards: 3 + 5*i, Now: store.opt.Now})
		fresh.Load(s)
		fresh.OnExpire = store.OnExpire
		store.FlushAll()
		m.stores[i] = fresh
	}
}

func (m *machine) hashSet(t *rapid.T, db int, key, field, text string) {
	got := m.do(t, db, func(d *DB) string {
		created, err := d.HashSet([]byte(key), []byte(field), []byte(text))
		require.NoError(t, err)
		return fmt.Sprint(created)
	})
	k := m.model.ensure(db, key, Hash)
	at := k.field(field)
	require.Equal(t, fmt.Sprint(at < 0), got)
	if item := (Member{Name: field + "=" + text}); at < 0 {
		k.items = append(k.items, item)
	} else {
		k.items[at] = item
	}
}

func (m *machine) hashDelete(t *rapid.T, db int, key, field string) {
	got := m.do(t, db, func(d *DB) string {
		gone, err := d.HashDelete([]byte(key), []byte(field))
		require.NoError(t, err)
		return fmt.Sprint(gone)
	})
	k := m.model.find(db, key)
	at := -1
	if k != nil {
		at = k.field(field)
	}
	require.Equal(t, fmt.Sprint(at >= 0), got)
	if at >= 0 {
		m.removeItem(db, k, at)
	}
}

func (m *machine) removeItem(db int, k *modelKey, at int) {
	k.items = slices.Delete(k.items, at, at+1)
	if len(k.items) == 0 {
		m.model.drop(db, k.name)
	}
}

func (m *machine) push(t *rapid.T, db int, key, text string) {
	end := rapid.SampledFrom([]End{Head, Tail}).Draw(t, "end")
	m.do(t, db, func(d *DB) string {
		n, err := d.ListPush([]byte(key), end, []byte(text))
		return fmt.Sprint(n, err)
	})
	k := m.model.ensure(db, key, List)
	at := 0
	if end == Tail {
		at = len(k.items)
	}
	k.items = slices.Insert(k.items, at, Member{Name: text})
}

func (m *machine) pop(t *rapid.T, db int, key string) {
	end := rapid.SampledFrom([]End{Head, Tail}).Draw(t, "end")
	got := m.do(t, db, func(d *DB) string {
		text, ok, err := d.ListPop([]byte(key), end)
		return fmt.Sprint(text, ok, err)
	})
	k := m.model.find(db, key)
	if k == nil {
		require.Equal(t, fmt.Sprint("", false, nil), got)
		return
	}
	at := 0
	if end == Tail {
		at = len(k.items) - 1
	}
	require.Equal(t, fmt.Sprint(k.items[at].Name, true, nil), got)
	m.removeItem(db, k, at)
}

func (m *machine) listRemove(t *rapid.T, db int, key, text string) {
	limit := rapid.IntRange(0, 2).Draw(t, "limit")
	end := rapid.SampledFrom([]End{Head, Tail}).Draw(t, "end")
	got := m.do(t, db, func(d *DB) string {
		n, err := d.ListRemove([]byte(key), end, limit, []byte(text))
		return fmt.Sprint(n, err)
	})
	removed := 0
	for k := m.model.find(db, key); k != nil && (limit == 0 || removed < limit); removed++ {
		at := k.at(text)
		if end == Tail {
			for at = len(k.items) - 1; at >= 0 && k.items[at].Name != text; at-- {
			}
		}
		if at < 0 {
			break
		}
		m.removeItem(db, k, at)
	}
	require.Equal(t, fmt.Sprint(removed, nil), got)
}

func (m *machine) zadd(t *rapid.T, db int, key, name string) {
	score := float64(rapid.IntRange(-3, 3).Draw(t, "score"))
	m.do(t, db, func(d *DB) string {
		created, err := d.ZSet([]byte(key), []byte(name), score)
		return fmt.Sprint(created, err)
	})
	k := m.model.ensure(db, key, ZSet)
	if at := k.at(name); at >= 0 {
		k.items[at].Score = score
	} else {
		k.items = append(k.items, Member{name, score})
	}
	sort.Slice(k.items, func(i, j int) bool { return CompareMembers(k.items[i], k.items[j]) < 0 })
	at := m.do(t, db, func(d *DB) string {
		rank, ok, err := d.ZRank([]byte(key), []byte(name))
		return fmt.Sprint(rank, ok, err)
	})
	require.Equal(t, fmt.Sprint(k.at(name), true, nil), at)
}

func (m *machine) zrem(t *rapid.T, db int, key, name string) {
	got := m.do(t, db, func(d *DB) string {
		gone, err := d.ZRemove([]byte(key), []byte(name))
		return fmt.Sprint(gone, err)
	})
	k := m.model.find(db, key)
	at := -1
	if k != nil {
		at = k.at(name)
	}
	require.Equal(t, fmt.Sprint(at >= 0, nil), got)
	if at >= 0 {
		m.removeItem(db, k, at)
	}
}
