package datastore

// LZF is the compression that Redis uses for long strings in its file format:
// literal runs, and references up to 8 KiB back. What is written is byte for
// byte what Redis writes, whose compressor tries one earlier place for each
// three bytes.
// Source: the LZF format; lzf_c.c as Redis 7.0 configures it.

const (
	lzfHashBits   = 16
	lzfMaxLiteral = 1 << 5
	lzfMaxOffset  = 1 << 13
	lzfMaxMatch   = 1<<8 + 1<<3
)

// lzfWriter is the output of one compression.
type lzfWriter struct {
	in  []byte
	out []byte
	run int // literals since the last control byte, which stands before them
}

// lzfCompress compresses in to at most limit bytes; ok is false when it does
// not get that small.
func lzfCompress(in []byte, limit int) (out []byte, ok bool) {
	w := &lzfWriter{in: in, out: make([]byte, 1, limit)}
	var places [1 << lzfHashBits]int32 // 0: none; a match at the very start is never taken
	end := len(in)
	hash := func(at int) uint32 {
		v := uint32(in[at])<<16 | uint32(in[at+1])<<8 | uint32(in[at+2])
		return (v>>(24-lzfHashBits) - v*5) & (1<<lzfHashBits - 1)
	}
	at := 0
	for at < end-2 {
		slot := &places[hash(at)]
		from := int(*slot)
		*slot = int32(at)
		if !w.matches(from, at) {
			if len(w.out) >= limit {
				return nil, false
			}
			w.literal(at)
			at++
			continue
		}
		if len(w.out)+4 >= limit && len(w.out)-flagInt(w.run == 0)+4 >= limit {
			return nil, false
		}
		length := w.matchLength(from, at)
		w.reference(at-from-1, length)
		at += length
		if at >= end-2 {
			break
		}
		places[hash(at-2)] = int32(at - 2)
		places[hash(at-1)] = int32(at - 1)
	}
	if len(w.out)+3 > limit {
		return nil, false
	}
	for ; at < end; at++ {
		w.literal(at)
	}
	w.endRun()
	return w.out, true
}

// matches reports whether three bytes are the same at two places, and the
// earlier one is near enough and not at the start.
func (w *lzfWriter) matches(from, at int) bool {
	return from > 0 && at-from-1 < lzfMaxOffset &&
		w.in[from] == w.in[at] && w.in[from+1] == w.in[at+1] && w.in[from+2] == w.in[at+2]
}

// matchLength is how many bytes are taken from an earlier place. The first
// sixteen of a long match are compared without regard to the limit.
func (w *lzfWriter) matchLength(from, at int) int {
	const unchecked = 16
	most := min(len(w.in)-at-2, lzfMaxMatch)
	n := 2
	if most > unchecked {
		for range unchecked {
			n++
			if w.in[from+n] != w.in[at+n] {
				return n
			}
		}
	}
	for {
		n++
		if n >= most || w.in[from+n] != w.in[at+n] {
			return n
		}
	}
}

// literal adds the byte at a place as it is.
func (w *lzfWriter) literal(at int) {
	w.run++
	w.out = append(w.out, w.in[at])
	if w.run == lzfMaxLiteral {
		w.endRun()
		w.out = append(w.out, 0)
	}
}

// endRun writes the control byte of the literals, or takes it back if there are none.
func (w *lzfWriter) endRun() {
	if w.run == 0 {
		w.out = w.out[:len(w.out)-1]
		return
	}
	w.out[len(w.out)-w.run-1] = byte(w.run - 1)
	w.run = 0
}

// reference writes a match of length bytes, offset+1 bytes back, and begins a
// run of literals.
func (w *lzfWriter) reference(offset, length int) {
	const short = 7
	w.endRun()
	if n := length - 2; n < short {
		w.out = append(w.out, byte(offset>>8|n<<5))
	} else {
		w.out = append(w.out, byte(offset>>8|short<<5), byte(n-short))
	}
	w.out = append(w.out, byte(offset), 0)
}

func flagInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lzfDecompress returns the size bytes that were compressed to in.
func lzfDecompress(in []byte, size int) (out []byte, ok bool) {
	out = make([]byte, 0, min(size, 264*len(in)))
	for len(in) > 0 {
		control := int(in[0])
		in = in[1:]
		if control < lzfMaxLiteral {
			if control+1 > len(in) {
				return nil, false
			}
			out = append(out, in[:control+1]...)
			in = in[control+1:]
			continue
		}
		length := control >> 5
		if length == 7 && len(in) > 0 {
			length += int(in[0])
			in = in[1:]
		}
		if len(in) == 0 {
			return nil, false
		}
		from := len(out) - (control&0x1f)<<8 - int(in[0]) - 1
		in = in[1:]
		if from < 0 || len(out)+length+2 > size {
			return nil, false
		}
		for range length + 2 {
			out = append(out, out[from])
			from++
		}
	}
	return out, len(out) == size
}
