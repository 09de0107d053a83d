package datastore

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyKeys is a database of strings, each tenth of which is larger, with deadlines.
func manyKeys(keys, shards int) (*Keyspace, *DB) {
	k := New(Options{Now: func() int64 { return 0 }, Shards: shards})
	db := k.DB(0)
	for i := range keys {
		text := make([]byte, 10)
		if i%10 == 0 {
			text = make([]byte, 1000)
		}
		db.SetString([]byte("key:"+strconv.Itoa(i)), text, int64(1000+i))
	}
	return k, db
}

// TestBytesOfManyKeys estimates their memory and their lifetimes from some of them,
// without a list of all.
func TestBytesOfManyKeys(t *testing.T) {
	const keys = 100_000
	for _, shards := range []int{1, 16, 1024} {
		k, db := manyKeys(keys, shards)
		exact := int64(0)
		for _, e := range db.ordered() {
			exact += e.bytes()
		}
		require.InEpsilon(t, exact, k.Bytes(), 0.05)
		require.Zero(t, testing.AllocsPerRun(3, func() { _ = k.Bytes() }))
		count, mean := db.Expiring(0)
		require.Equal(t, keys, count)
		require.InEpsilon(t, 1000+keys/2, mean, 0.05)
	}
}

// TestBytesOfFewKeys measures each of them, whichever have gone.
func TestBytesOfFewKeys(t *testing.T) {
	k, db := manyKeys(9000, 16)
	for i := 0; i < 9000; i += 3 {
		db.Delete([]byte("key:" + strconv.Itoa(i)))
	}
	exact, lifetimes := int64(0), int64(0)
	for _, e := range db.ordered() {
		exact += e.bytes()
		lifetimes += e.deadline
	}
	require.Equal(t, exact, k.Bytes())
	count, mean := db.Expiring(0)
	require.Equal(t, 6000, count)
	require.Equal(t, lifetimes/6000, mean)
}
