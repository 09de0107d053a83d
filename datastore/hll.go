package datastore

import (
	"encoding/binary"
	"math"
)

// HyperLogLog estimates the number of different elements. It is a string of 16384
// registers of six bits, either dense, or sparse as runs of equal registers. Its bytes
// are Redis's. Source: hyperloglog.c of Redis 7.0.
type HyperLogLog struct {
	b         []byte
	sparseMax int // bytes up to which it stays sparse
}

const (
	hllBits      = 14
	hllRegisters = 1 << hllBits
	hllHeader    = 16
	hllDenseSize = hllHeader + hllRegisters*6/8
	hllDense     = 0
	hllSparse    = 1
	hllMaxCount  = 64 - hllBits + 1 // the greatest value of a register

	hllEncodingAt = 4
	hllCacheAt    = 8    // eight bytes: the count of elements, little endian
	hllStale      = 0x80 // in the last of them: the count is not known
)

// NewHyperLogLog returns one without elements. sparseMax is hll-sparse-max-bytes.
func NewHyperLogLog(sparseMax int) *HyperLogLog {
	b := append([]byte("HYLL"), make([]byte, hllHeader-4)...)
	b[hllEncodingAt] = hllSparse
	return &HyperLogLog{append(b, hllZeros(hllRegisters)...), sparseMax}
}

// OpenHyperLogLog reads one from the text of a key; ok is false if text cannot be one.
func OpenHyperLogLog(text string, sparseMax int) (h *HyperLogLog, ok bool) {
	if len(text) < hllHeader || text[:4] != "HYLL" || text[hllEncodingAt] > hllSparse ||
		text[hllEncodingAt] == hllDense && len(text) != hllDenseSize {
		return nil, false
	}
	return &HyperLogLog{[]byte(text), sparseMax}, true
}

// Bytes returns what is to be stored under the key.
func (h *HyperLogLog) Bytes() []byte { return h.b }

// Sparse reports whether the form is sparse.
func (h *HyperLogLog) Sparse() bool { return h.b[hllEncodingAt] == hllSparse }

// Cached returns the count that was last stored; ok is false if it is out of date.
func (h *HyperLogLog) Cached() (count uint64, ok bool) {
	return binary.LittleEndian.Uint64(h.b[hllCacheAt:]), h.b[hllCacheAt+7]&hllStale == 0
}

// SetCached stores the count.
func (h *HyperLogLog) SetCached(count uint64) { binary.LittleEndian.PutUint64(h.b[hllCacheAt:], count) }

// Changed marks the stored count as out of date.
func (h *HyperLogLog) Changed() { h.b[hllCacheAt+7] |= hllStale }

// Add adds an element and reports whether a register has grown; ok is false if the bytes
// are damaged.
func (h *HyperLogLog) Add(element []byte) (grown, ok bool) {
	const seed = 0xadc83b19
	hash := murmur64(element, seed)
	index := int(hash & (hllRegisters - 1))
	hash = hash>>hllBits | 1<<(64-hllBits)
	count := byte(1)
	for ; hash&1 == 0; hash >>= 1 {
		count++
	}
	return h.Set(index, count)
}

// Set raises a register to a value if it is lower. It returns what Add returns.
func (h *HyperLogLog) Set(index int, value byte) (grown, ok bool) {
	if h.Sparse() {
		return h.setSparse(index, value)
	}
	return h.setDense(index, value), true
}

// dense returns a register of the dense form.
func (h *HyperLogLog) dense(index int) byte {
	bit := index * 6
	at := hllHeader + bit/8
	v := uint16(h.b[at])
	if at+1 < len(h.b) {
		v |= uint16(h.b[at+1]) << 8
	}
	return byte(v>>(bit%8)) & 0x3f
}

func (h *HyperLogLog) setDense(index int, value byte) (grown bool) {
	if h.dense(index) >= value {
		return false
	}
	bit := index * 6
	at, shift := hllHeader+bit/8, bit%8
	mask := uint16(0x3f) << shift
	v := uint16(value) << shift
	h.b[at] = h.b[at]&^byte(mask) | byte(v)
	if mask>>8 != 0 {
		h.b[at+1] = h.b[at+1]&^byte(mask>>8) | byte(v>>8)
	}
	return true
}

// Registers returns the values of all registers; ok is false if the bytes are damaged.
func (h *HyperLogLog) Registers() (values [hllRegisters]byte, ok bool) {
	if !h.Sparse() {
		for i := range values {
			values[i] = h.dense(i)
		}
		return values, true
	}
	at := 0
	for i := hllHeader; i < len(h.b); {
		run := h.run(i)
		if at+run.length > hllRegisters {
			return values, false
		}
		for range run.length {
			values[at] = run.value
			at++
		}
		i += run.size
	}
	return values, at == hllRegisters
}

// MakeDense changes the form from sparse to dense; ok is false if the bytes are damaged.
func (h *HyperLogLog) MakeDense() (ok bool) {
	if !h.Sparse() {
		return true
	}
	values, ok := h.Registers()
	if !ok {
		return false
	}
	b := make([]byte, hllDenseSize)
	copy(b, h.b[:hllHeader])
	b[hllEncodingAt] = hllDense
	h.b = b
	for i, value := range values {
		h.setDense(i, value)
	}
	return true
}

// CountRegisters estimates how many different elements have set the registers. Source:
// Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches",
// arXiv:1702.01284, as Redis 7.0 computes it.
func CountRegisters(values *[hllRegisters]byte) uint64 {
	const alpha, m = 0.721347520444481703680, float64(hllRegisters)
	var histogram [64]int
	for _, value := range values {
		histogram[value]++
	}
	z := m * hllTau((m-float64(histogram[hllMaxCount]))/m)
	for i := hllMaxCount - 1; i >= 1; i-- {
		z += float64(histogram[i])
		z *= 0.5
	}
	z += m * hllSigma(float64(histogram[0])/m)
	return uint64(math.Round(alpha * m * m / z))
}

func hllSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += x * y
		y += y
		if before == z {
			return z
		}
	}
}

func hllTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= (1 - x) * (1 - x) * y
		if before == z {
			return z / 3
		}
	}
}

// murmur64 is the 64-bit hash of MurmurHash2 for 64-bit machines.
func murmur64(b []byte, seed uint64) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	h := seed ^ uint64(len(b))*m
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * m
		k ^= k >> r
		h = (h ^ k*m) * m
	}
	if len(b) > 0 {
		var k uint64
		for i, c := range b {
			k |= uint64(c) << (8 * i)
		}
		h = (h ^ k) * m
	}
	h ^= h >> r
	h *= m
	return h ^ h>>r
}
