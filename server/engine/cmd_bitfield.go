package engine

import (
	"bytes"
	"math"
	"math/bits"

	"minikv/internal/resp"
)

// BITFIELD, https://redis.io/docs/latest/commands/bitfield/

const (
	errFieldType = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	errOverflows = "ERR Invalid OVERFLOW type specified"
	errFieldRO   = "ERR BITFIELD_RO only supports the GET subcommand"
)

// fieldWord is a subcommand of BITFIELD.
type fieldWord uint8

const (
	fieldGet fieldWord = iota
	fieldSet
	fieldIncr
)

// overflow is what happens to a value that does not fit.
type overflow uint8

const (
	overflowWrap overflow = iota
	overflowSat
	overflowFail
)

// fieldOp is one operation on an integer inside a string.
type fieldOp struct {
	word     fieldWord
	signed   bool
	width    int   // bits
	offset   int64 // of its highest bit
	value    int64 // to set or to add
	overflow overflow
}

// runBitField is BITFIELD key [GET type offset] [SET type offset value]
// [INCRBY type offset increment] [OVERFLOW WRAP|SAT|FAIL] ...
func runBitField(c *Call) resp.Value { return bitField(c, false) }

// runBitFieldRO is BITFIELD_RO key [GET type offset] ...
func runBitFieldRO(c *Call) resp.Value { return bitField(c, true) }

func bitField(c *Call, readOnly bool) resp.Value {
	ops, bad := parseFieldOps(c, c.Args[2:])
	if bad != "" {
		return resp.Err(bad)
	}
	key := c.Args[1]
	length, _, err := c.DB.Length(key)
	size := int64(0) // bytes that the writes need
	for _, op := range ops {
		if op.word != fieldGet {
			size = max(size, (op.offset+int64(op.width)-1)/8+1)
		}
	}
	switch {
	case readOnly && size > 0:
		return resp.Err(errFieldRO)
	case err != nil:
		return failed(err)
	}
	grew, changes := int(size) > length, 0
	if grew {
		if _, err := c.DB.SetRange(key, int(size)-1, []byte{0}); err != nil {
			return failed(err)
		}
	}
	replies := make([]resp.Value, 0, len(ops))
	for _, op := range ops {
		from := int(op.offset / 8)
		op.offset %= 8
		field := []byte(c.DB.Part(key, from, from+(int(op.offset)+op.width+7)/8))
		reply, differs, wrote := op.apply(field)
		replies = append(replies, reply)
		changes += flag(differs || wrote && grew)
		if differs {
			if _, err := c.DB.SetRange(key, from, field); err != nil {
				return failed(err)
			}
		}
	}
	if size > 0 {
		c.DB.Unshare(key)
	}
	if changes > 0 { // a string that only grew, for writes that failed, tells nobody
		c.Changed(key, "setbit")
		c.Amounts(changes)
	}
	return resp.List(replies...)
}

// parseFieldOps reads the operations; OVERFLOW is for those behind it.
func parseFieldOps(c *Call, args [][]byte) (ops []fieldOp, bad string) {
	mode := overflowWrap
	for len(args) > 0 {
		op, words := fieldOp{overflow: mode}, 4
		switch {
		case is(args[0], "GET") && len(args) > 2:
			words = 3
		case is(args[0], "SET") && len(args) > 3:
			op.word = fieldSet
		case is(args[0], "INCRBY") && len(args) > 3:
			op.word = fieldIncr
		case is(args[0], "OVERFLOW") && len(args) > 1:
			if mode, bad = parseOverflow(args[1]); bad != "" {
				return nil, bad
			}
			args = args[2:]
			continue
		default:
			return nil, errSyntax
		}
		if bad := op.parse(c, args[1:words]); bad != "" {
			return nil, bad
		}
		ops = append(ops, op)
		args = args[words:]
	}
	return ops, ""
}

func parseOverflow(arg []byte) (overflow, string) {
	switch {
	case is(arg, "WRAP"):
		return overflowWrap, ""
	case is(arg, "SAT"):
		return overflowSat, ""
	case is(arg, "FAIL"):
		return overflowFail, ""
	}
	return 0, errOverflows
}

