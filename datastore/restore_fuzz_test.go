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
	for _, body := range oldBodies {
		require.True(f, db.Loadable(sealDump([]byte(body)), true))
		f.Add([]byte(body))
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

// oldBodies are values as servers before 7.0 write them.
var oldBodies = []string{
	"\x0a\x19\x19\x00\x00\x00\x13\x00\x00\x00\x04\x00\x00\x01a\x03\xf6\x02\xc0\x2c\x01\x04\xf0p\x11\x01\xff",
	"\x0e\x02\x0e\x0e\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x01a\xff\x18\x18\x00\x00\x00\x0d\x00\x00" +
		"\x00\x02\x00\x00\xfe\xf9\x03\xe0\x00\x00\x00\x00\x00\x01\x00\x00\xff",
	"\x0d\x16\x16\x00\x00\x00\x13\x00\x00\x00\x04\x00\x00\x01f\x03\x01v\x03\x01g\x03\xf6\xff",
	"\x0c\x2a\x2a\x00\x00\x00\x24\x00\x00\x00\x08\x00\x00\x01a\x03\xf2\x02\x01b\x03\x03\x32\x2e\x35\x05" +
		"\x01c\x03\x05\x31e\x31\x30\x30\x07\x01d\x03\x03inf\xff",
	"\x01\x02\x01a\xc0\x05",
	"\x03\x04\x01a\x03\x31\x2e\x35\x01b\xfe\x01c\xff\x01d\x01\x33",
}
