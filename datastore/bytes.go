package datastore

import "math/bits"

// Sizes of Redis's structures on a 64-bit machine, in bytes.
// Source: object.c and sds.h of Redis 7.0, jemalloc's size classes.
const (
	sizeObject    = 16
	sizeDictEntry = 24
	sizeSlot      = 8  // of a hash table
	sizeListNode  = 32 // of a quicklist
	sampled       = 5  // elements that stand for the others
	mostMeasured  = 10_000
)

// Bytes estimates how much memory redis-server would use for all databases. Unless sizes
// are recorded (Account), a database of more than 10,000 keys is estimated from a sample,
// evenly spread.
func (k *Keyspace) Bytes() (total int64) {
	for _, db := range k.dbs {
		switch {
		case db == nil:
		case k.account:
			total += db.used
		default:
			total += db.bytes()
		}
	}
	return total
}

// bytes touches no more keys than it measures: INFO asks for it.
func (db *DB) bytes() (total int64) {
	step := db.keys/mostMeasured + 1
	skip, measured := 0, int64(0)
	for i := range db.shards {
		entries := db.shards[i].entries
		for ; skip < len(entries); skip += step {
			if one := &entries[skip]; one.seq != 0 {
				total += one.val.bytes()
				measured++
			}
		}
		skip -= len(entries)
	}
	if measured > 0 && step > 1 {
		total = total / measured * int64(db.keys)
	}
	return total
}

// bytes estimates the memory of a key with its value and its deadline.
func (e *entry) bytes() int64 {
	n := sizeDictEntry + sizeSlot + Allocated(SDSBytes(len(e.key))) + e.value.bytes()
	if e.deadline != NoDeadline {
		n += sizeDictEntry + sizeSlot
	}
	return n
}

// bytes estimates the memory of a value, from a few elements of a collection.
func (v *value) bytes() int64 {
	elements, text := 0, 0
	add := func(size int) bool { elements++; text += size; return elements < sampled }
	packed := v.form != formGrown
	overhead := int64(sizeDictEntry + sizeSlot)
	switch v.kind {
	case String:
		return v.stringBytes()
	case List:
		for i := range min(v.list.len(), sampled) {
			add(len(v.list.at(i)))
		}
		return sizeObject + sizeListNode + average(text+2*elements, elements, v.list.len())
	case Set:
		v.set.each(func(name string, _ struct{}) bool { return add(len(name)) })
	case Hash:
		v.hash.each(func(field, value string) bool { return add(len(field) + len(value)) })
		overhead += sizeObject
	case ZSet:
		for _, m := range v.zset.span(0, min(v.zset.len(), sampled)) {
			add(len(m.Name) + 8)
		}
		overhead += 2 * sizeListNode
	case Stream:
		return sizeObject + int64(v.stream.Bytes())
	}
	if packed {
		return sizeObject + Allocated(7+int(average(text+2*elements, elements, v.length())))
	}
	return sizeObject + average(text+16*elements, elements, v.length()) + int64(v.length())*overhead
}

// average is the size of n elements, of which a few have so many bytes.
func average(bytes, few, n int) int64 {
	if few == 0 {
		return 0
	}
	return int64(bytes) * int64(n) / int64(few)
}

func (v *value) stringBytes() int64 {
	switch v.stringEncoding() {
	case "int":
		return sizeObject
	case "embstr":
		return Allocated(sizeObject + 4 + v.length())
	}
	return sizeObject + Allocated(SDSBytes(v.length()))
}

// SDSBytes returns the size of a dynamic string of n bytes with its header and closing
// zero.
func SDSBytes(n int) int {
	switch {
	case n < 1<<5:
		return n + 2
	case n < 1<<8:
		return n + 4
	case n < 1<<16:
		return n + 6
	}
	return n + 10
}

// Allocated rounds n bytes up to a size class of jemalloc: 8, multiples of 16 up to 128,
// then four for each doubling.
func Allocated(n int) int64 {
	if n <= 8 {
		return 8
	}
	spacing := 16
	if n > 128 {
		spacing = 1 << (bits.Len(uint(n-1)) - 3)
	}
	return int64((n + spacing - 1) / spacing * spacing)
}

// FreeEffort estimates how many allocations Redis would free with the value under key; 0
// if key is missing. Source: lazyfreeGetFreeEffort of Redis 7.0.
func (db *DB) FreeEffort(key []byte) int {
	e := db.peek(key)
	if e == nil {
		return 0
	}
	v := &e.value
	switch {
	case v.kind == Stream:
		return v.stream.freeEffort()
	case v.kind == List:
		return int(v.bytes() / dumpNodeBytes)
	case v.kind == String, v.form != formGrown:
		return 1
	}
	return v.length()
}

// freeEffort counts nodes, and for each group what waits in the first one.
func (s *StreamData) freeEffort() int {
	effort := len(s.nodes)
	if len(s.groups) > 0 {
		effort += len(s.groups) * (1 + s.groups[0].pending.len())
	}
	return effort
}
