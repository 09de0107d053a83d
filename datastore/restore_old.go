package datastore

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Types of values that servers before 7.0 write, whose small collections are ziplists.
const (
	dumpOldList    = 1 // elements
	dumpOldZSet    = 3 // scores as text
	dumpZiplist    = 10
	dumpOldPackedZ = 12
	dumpOldPackedH = 13
	dumpOldNodes   = 14 // a list in ziplists
)

// old reads a value of an old type.
func (r *dumpReader) old(kind byte) value {
	switch kind {
	case dumpOldList:
		return r.list(func() (nodes [][]string) {
			for range r.count() {
				nodes = append(nodes, []string{r.text()})
			}
			return nodes
		})
	case dumpZiplist:
		return r.list(func() [][]string { return [][]string{r.ziplist()} })
	case dumpOldNodes:
		return r.list(func() (nodes [][]string) {
			for range r.count() {
				nodes = append(nodes, r.ziplist())
			}
			return nodes
		})
	case dumpOldZSet:
		return r.sorted(nil, r.scoreText)
	case dumpOldPackedZ:
		return r.sorted(r.ziplist, nil)
	case dumpOldPackedH:
		return r.hash(r.ziplist)
	}
	return value{}
}

// scoreText reads a score as text.
// Source: rdbLoadDoubleValue of Redis 7.0.
func (r *dumpReader) scoreText() float64 {
	const notANumber, infinite, negative = 253, 254, 255
	size := r.take(1)
	switch {
	case size == nil:
		return 0
	case size[0] == notANumber:
		return math.NaN()
	case size[0] == infinite:
		return math.Inf(1)
	case size[0] == negative:
		return math.Inf(-1)
	}
	score, err := strconv.ParseFloat(string(r.take(uint64(size[0]))), 64)
	r.bad = r.bad || err != nil
	return score
}

// ziplist reads the elements of a ziplist: a header of ten bytes (total size, where the last
// element begins, count), elements, and an end byte. Each element begins with the size of
// the one before it.
// Source: ziplist.c of Redis 7.0.
func (r *dumpReader) ziplist() (elements []string) {
	const header, end, unknown = 10, 0xff, 0xffff
	b := []byte(r.text())
	if len(b) <= header || int(binary.LittleEndian.Uint32(b)) != len(b) || b[len(b)-1] != end {
		r.bad = true
		return nil
	}
	last, before := header, 0
	at := header
	for at < len(b)-1 {
		text, size := zlElement(b[at:len(b)-1], before)
		if size == 0 {
			r.bad = true
			return nil
		}
		elements = append(elements, text)
		last, before = at, size
		at += size
	}
	count := int(binary.LittleEndian.Uint16(b[8:]))
	r.bad = r.bad || count != unknown && count != len(elements) || int(binary.LittleEndian.Uint32(b[4:])) != last
	return elements
}

// zlElement reads the element at the front of b, behind one of so many bytes, and returns
// its size; 0 when it is none.
func zlElement(b []byte, before int) (text string, size int) {
	const wide = 0xfe
	at, previous := 1, int(b[0])
	if b[0] == wide {
		if len(b) < 5 {
			return "", 0
		}
		at, previous = 5, int(binary.LittleEndian.Uint32(b[1:]))
	}
	if previous != before || b[0] > wide || at >= len(b) {
		return "", 0
	}
	text, size = zlText(b[at:])
	if size == 0 {
		return "", 0
	}
	return text, at + size
}

// zlText reads the content of an element.
func zlText(b []byte) (text string, size int) {
	first := b[0]
	head, length := 0, 0 // of a string
	switch {
	case first < 0x40:
		head, length = 1, int(first)
	case first < 0x80 && len(b) >= 2:
		head, length = 2, int(first&0x3f)<<8|int(b[1])
	case first == 0x80 && len(b) >= 5:
		head, length = 5, int(binary.BigEndian.Uint32(b[1:]))
	case first > 0xf0 && first < 0xfe:
		return FormatInteger(int64(first&0x0f) - 1), 1
	default:
		return zlInt(b)
	}
	if head+length > len(b) {
		return "", 0
	}
	return string(b[head : head+length]), head + length
}

// zlInt reads an integer of 8, 16, 24, 32 or 64 bits.
func zlInt(b []byte) (text string, size int) {
	width := map[byte]int{0xfe: 1, 0xc0: 2, 0xf0: 3, 0xd0: 4, 0xe0: 8}[b[0]]
	if width == 0 || len(b) < 1+width {
		return "", 0
	}
	return FormatInteger(littleEndian(b[1 : 1+width])), 1 + width
}

// littleEndian is the signed integer of up to eight bytes, the last of which has its sign.
func littleEndian(b []byte) int64 {
	var u uint64
	for i := len(b) - 1; i >= 0; i-- {
		u = u<<8 | uint64(b[i])
	}
	unused := 64 - 8*len(b)
	return int64(u<<unused) >> unused
}
