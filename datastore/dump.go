package datastore

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"slices"
	"strconv"

	"minikv/internal/resp"
)

// The payload of DUMP is a value in the format of Redis's files, followed by
// the format's version and a checksum.
// Source: rdb.c and cluster.c of Redis 7.0.

const (
	dumpVersion = 10
	dumpFooter  = 10 // bytes: the version and the checksum
)

// Types of values in the file format.
const (
	dumpString       = 0
	dumpSet          = 2
	dumpHash         = 4
	dumpZSet         = 5
	dumpIntset       = 11
	dumpStream1      = 15
	dumpHashPacked   = 16
	dumpZSetPacked   = 17
	dumpList         = 18
	dumpStream2      = 19
	dumpPlainNode    = 1
	dumpPackedNode   = 2
	dumpInt8         = 0xc0
	dumpInt16        = 0xc1
	dumpInt32        = 0xc2
	dumpCompressed   = 0xc3
	dumpLength32     = 0x80
	dumpLength64     = 0x81
	dumpNodeBytes    = 8192 // of a list
	dumpNodeOverhead = 8
)

// crcTable is the one of the Jones polynomial.
var crcTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// dumpChecksum is CRC-64 as Redis has it: nothing is inverted.
func dumpChecksum(b []byte) uint64 { return ^crc64.Update(^uint64(0), crcTable, b) }

// Dump returns the value under key as DUMP does, and whether it is there. With compress
// it compresses long strings.
func (db *DB) Dump(key []byte, compress bool) (payload []byte, ok bool) {
	e := db.lookup(key)
	if e == nil {
		return nil, false
	}
	w := &dumpWriter{compress: compress}
	w.value(e.value)
	return sealDump(w.b), true
}

// sealDump adds the version and the checksum.
func sealDump(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, dumpVersion)
	return binary.LittleEndian.AppendUint64(b, dumpChecksum(b))
}

// SealedDump reports whether a payload ends with a version that can be read and with the
// right checksum; with anyChecksum, any checksum will do.
func SealedDump(payload []byte, anyChecksum bool) bool {
	at := len(payload) - dumpFooter
	return at >= 0 && binary.LittleEndian.Uint16(payload[at:]) <= dumpVersion && (anyChecksum ||
		binary.LittleEndian.Uint64(payload[at+2:]) == dumpChecksum(payload[:at+2]))
}

// dumpWriter writes the file format.
type dumpWriter struct {
	b        []byte
	compress bool
}

func (w *dumpWriter) value(v value) {
	packed := v.form != formGrown
	switch {
	case v.kind == String:
		w.b = append(w.b, dumpString)
		w.text(v.text())
	case v.kind == List:
		w.list(v.list)
	case v.kind == Set && packed:
		w.b = append(w.b, dumpIntset)
		w.text(string(intset(v.set)))
	case v.kind == Set:
		w.b = append(w.b, dumpSet)
		w.length(uint64(v.set.len()))
		v.set.each(func(name string, _ struct{}) bool { w.text(name); return true })
	case v.kind == Hash:
		w.hash(v.hash, packed)
	case v.kind == ZSet:
		w.sorted(v.zset, packed)
	case v.kind == Stream:
		w.stream(v.stream)
	}
}

