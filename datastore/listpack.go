package datastore

import "encoding/binary"

// A listpack is Redis's compact list of strings and integers: a header of six
// bytes (total size, count), elements, and an end byte. Each element ends with
// its own length, written backwards.
// Source: listpack.c of Redis 7.0.

const (
	lpHeader   = 6
	lpEnd      = 0xff
	lpMaxCount = 0xffff // a count that does not fit 16 bits is written so
)

// lpIntSize is the size of an integer in a listpack, its backward length included.
func lpIntSize(n int64) int {
	size := lpIntBody(n)
	return size + lpBackSize(size)
}

// lpIntBody is the size of an integer without its backward length.
func lpIntBody(n int64) int {
	switch {
	case n >= 0 && n <= 127:
		return 1
	case n >= -1<<12 && n < 1<<12:
		return 2
	case n >= -1<<15 && n < 1<<15:
		return 3
	case n >= -1<<23 && n < 1<<23:
		return 4
	case n >= -1<<31 && n < 1<<31:
		return 5
	}
	return 9
}

// lpTextSize is the size of a string in a listpack; one that is an integer is kept as such.
func lpTextSize(s string) int {
	if n, ok := ParseInteger(s); ok {
		return lpIntSize(n)
	}
	size := len(s) + 5
	switch {
	case len(s) < 1<<6:
		size = len(s) + 1
	case len(s) < 1<<12:
		size = len(s) + 2
	}
	return size + lpBackSize(size)
}

// lpBackSize is how many bytes the backward length of an element of n bytes takes.
func lpBackSize(n int) int {
	switch {
	case n <= 127:
		return 1
	case n < 1<<14-1:
		return 2
	case n < 1<<21-1:
		return 3
	case n < 1<<28-1:
		return 4
	}
	return 5
}

// lpWriter builds a listpack.
type lpWriter struct {
	b     []byte
	count int
}

func newListpack() *lpWriter { return &lpWriter{b: make([]byte, lpHeader)} }

// int appends an integer.
func (w *lpWriter) int(n int64) {
	start := len(w.b)
	u := uint64(n)
	switch lpIntBody(n) {
	case 1:
		w.b = append(w.b, byte(u))
	case 2:
		w.b = append(w.b, 0xc0|byte(u>>8)&0x1f, byte(u))
	case 3:
		w.b = append(w.b, 0xf1, byte(u), byte(u>>8))
	case 4:
		w.b = append(w.b, 0xf2, byte(u), byte(u>>8), byte(u>>16))
	case 5:
		w.b = binary.LittleEndian.AppendUint32(append(w.b, 0xf3), uint32(u))
	default:
		w.b = binary.LittleEndian.AppendUint64(append(w.b, 0xf4), u)
	}
	w.close(start)
}

// text appends a string, as an integer if it is one.
func (w *lpWriter) text(s string) {
	if n, ok := ParseInteger(s); ok {
		w.int(n)
		return
	}
	start := len(w.b)
	switch n := len(s); {
	case n < 1<<6:
		w.b = append(w.b, 0x80|byte(n))
	case n < 1<<12:
		w.b = append(w.b, 0xe0|byte(n>>8), byte(n))
	default:
		w.b = binary.LittleEndian.AppendUint32(append(w.b, 0xf0), uint32(n))
	}
	w.b = append(w.b, s...)
	w.close(start)
}

// close ends the element that began at start with its backward length, seven
// bits to a byte, the last byte first.
func (w *lpWriter) close(start int) {
	n := len(w.b) - start
	for i := lpBackSize(n) - 1; i >= 0; i-- {
		part := byte(n>>(7*i)) & 0x7f
		if i != lpBackSize(n)-1 {
			part |= 0x80
		}
		w.b = append(w.b, part)
	}
	w.count++
}

// bytes is the finished listpack.
func (w *lpWriter) bytes() []byte {
	w.b = append(w.b, lpEnd)
	binary.LittleEndian.PutUint32(w.b, uint32(len(w.b)))
	binary.LittleEndian.PutUint16(w.b[4:], uint16(min(w.count, lpMaxCount)))
	return w.b
}

// parseListpack returns the elements of a listpack, integers as their texts, and
// whether they are as many as it says.
func parseListpack(b []byte) (elements []string, counted, ok bool) {
	if len(b) < lpHeader+1 || int(binary.LittleEndian.Uint32(b)) != len(b) || b[len(b)-1] != lpEnd {
		return nil, false, false
	}
	count := int(binary.LittleEndian.Uint16(b[4:]))
	rest := b[lpHeader : len(b)-1]
	for len(rest) > 0 {
		text, size := lpElement(rest)
		end := size + lpBackSize(size)
		if size == 0 || end > len(rest) || lpBackLength(rest[:end]) != size {
			return nil, false, false
		}
		elements = append(elements, text)
		rest = rest[end:]
	}
	return elements, count == lpMaxCount || count == len(elements), true
}

// lpBackLength reads the backward length at the end of b.
func lpBackLength(b []byte) (n int) {
	const most = 5 // bytes
	for i := range min(most, len(b)) {
		part := b[len(b)-1-i]
		n |= int(part&0x7f) << (7 * i)
		if part < 0x80 {
			return n
		}
	}
	return -1 // it does not end
}

// lpElement reads the element at the front of b and returns its size without
// its backward length; 0 when it is none.
func lpElement(b []byte) (text string, size int) {
	first := b[0]
	head, length := 0, 0 // of a string
	switch {
	case first < 0x80:
		return FormatInteger(int64(first)), 1
	case first < 0xc0:
		head, length = 1, int(first&0x3f)
	case first < 0xe0 && len(b) >= 2:
		n := int64(first&0x1f)<<8 | int64(b[1])
		return FormatInteger(n << 51 >> 51), 2
	case first >= 0xe0 && first < 0xf0 && len(b) >= 2:
		head, length = 2, int(first&0x0f)<<8|int(b[1])
	case first == 0xf0 && len(b) >= 5:
		head, length = 5, int(binary.LittleEndian.Uint32(b[1:]))
	default:
		return lpWideInt(b)
	}
	if head+length > len(b) {
		return "", 0
	}
	return string(b[head : head+length]), head + length
}

// lpWideInt reads an integer of 16, 24, 32 or 64 bits.
func lpWideInt(b []byte) (text string, size int) {
	width := map[byte]int{0xf1: 2, 0xf2: 3, 0xf3: 4, 0xf4: 8}[b[0]]
	if width == 0 || len(b) < 1+width {
		return "", 0
	}
	return FormatInteger(littleEndian(b[1 : 1+width])), 1 + width
}
