package datastore

// buffer is the text of a long string that is changed in place, such as one that grows by
// APPEND, or a bitmap: its bytes are never given away, so that a change need not copy them.
// Who wants to keep the text has it made into a string, until the next change.
type buffer struct{ bytes []byte }

// bufferFrom is the length from which a string that is changed gets a buffer, in bytes.
const bufferFrom = 1 << 10

// text is the text of a string.
func (v *value) text() string {
	if v.buffer != nil {
		v.str, v.buffer = string(v.buffer.bytes), nil
	}
	return v.str
}

// overwrite puts text into a string from offset on, filling a gap with zero bytes, and
// returns the length in bytes.
func (v *value) overwrite(offset int, text []byte) int {
	length := max(v.length(), offset+len(text))
	v.form = formGrown
	if length < bufferFrom {
		changed := make([]byte, length)
		copy(changed, v.str)
		copy(changed[offset:], text)
		v.str = string(changed)
		return length
	}
	if v.buffer == nil {
		v.buffer = &buffer{append(make([]byte, 0, length), v.str...)}
		v.str = ""
	}
	b := v.buffer.bytes
	if gap := length - len(b); gap > 0 {
		b = append(b, make([]byte, gap)...)
	}
	copy(b[offset:], text)
	v.buffer.bytes = b
	return length
}
