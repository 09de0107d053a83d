package datastore

import (
	"encoding/binary"
	"math"
)

// Restore makes the value of a payload that Dump or Redis made, and puts it under key, in
// place of what is there. It reports whether the payload can be read; SealedDump must
// have checked its end. The deadline is in Unix milliseconds or NoDeadline.
func (db *DB) Restore(key, payload []byte, deadline int64) bool {
	v, ok := db.load(payload, false)
	if ok {
		db.put(key, v, deadline)
	}
	return ok
}

// Loadable reports whether a payload can be read. With strict it also has to be without
// anything that Redis objects to only under sanitize-dump-payload.
func (db *DB) Loadable(payload []byte, strict bool) bool {
	_, ok := db.load(payload, strict)
	return ok
}

// load reads a value, which in a damaged payload may reach into the end that
// SealedDump has seen, as in Redis.
func (db *DB) load(payload []byte, strict bool) (v value, ok bool) {
	r := &dumpReader{rest: payload, limits: db.keyspace.limits, strict: strict}
	kind := r.take(1)
	if kind == nil {
		return v, false
	}
	v = r.value(kind[0])
	if r.bad || v.kind == None || v.kind != String && v.kind != Stream && v.length() == 0 {
		return v, false
	}
	return v, true
}

// dumpReader reads the file format. What follows an error is zero.
type dumpReader struct {
	rest   []byte
	limits Limits
	strict bool // what can be read and is not in order is bad, too
	bad    bool
}

func (r *dumpReader) value(kind byte) (v value) {
	switch kind {
	case dumpString:
		return value{kind: String, str: r.text()}
	case dumpList:
		return r.list(r.nodes)
	case dumpSet, dumpIntset:
		return r.set(kind == dumpIntset)
	case dumpHash:
		return r.hash(nil)
	case dumpHashPacked:
		return r.hash(r.packed)
	case dumpZSet:
		return r.sorted(nil, func() float64 { return math.Float64frombits(r.uint64()) })
	case dumpZSetPacked:
		return r.sorted(r.packed, nil)
	case dumpStream1, dumpStream2:
		return value{kind: Stream, stream: r.stream(kind == dumpStream2)}
	}
	return r.old(kind)
}

