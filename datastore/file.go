package datastore

import (
	"encoding/binary"
	"time"
)

// The marks that stand between the values of a data file.
// Source: rdb.c of Redis 7.0.
const (
	fileMagic       = "REDIS0010"
	fileFunction    = 0xf5
	fileIdle        = 0xf8
	fileUses        = 0xf9
	fileAux         = 0xfa
	fileSizes       = 0xfb
	fileDeadline    = 0xfc
	fileSelect      = 0xfe
	fileEnd         = 0xff
	fileChecksumEnd = 8 // bytes
)

// FileHeader is what a data file contains besides the data.
type FileHeader struct {
	Fields    [][2]string // names and values, such as redis-ver
	Libraries []string    // of functions: their texts
	Alone     bool        // the file has no keys
	Past      Past        // what is stored of each key's past
}

// Past is what a data file stores of the past of keys; it depends on the eviction policy.
type Past uint8

// The kinds of past.
const (
	PastNothing Past = iota
	PastAccess       // how many seconds a key was not accessed
	PastUses         // the counter of its uses
)

// File returns everything in the format of Redis's data files, as a replica or
// redis-server can load it. With compress it compresses long strings.
func (k *Keyspace) File(header FileHeader, compress bool) []byte {
	w := &dumpWriter{b: []byte(fileMagic), compress: compress}
	for _, field := range header.Fields {
		w.b = append(w.b, fileAux)
		w.text(field[0])
		w.text(field[1])
	}
	for _, library := range header.Libraries {
		w.b = append(w.b, fileFunction)
		w.text(library)
	}
	for _, db := range k.dbs {
		if db != nil && db.keys > 0 && !header.Alone {
			w.database(db, header.Past)
		}
	}
	w.b = append(w.b, fileEnd)
	return binary.LittleEndian.AppendUint64(w.b, dumpChecksum(w.b))
}

func (w *dumpWriter) database(db *DB, past Past) {
	w.b = append(w.b, fileSelect)
	w.length(uint64(db.index))
	w.b = append(w.b, fileSizes)
	w.length(uint64(db.keys))
	w.length(uint64(len(db.due.nodes)))
	for _, e := range db.ordered() {
		if e.deadline != NoDeadline {
			w.b = binary.LittleEndian.AppendUint64(append(w.b, fileDeadline), uint64(e.deadline))
		}
		switch past {
		case PastAccess:
			w.b = append(w.b, fileIdle)
			w.length(uint64(db.idleSeconds(e)))
		case PastUses:
			w.b = append(w.b, fileUses, db.keyspace.decayed(e.uses))
		}
		one := &dumpWriter{compress: w.compress}
		one.value(e.value)
		w.b = append(w.b, one.b[0])
		w.text(e.key)
		w.b = append(w.b, one.b[1:]...)
	}
}

// Reload writes everything in the format of data files and reads it again, as a restart
// of the server does. Expired keys are gone, and OnExpire is not called for them.
func (k *Keyspace) Reload(past Past, compress bool) { k.Quietly(func() { k.reload(past, compress) }) }

func (k *Keyspace) reload(past Past, compress bool) {
	for _, db := range k.dbs {
		if db == nil {
			continue
		}
		old := db.ordered()
		db.space = space{}
		for _, e := range old {
			if k.policy == RemoveExpired && db.expired(e) {
				continue
			}
			w := &dumpWriter{compress: compress}
			w.value(e.value)
			key := []byte(e.key)
			db.Restore(key, sealDump(w.b), e.deadline)
			switch past {
			case PastAccess:
				db.SetIdle(key, time.Duration(db.idleSeconds(e))*time.Second)
			case PastUses:
				db.SetUses(key, int(k.decayed(e.uses)))
			}
		}
	}
}

// idleSeconds is for how many whole seconds an entry was not accessed.
func (db *DB) idleSeconds(e *entry) int64 {
	return int64(max(db.keyspace.accessTime-e.accessed, 0) / time.Second)
}

// SavedBytes returns how many bytes the value under key takes in a data file.
func (db *DB) SavedBytes(key []byte, compress bool) int {
	e := db.peek(key)
	if e == nil {
		return 0
	}
	w := &dumpWriter{compress: compress}
	w.value(e.value)
	return len(w.b) - 1
}

// ListNodes returns in how many nodes Redis would keep the list under key, its length,
// and the size of the nodes in bytes.
func (db *DB) ListNodes(key []byte) (nodes, length, bytes int) {
	e := db.peek(key)
	if e == nil || e.value.kind != List {
		return 0, 0, 0
	}
	for _, packed := range listNodes(e.value.list) {
		nodes++
		bytes += len(packed)
	}
	return nodes, e.value.length(), bytes
}
