package datastore

import "slices"

// The sparse form: runs of registers of one value. A run of zeros takes one
// byte up to 64 registers, two beyond; one of a value up to 32, at most four
// registers long, takes one.

const (
	hllShortZeros = 64
	hllMaxRun     = 4
	hllMaxSparse  = 32 // the greatest value
)

// hllRun is a run of equal registers.
type hllRun struct {
	length int
	value  byte
	size   int // in bytes
}

// run reads the run at a position of h.b. A second byte that is missing is 0,
// as it is to Redis, whose strings end with one.
func (h *HyperLogLog) run(at int) hllRun {
	b := h.b[at]
	switch {
	case b < 0x40:
		return hllRun{int(b) + 1, 0, 1}
	case b < 0x80:
		low := 0
		if at+1 < len(h.b) {
			low = int(h.b[at+1])
		}
		return hllRun{int(b&0x3f)<<8 + low + 1, 0, 2}
	}
	return hllRun{int(b&3) + 1, b>>2&0x1f + 1, 1}
}

// hllZeros is a run of zeros, none if length is 0.
func hllZeros(length int) []byte {
	switch {
	case length == 0:
		return nil
	case length > hllShortZeros:
		return []byte{0x40 | byte((length-1)>>8), byte(length - 1)}
	}
	return []byte{byte(length - 1)}
}

// hllValues is a run of a value, none if length is 0.
func hllValues(value byte, length int) []byte {
	if length == 0 {
		return nil
	}
	return []byte{0x80 | (value-1)<<2 | byte(length-1)}
}

// setSparse is Set for the sparse form, which may become dense.
func (h *HyperLogLog) setSparse(index int, value byte) (grown, ok bool) {
	if value > hllMaxSparse {
		return h.promote(index, value)
	}
	previous, at, first := -1, hllHeader, 0
	var r hllRun
	for {
		if at >= len(h.b) {
			return false, false
		}
		r = h.run(at)
		if index < first+r.length {
			break
		}
		previous = at
		at += r.size
		first += r.length
	}
	if r.value >= value {
		return false, true
	}
	before, after := index-first, first+r.length-1-index
	fill := hllZeros
	if r.value > 0 {
		fill = func(length int) []byte { return hllValues(r.value, length) }
	}
	split := slices.Concat(fill(before), hllValues(value, 1), fill(after))
	if more := len(split) - r.size; more > 0 && len(h.b)+more > h.sparseMax {
		return h.promote(index, value)
	}
	h.b = slices.Replace(h.b, at, min(at+r.size, len(h.b)), split...)
	if previous < 0 {
		previous = hllHeader
	}
	h.mergeRuns(previous)
	h.Changed()
	return true, true
}

// mergeRuns joins equal neighbours among the five runs from a position on.
func (h *HyperLogLog) mergeRuns(at int) {
	for scan := 5; at < len(h.b) && scan > 0; scan-- {
		r := h.run(at)
		if r.value > 0 && at+1 < len(h.b) {
			next := h.run(at + 1)
			if next.value == r.value && r.length+next.length <= hllMaxRun {
				h.b[at+1] = hllValues(r.value, r.length+next.length)[0]
				h.b = slices.Delete(h.b, at, at+1)
				continue
			}
		}
		at += r.size
	}
}

// promote makes the dense form and sets the register there.
func (h *HyperLogLog) promote(index int, value byte) (grown, ok bool) {
	if !h.MakeDense() {
		return false, false
	}
	return h.setDense(index, value), true
}

// EachRun visits the runs of the sparse form.
func (h *HyperLogLog) EachRun(visit func(length int, value byte, wide bool)) {
	for at := hllHeader; at < len(h.b); {
		r := h.run(at)
		visit(r.length, r.value, r.size == 2)
		at += r.size
	}
}
