package datastore

import (
	"fmt"
	"testing"
)

// BenchmarkLockCycle is what the scripts of one reentrant acquire and one
// release do to the keyspace, without the scripts.
func BenchmarkLockCycle(b *testing.B) {
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			now := int64(1000)
			db := newTestStore(&now).DB(0)
			for i := range others {
				db.SetString(fmt.Appendf(nil, "other:%d", i), []byte("v"), now+30_000)
			}
			key, owner := []byte("lock:benchmark"), []byte("0f8fad5b-d9cb-469f-a165-70867728950e:1")
			b.ReportAllocs()
			for b.Loop() {
				now++
				lockCycle(b, db, key, owner, now)
			}
		})
	}
}

func lockCycle(b *testing.B, db *DB, key, owner []byte, now int64) {
	if db.Exists(key) {
		b.Fatal("lock is taken")
	}
	if n, _ := db.HashIncrBy(key, owner, 1); n != 1 {
		b.Fatal("not the first hold")
	}
	db.SetDeadline(key, now+30_000)
	if _, held, _ := db.HashGet(key, owner); !held {
		b.Fatal("lock is lost")
	}
	if n, _ := db.HashIncrBy(key, owner, -1); n != 0 {
		b.Fatal("not the last hold")
	}
	db.Delete(key)
}

// BenchmarkRenewal is the watchdog's part: a deadline moved later.
func BenchmarkRenewal(b *testing.B) {
	now := int64(1000)
	db := newTestStore(&now).DB(0)
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "lock:%d", i)
		db.SetString(keys[i], []byte("v"), now+int64(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		db.SetDeadline(keys[i%len(keys)], now+30_000+int64(i))
	}
}

// BenchmarkEmpty is what an unused keyspace costs to make.
func BenchmarkEmpty(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(Options{Now: func() int64 { return 0 }}).DB(0)
	}
}