// take returns the next n bytes, nil if there are not so many.
func (r *dumpReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *dumpReader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// size reads a length, or the kind of a string that is not written as it is.
func (r *dumpReader) size() (n uint64, special byte) {
	b := r.take(1)
	switch {
	case b == nil:
		return 0, 0
	case b[0] < 0x40:
		return uint64(b[0]), 0
	case b[0] < 0x80:
		if low := r.take(1); low != nil {
			n = uint64(b[0]&0x3f)<<8 | uint64(low[0])
		}
	case b[0] == dumpLength32:
		if wide := r.take(4); wide != nil {
			n = uint64(binary.BigEndian.Uint32(wide))
		}
	case b[0] == dumpLength64:
		if wide := r.take(8); wide != nil {
			n = binary.BigEndian.Uint64(wide)
		}
	case b[0] >= dumpInt8:
		return 0, b[0]
	default:
		r.bad = true
	}
	return n, 0
}

// length reads a number. The kind of a string counts as its number, as in Redis.
func (r *dumpReader) length() uint64 {
	n, special := r.size()
	return n | uint64(special&0x3f)
}

// count reads how many elements follow, each of at least one byte.
func (r *dumpReader) count() uint64 {
	n := r.length()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	return n
}

// text reads a string in any of its forms.
func (r *dumpReader) text() string {
	n, special := r.size()
	switch special {
	case 0:
		return string(r.take(n))
	case dumpInt8:
		if b := r.take(1); b != nil {
			return FormatInteger(int64(int8(b[0])))
		}
	case dumpInt16:
		if b := r.take(2); b != nil {
			return FormatInteger(int64(int16(binary.LittleEndian.Uint16(b))))
		}
	case dumpInt32:
		if b := r.take(4); b != nil {
			return FormatInteger(int64(int32(binary.LittleEndian.Uint32(b))))
		}
	case dumpCompressed:
		packed, size := r.length(), r.length()
		const longest = 512 << 20
		if b := r.take(packed); b != nil && size <= longest {
			out, ok := lzfDecompress(b, int(size))
			r.bad = r.bad || !ok
			return string(out)
		}
	}
	r.bad = true
	return ""
}

// packed reads the elements of a listpack.
func (r *dumpReader) packed() []string {
	elements, counted, ok := parseListpack([]byte(r.text()))
	r.bad = r.bad || !ok || !counted
	return elements
}

// list makes a list of the elements that nodes reads, node by node.
func (r *dumpReader) list(nodes func() [][]string) value {
	v := value{kind: List, list: &deque{}}
	for _, elements := range nodes() {
		for _, text := range elements {
			v.list.pushBack(text)
		}
	}
	return v
}

// nodes reads the nodes of a list.
func (r *dumpReader) nodes() (nodes [][]string) {
	for range r.count() {
		switch r.length() {
		case dumpPlainNode:
			nodes = append(nodes, []string{r.text()})
		case dumpPackedNode:
			nodes = append(nodes, r.packed())
		default:
			r.bad = true
		}
	}
	return nodes
}

func (r *dumpReader) set(packed bool) value {
	v := value{kind: Set, set: &omap[struct{}]{}}
	var names []string
	if packed {
		names = r.intset()
	} else {
		for range r.count() {
			names = append(names, r.text())
		}
	}
	for _, name := range names {
		r.bad = r.bad || !v.set.set([]byte(name), struct{}{})
		if _, isInt := ParseInteger(name); !isInt {
			v.form = formGrown
		}
	}
	v.grow(v.set.len(), 0, r.limits.SetEntries, 0)
	return v
}

// intset reads a compact set of integers.
func (r *dumpReader) intset() (names []string) {
	b := []byte(r.text())
	if len(b) < 8 {
		r.bad = true
		return nil
	}
	width, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	b = b[8:]
	if width != 2 && width != 4 && width != 8 || uint64(len(b)) != uint64(width)*uint64(count) {
		r.bad = true
		return nil
	}
	for last := int64(0); len(b) > 0; b = b[width:] {
		n := littleEndian(b[:width])
		r.bad = r.bad || r.strict && len(names) > 0 && n <= last
		names, last = append(names, FormatInteger(n)), n
	}
	return names
}

// hash reads a hash whose compact form packed reads; nil: it has grown.
func (r *dumpReader) hash(packed func() []string) value {
	v := value{kind: Hash, hash: &omap[string]{}}
	var words []string
	if packed != nil {
		words = packed()
	} else {
		for range 2 * r.count() {
			words = append(words, r.text())
		}
	}
	if len(words)%2 != 0 {
		r.bad = true
		return v
	}
	for i := 0; i < len(words); i += 2 {
		r.bad = r.bad || !v.hash.set([]byte(words[i]), words[i+1])
		if packed == nil {
			v.grow(0, max(len(words[i]), len(words[i+1])), 0, r.limits.HashValue)
		}
	}
	v.grow(v.hash.len(), 0, r.limits.HashEntries, 0)
	return v
}

// sorted reads a sorted set whose compact form packed reads; nil: it has grown, and score
// reads each of its scores.
func (r *dumpReader) sorted(packed func() []string, score func() float64) value {
	v := value{kind: ZSet, zset: &sorted{}}
	if packed != nil {
		words := packed()
		if len(words)%2 != 0 {
			r.bad = true
			return v
		}
		for i := 0; i < len(words); i += 2 {
			score, ok := parseScore(words[i+1])
			r.bad = r.bad || !ok || !v.zset.set([]byte(words[i]), score)
		}
	} else {
		for range r.count() {
			name := r.text()
			points := score()
			r.bad = r.bad || math.IsNaN(points) || !v.zset.set([]byte(name), points)
			v.grow(0, len(name), 0, r.limits.ZSetValue)
		}
	}
	v.grow(v.zset.len(), 0, r.limits.ZSetEntries, 0)
	if packed == nil && v.form == formPlain {
		v.zset.dropSigns()
	}
	return v
}