// length writes a count in as few bytes as it takes.
func (w *dumpWriter) length(n uint64) {
	switch {
	case n < 1<<6:
		w.b = append(w.b, byte(n))
	case n < 1<<14:
		w.b = append(w.b, 0x40|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		w.b = binary.BigEndian.AppendUint32(append(w.b, dumpLength32), uint32(n))
	default:
		w.b = binary.BigEndian.AppendUint64(append(w.b, dumpLength64), n)
	}
}

// text writes a string: as a number if it is a small one, compressed if it is
// long and gets shorter.
func (w *dumpWriter) text(s string) {
	const longestInt, shortestCompressed = 11, 21
	if len(s) <= longestInt {
		if n, ok := ParseInteger(s); ok && n == int64(int32(n)) {
			w.smallInt(n)
			return
		}
	}
	if w.compress && len(s) >= shortestCompressed {
		if packed, ok := lzfCompress([]byte(s), len(s)-4); ok {
			w.b = append(w.b, dumpCompressed)
			w.length(uint64(len(packed)))
			w.length(uint64(len(s)))
			w.b = append(w.b, packed...)
			return
		}
	}
	w.length(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *dumpWriter) smallInt(n int64) {
	switch {
	case n == int64(int8(n)):
		w.b = append(w.b, dumpInt8, byte(n))
	case n == int64(int16(n)):
		w.b = binary.LittleEndian.AppendUint16(append(w.b, dumpInt16), uint16(n))
	default:
		w.b = binary.LittleEndian.AppendUint32(append(w.b, dumpInt32), uint32(n))
	}
}

func (w *dumpWriter) list(list *deque) {
	nodes := listNodes(list)
	w.b = append(w.b, dumpList)
	w.length(uint64(len(nodes)))
	for _, packed := range nodes {
		w.length(dumpPackedNode)
		w.text(string(packed))
	}
}

// listNodes is the elements in nodes, as full as those of a list that grew at
// its tail.
func listNodes(list *deque) (nodes [][]byte) {
	node := newListpack()
	for i := range list.len() {
		text := list.at(i)
		if node.count > 0 && len(node.b)+1+len(text)+dumpNodeOverhead > dumpNodeBytes {
			nodes = append(nodes, node.bytes())
			node = newListpack()
		}
		node.text(text)
	}
	return append(nodes, node.bytes())
}

func (w *dumpWriter) hash(hash *omap[string], packed bool) {
	if !packed {
		w.b = append(w.b, dumpHash)
		w.length(uint64(hash.len()))
		hash.each(func(field, text string) bool { w.text(field); w.text(text); return true })
		return
	}
	list := newListpack()
	hash.each(func(field, text string) bool { list.text(field); list.text(text); return true })
	w.b = append(w.b, dumpHashPacked)
	w.text(string(list.bytes()))
}

// sorted writes a sorted set, a large one from its end, as Redis does.
func (w *dumpWriter) sorted(z *sorted, packed bool) {
	members := z.span(0, z.len())
	if !packed {
		w.b = append(w.b, dumpZSet)
		w.length(uint64(len(members)))
		for _, m := range slices.Backward(members) {
			w.text(m.Name)
			w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(m.Score))
		}
		return
	}
	list := newListpack()
	for _, m := range members {
		list.text(m.Name)
		list.text(ListpackScore(m.Score))
	}
	w.b = append(w.b, dumpZSetPacked)
	w.text(string(list.bytes()))
}

// ListpackScore returns a score as a listpack stores it: a whole one as an integer.
// Source: zzlInsertAt and double2ll of Redis 7.0.
func ListpackScore(score float64) string {
	const greatest = 1 << 62
	if math.Abs(score) <= greatest && score == math.Trunc(score) {
		return FormatInteger(int64(score))
	}
	return resp.FormatDouble(score)
}

// intset is a compact set of integers: the width of the widest, their number, and
// they in ascending order.
// Source: intset.c of Redis 7.0.
func intset(set *omap[struct{}]) []byte {
	numbers := make([]int64, 0, set.len())
	width := 2
	set.each(func(name string, _ struct{}) bool {
		n, _ := ParseInteger(name)
		numbers = append(numbers, n)
		switch {
		case n != int64(int32(n)):
			width = 8
		case n != int64(int16(n)):
			width = max(width, 4)
		}
		return true
	})
	slices.Sort(numbers)
	b := binary.LittleEndian.AppendUint32(nil, uint32(width))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(numbers)))
	for _, n := range numbers {
		for i := range width {
			b = append(b, byte(n>>(8*i)))
		}
	}
	return b
}

// parseScore reads what ListpackScore wrote.
func parseScore(text string) (float64, bool) {
	score, err := strconv.ParseFloat(text, 64)
	return score, err == nil && !math.IsNaN(score)
}