// parse reads type offset [value]. An offset with # counts in widths, and wraps
// around as in Redis.
// Source: getBitOffsetFromArgument of Redis 7.0.
func (op *fieldOp) parse(c *Call, args [][]byte) (bad string) {
	kind, _, _ := bytes.Cut(args[0], []byte{0})
	if len(kind) == 0 || kind[0] != 'i' && kind[0] != 'u' {
		return errFieldType
	}
	op.signed = kind[0] == 'i'
	width, ok := parseInt(kind[1:])
	if most := int64(63 + flag(op.signed)); !ok || width < 1 || width > most {
		return errFieldType
	}
	op.width = int(width)
	text, factor := args[1], int64(1)
	if len(text) > 0 && text[0] == '#' {
		text, factor = text[1:], width
	}
	op.offset, ok = parseInt(text)
	op.offset *= factor
	if !ok || !c.mayHaveBit(op.offset) {
		return errBitOffset
	}
	if len(args) > 2 {
		if op.value, ok = parseInt(args[2]); !ok {
			return errNotInt
		}
	}
	return ""
}

// apply runs the operation on a string that is long enough for its writes, and
// reports whether the field differs now, and whether it was written.
func (op *fieldOp) apply(text []byte) (reply resp.Value, differs, wrote bool) {
	old := op.read(text)
	if op.word == fieldGet {
		return resp.Int(old), false, false
	}
	base := old
	if op.word == fieldSet {
		base = 0
	}
	value, ok := op.fit(base)
	if !ok {
		return resp.Null, false, false
	}
	op.write(text, value)
	if op.word == fieldSet {
		return resp.Int(old), value != old, true
	}
	return resp.Int(value), value != old, true
}

// read is the integer that stands in text, zeros following its end.
func (op *fieldOp) read(text []byte) int64 {
	var n uint64
	for i := range int64(op.width) {
		n <<= 1
		if at := op.offset + i; at/8 < int64(len(text)) {
			n |= uint64(text[at/8] >> (7 - at%8) & 1)
		}
	}
	return op.extend(n)
}

// extend gives the low bits of n their sign.
func (op *fieldOp) extend(n uint64) int64 {
	unused := 64 - op.width
	if op.signed {
		return int64(n<<unused) >> unused
	}
	return int64(n << unused >> unused)
}

// write puts the low bits of an integer into text.
func (op *fieldOp) write(text []byte, value int64) {
	for i := range int64(op.width) {
		at := op.offset + i
		mask := byte(1) << (7 - at%8)
		text[at/8] &^= mask
		if value>>(int64(op.width)-1-i)&1 == 1 {
			text[at/8] |= mask
		}
	}
}

// fit is base plus the operation's value as the width allows it; false when
// OVERFLOW FAIL refuses.
func (op *fieldOp) fit(base int64) (int64, bool) {
	low, high := int64(0), int64(1)<<op.width-1
	if op.signed {
		low, high = -1<<(op.width-1), 1<<(op.width-1)-1
	}
	// The sum in 128 bits: its high word is 0 or -1 when 64 bits are enough.
	sum, carry := bits.Add64(uint64(base), uint64(op.value), 0)
	over := base>>63 + op.value>>63 + int64(carry)
	below := over < 0 && (int64(sum) >= 0 || int64(sum) < low)
	above := over >= 0 && (int64(sum) < 0 || int64(sum) > high)
	if !op.signed && op.word == fieldSet {
		below, above = false, uint64(op.value) > uint64(high) // Redis takes it as unsigned
	}
	if op.signed && op.word == fieldSet && op.width < 64 && op.value <= math.MinInt64+high {
		below, above = false, true // Redis's check wraps around: checkSignedBitfieldOverflow of 7.0
	}
	switch {
	case !below && !above:
		return int64(sum), true
	case op.overflow == overflowFail:
		return 0, false
	case op.overflow == overflowWrap:
		return op.extend(sum), true
	case below:
		return low, true
	}
	return high, true
}
