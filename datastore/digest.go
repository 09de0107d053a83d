package datastore

import (
	"crypto/sha1"
	"encoding/binary"
	"strconv"

	"minikv/internal/resp"
)

// Digest is a fingerprint of data. It does not depend on the order of data that has none:
// what has no order is combined by exclusive or. Source: debug.c of Redis 7.0.
type Digest [sha1.Size]byte

// add combines with what has no order.
func (d *Digest) add(b []byte) {
	for i, one := range sha1.Sum(b) {
		d[i] ^= one
	}
}

// mix combines with what comes next.
func (d *Digest) mix(b []byte) {
	d.add(b)
	*d = sha1.Sum(d[:])
}

// Digest returns the fingerprint of all databases, including expired keys that are still
// kept.
func (k *Keyspace) Digest() (all Digest) {
	for _, db := range k.dbs {
		if db == nil || db.keys == 0 {
			continue
		}
		all.mix(binary.BigEndian.AppendUint32(nil, uint32(db.index)))
		for _, e := range db.ordered() {
			var one Digest
			one.mix([]byte(e.key))
			one.value(e)
			all.add(one[:])
		}
	}
	return all
}

// Digest returns the fingerprint of the value under key; zero if there is none.
func (db *DB) Digest(key []byte) (d Digest) {
	if e := db.space.find(key, db.keyspace.opt.Shards); e != nil {
		d.value(e)
	}
	return d
}

// typeCodes are the numbers of the kinds in Redis.
var typeCodes = [...]uint32{String: 0, List: 1, Set: 2, ZSet: 3, Hash: 4, Stream: 6}

// value mixes in the value of an entry, and whether it has a deadline.
func (d *Digest) value(e *entry) {
	v := e.value
	d.mix(binary.BigEndian.AppendUint32(nil, typeCodes[v.kind]))
	switch v.kind {
	case String:
		d.mix([]byte(v.text()))
	case List:
		for i := range v.list.len() {
			d.mix([]byte(v.list.at(i)))
		}
	case Set:
		v.set.each(func(name string, _ struct{}) bool { d.add([]byte(name)); return true })
	case Hash:
		v.hash.each(func(field, text string) bool { d.addPair(field, text); return true })
	case ZSet:
		for _, m := range v.zset.span(0, v.zset.len()) {
			d.addPair(m.Name, resp.FormatDouble(m.Score))
		}
	case Stream:
		d.stream(v.stream)
	}
	if e.deadline != NoDeadline {
		d.add([]byte("!!expire!!"))
	}
}

func (d *Digest) addPair(name, text string) {
	var pair Digest
	pair.mix([]byte(name))
	pair.mix([]byte(text))
	d.add(pair[:])
}

func (d *Digest) stream(s *StreamData) {
	s.Range(FirstStreamID, LastStreamID, false, func(id StreamID, fields, values []string) bool {
		d.mix([]byte(strconv.FormatUint(id.Millis, 10) + "." + strconv.FormatUint(id.Seq, 10)))
		for i := range fields {
			d.mix([]byte(fields[i]))
			d.mix([]byte(values[i]))
		}
		return true
	})
}
