package datastore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRestore feeds values in the file format that anybody may have written: they
// are refused, or read, and then they can be used as if they had been made here.
func FuzzRestore(f *testing.F) {
	k := New(Options{Now: func() int64 { return 0 }})
	db := k.DB(0)
	for _, fill := range restoreSeeds {
		key := []byte("k")
		fill(db, key)
		payload, ok := db.Dump(key, true)
		require.True(f, ok)
		f.Add(payload[:len(payload)-dumpFooter])
		db.Delete(key)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		k := New(Options{Now: func() int64 { return 0 }})
		db, key := k.DB(0), []byte("k")
		payload := sealDump(append([]byte(nil), body...))
		require.True(t, SealedDump(payload, false))
		loadable := db.Loadable(payload, false)
		require.False(t, !loadable && db.Loadable(payload, true))
		require.Equal(t, loadable, db.Restore(key, payload, NoDeadline))
		if !loadable {
			require.False(t, db.Exists(key))
			return
		}
		digest := db.Digest(key)
		again, ok := db.Dump(key, true)
		require.True(t, ok)
		require.True(t, db.Restore([]byte("copy"), again, NoDeadline))
		require.Equal(t, digest, db.Digest([]byte("copy")))
		_ = db.Describe(key)
		_ = db.Encoding(key)
		require.Positive(t, k.Bytes())
		require.True(t, db.Copy(key, k.DB(1), key))
		require.True(t, db.Delete(key))
	})
}

// restoreSeeds make values of every type and encoding.
var restoreSeeds = []func(db *DB, key []byte){
	func(db *DB, key []byte) {
		db.SetString(key, []byte("some text that is long enough to be packed: aaaaaaaaaaaaaaaa"), NoDeadline)
	},
	func(db *DB, key []byte) { db.SetString(key, []byte("12345"), NoDeadline) },
	func(db *DB, key []byte) {
		for _, text := range []string{"a", "1", "-70000", "text"} {
			_, _ = db.ListPush(key, Tail, []byte(text))
		}
	},
	func(db *DB, key []byte) { _, _ = db.SetAdd(key, []byte("1")); _, _ = db.SetAdd(key, []byte("70000")) },
	func(db *DB, key []byte) { _, _ = db.SetAdd(key, []byte("a")); _, _ = db.SetAdd(key, []byte("b")) },
	func(db *DB, key []byte) { _, _ = db.HashSet(key, []byte("f"), []byte("v")) },
	func(db *DB, key []byte) { _, _ = db.HashSet(key, []byte("f"), []byte("v")); db.Grow(key) },
	func(db *DB, key []byte) { _, _ = db.ZSet(key, []byte("m"), 1.5) },
	func(db *DB, key []byte) { _, _ = db.ZSet(key, []byte("m"), 1.5); db.Grow(key) },
	func(db *DB, key []byte) {
		s := db.CreateStream(key)
		_ = s.Append(StreamID{1, 1}, [][]byte{[]byte("f"), []byte("v")}, StreamLimits{})
		_ = s.Append(StreamID{2, 1}, [][]byte{[]byte("g"), []byte("12")}, StreamLimits{})
	},
}
