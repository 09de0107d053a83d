package datastore

// Limits are the sizes up to which a collection keeps its compact encoding, as redis.conf
// sets them. A collection that has outgrown it does not get it back.
type Limits struct {
	HashEntries, HashValue int // hash-max-listpack-entries, -value (bytes)
	SetEntries             int // set-max-intset-entries
	ZSetEntries, ZSetValue int // zset-max-listpack-entries, -value (bytes)
}

// DefaultLimits are those of Redis 7.0.
var DefaultLimits = Limits{HashEntries: 512, HashValue: 64, SetEntries: 512, ZSetEntries: 128, ZSetValue: 64}

// maxEmbedded is the longest string, in bytes, that Redis keeps with its object.
const maxEmbedded = 44

// form is what a value's contents do not tell about its encoding.
type form uint8

const (
	formPlain    form = iota
	formGrown         // a collection that is no longer compact; a string that was changed in place
	formEmbedded      // a string that is a number but was not written as one
	formCopied        // a string that COPY made
)

// SetLimits changes the sizes at which collections grow from now on.
func (k *Keyspace) SetLimits(l Limits) { k.limits = l }

// Encoding returns what OBJECT ENCODING replies, "" for a missing key.
func (db *DB) Encoding(key []byte) string {
	e := db.peek(key)
	if e == nil {
		return ""
	}
	return e.value.encoding()
}

// Compact reports whether the value under key has the compact encoding of its type:
// listpack for a hash or a sorted set, intset for a set.
func (db *DB) Compact(key []byte) bool {
	e := db.peek(key)
	return e != nil && e.value.form == formPlain
}

// Copied reports whether the string under key is one that COPY made.
func (db *DB) Copied(key []byte) bool {
	e := db.peek(key)
	return e != nil && e.value.form == formCopied
}

// Grow gives the value under key, which must be a collection, its general encoding in
// place of the compact one.
func (db *DB) Grow(key []byte) {
	if e := db.lookup(key); e != nil {
		e.value.form = formGrown
	}
}

func (v *value) encoding() string {
	grown := v.form == formGrown
	switch v.kind {
	case String:
		return v.stringEncoding()
	case List:
		return "quicklist"
	case Set:
		if grown {
			return "hashtable"
		}
		return "intset"
	case Hash:
		if grown {
			return "hashtable"
		}
		return "listpack"
	case ZSet:
		if grown {
			return "skiplist"
		}
		return "listpack"
	}
	return v.kind.String()
}

// stringEncoding follows tryObjectEncoding of Redis 7.0.
func (v *value) stringEncoding() string {
	if v.buffer != nil {
		return "raw"
	}
	if _, isInt := ParseInteger(v.str); isInt && (v.form == formPlain || v.form == formCopied) {
		return "int"
	}
	if len(v.str) > maxEmbedded || v.form == formGrown {
		return "raw"
	}
	return "embstr"
}

// grow notes that a collection of n elements, the newest of which is size
// bytes long, has outgrown its compact encoding, if it has.
func (v *value) grow(n, size, maxEntries, maxSize int) {
	if n > maxEntries || size > maxSize {
		v.form = formGrown
	}
}
