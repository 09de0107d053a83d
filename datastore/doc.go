// Package datastore is the keyspace of one node: its databases, 16 unless told
// otherwise, over 16384 slots, the values under their keys, and their expiry. It
// knows no command, no client and no network; server/engine is its only writer.
//
// Nouns. A Keyspace is all databases of a node. A DB is one of them. An entry
// is a key with its value and its deadline (Unix milliseconds, or NoDeadline).
// A shard holds the index of a contiguous range of slots: a data layout only,
// so that any number of shards gives the same answers.
//
// Invariants.
//   - Nothing depends on Go's map order. Keys and fields come in insertion
//     order; every entry carries a sequence number that only grows.
//   - Arguments of type []byte are read during the call and cloned when kept.
//     Results are strings that never change, so a reply need not copy them.
//   - A value never stays empty: removing its last element removes its key.
//     Streams may be empty.
//   - A key is expired once the clock has passed its deadline (now > deadline,
//     as Redis 7.0 decides it). Reading it then finds nothing; what else
//     happens is the ExpiryPolicy. Freeze fixes the clock of that decision.
//   - Freed entries and small values are reused, so that taking and releasing a
//     lock costs the clones of its key and field and nothing else. Hence no
//     method hands out a pointer into the keyspace, except to a stream: streams
//     are not reused.
//
// A Keyspace is not safe for concurrent use, and its callbacks must not change
// it.
package datastore
