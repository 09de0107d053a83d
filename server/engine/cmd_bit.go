package engine

import (
	"math/bits"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Bitmap commands, https://redis.io/docs/latest/commands/?group=bitmap
// BITFIELD is in cmd_bitfield.go.

var bitCommands = []Command{
	{Name: "BITCOUNT", Arity: -2, Flags: ReadOnly, Groups: "bitmap", Run: runBitCount},
	{Name: "BITFIELD", Arity: -2, Flags: Write | DenyOOM, Groups: "bitmap", Run: runBitField},
	{Name: "BITFIELD_RO", Arity: -2, Flags: ReadOnly | Fast, Groups: "bitmap", Run: runBitFieldRO},
	{Name: "BITOP", Arity: -4, Flags: Write | DenyOOM, Groups: "bitmap", Run: runBitOp},
	{Name: "BITPOS", Arity: -3, Flags: ReadOnly, Groups: "bitmap", Run: runBitPos},
	{Name: "GETBIT", Arity: 3, Flags: ReadOnly | Fast, Groups: "bitmap", Run: runGetBit},
	{Name: "SETBIT", Arity: 4, Flags: Write | DenyOOM, Groups: "bitmap", Run: runSetBit},
}

const (
	errBitOffset = "ERR bit offset is not an integer or out of range"
	errBitValue  = "ERR bit is not an integer or out of range"
)

// parseBitOffset reads the number of a bit; the first of a byte is its highest.
func (c *Call) parseBitOffset(arg []byte) (offset int64, ok bool) {
	offset, ok = parseInt(arg)
	return offset, ok && c.mayHaveBit(offset)
}

// mayHaveBit reports whether a string may be so long that it has this bit.
func (c *Call) mayHaveBit(offset int64) bool { return offset >= 0 && offset/8 < c.maxString() }

// bitAt is a bit of text, 0 behind its end.
func bitAt(text string, offset int64) int64 {
	if offset/8 >= int64(len(text)) {
		return 0
	}
	return int64(text[offset/8] >> (7 - offset%8) & 1)
}

// runSetBit is SETBIT key offset value. It replies the old bit.
func runSetBit(c *Call) resp.Value {
	offset, ok := c.parseBitOffset(c.Args[2])
	if !ok {
		return resp.Err(errBitOffset)
	}
	bit, ok := parseInt(c.Args[3])
	if !ok || bit&^1 != 0 {
		return resp.Err(errBitValue)
	}
	key := c.Args[1]
	length, _, err := c.DB.Length(key)
	if err != nil {
		return failed(err)
	}
	at := int(offset / 8)
	text := c.DB.Part(key, at, at+1)
	old := bitAt(text, offset%8)
	if old == bit && at < length {
		c.DB.Unshare(key)
		return resp.Int(old)
	}
	var changed byte
	if text != "" {
		changed = text[0]
	}
	mask := byte(1) << (7 - offset%8)
	changed &^= mask
	if bit == 1 {
		changed |= mask
	}
	if _, err := c.DB.SetRange(key, at, []byte{changed}); err != nil {
		return failed(err)
	}
	c.Changed(key, "setbit")
	return resp.Int(old)
}

// runGetBit is GETBIT key offset.
func runGetBit(c *Call) resp.Value {
	offset, ok := c.parseBitOffset(c.Args[2])
	if !ok {
		return resp.Err(errBitOffset)
	}
	if _, _, err := c.DB.Length(c.Args[1]); err != nil {
		return failed(err)
	}
	at := int(offset / 8)
	return resp.Int(bitAt(c.DB.Part(c.Args[1], at, at+1), offset%8))
}

// bitRange is a span of bits of a string.
type bitRange struct{ from, to int64 } // to excluded

// parseBitRange reads start end [BYTE|BIT] over a string of n bytes; end may
// be missing. Only BITCOUNT sees that two negative positions are in the wrong
// order, and does so before it looks at the unit; BITPOS first moves both to
// the start, and looks at the unit before the end.
// Source: bitcountCommand and bitposCommand of Redis 7.0.
func parseBitRange(args [][]byte, n int, countsBits bool) (r bitRange, bad string) {
	start, stop, ok := int64(0), int64(-1), true
	if len(args) > 0 {
		if start, ok = parseInt(args[0]); !ok {
			return r, errNotInt
		}
	}
	unit, badUnit := int64(8), ""
	if len(args) == 3 {
		switch {
		case is(args[2], "BIT"):
			unit = 1
		case !is(args[2], "BYTE"):
			badUnit = errSyntax
		}
	}
	if badUnit != "" && !countsBits {
		return r, badUnit
	}
	if len(args) > 1 {
		if stop, ok = parseInt(args[1]); !ok {
			return r, errNotInt
		}
	}
	if countsBits && start < 0 && stop < 0 && start > stop {
		return r, ""
	}
	if badUnit != "" {
		return r, badUnit
	}
	total := int64(n) * 8 / unit
	if start < 0 {
		start = max(0, start+total)
	}
	if stop < 0 {
		stop = max(0, stop+total)
	}
	stop = min(stop, total-1)
	if start > stop {
		return r, ""
	}
	return bitRange{start * unit, (stop + 1) * unit}, ""
}

// runBitCount is BITCOUNT key [start end [BYTE|BIT]].
func runBitCount(c *Call) resp.Value {
	text, exists, err := c.DB.String(c.Args[1])
	rest := c.Args[2:]
	switch {
	case err != nil:
		return failed(err)
	case !exists:
		return resp.Zero
	case len(rest) == 1 || len(rest) > 3:
		return resp.Err(errSyntax)
	}
	r, bad := parseBitRange(rest, len(text), true)
	if bad != "" {
		return resp.Err(bad)
	}
	count := 0
	for at := r.from; at < r.to; {
		if at%8 == 0 && at+8 <= r.to {
			count += bits.OnesCount8(text[at/8])
			at += 8
			continue
		}
		count += int(bitAt(text, at))
		at++
	}
	return resp.Int(int64(count))
}

// runBitPos is BITPOS key bit [start [end [BYTE|BIT]]]. Behind the end of the
// string are zeros without end, unless an end was given.
func runBitPos(c *Call) resp.Value {
	bit, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return resp.Err(errNotInt)
	case bit&^1 != 0:
		return resp.Err("ERR The bit argument must be 1 or 0.")
	}
	text, exists, err := c.DB.String(c.Args[1])
	switch {
	case err != nil:
		return failed(err)
	case !exists && bit == 1:
		return resp.Int(-1)
	case !exists:
		return resp.Zero
	case len(c.Args) > 6:
		return resp.Err(errSyntax)
	}
	r, bad := parseBitRange(c.Args[3:], len(text), false)
	if bad != "" {
		return resp.Err(bad)
	}
	for at := r.from; at < r.to; at++ {
		if skipped := byte(0xff * (1 - bit)); at%8 == 0 && at+8 <= r.to && text[at/8] == skipped {
			at += 7
		} else if bitAt(text, at) == bit {
			return resp.Int(at)
		}
	}
	if bit == 0 && len(c.Args) < 5 && r.from < r.to {
		return resp.Int(r.to)
	}
	return resp.Int(-1)
}

// runBitOp is BITOP AND|OR|XOR|NOT destination key [key ...]. Shorter strings
// are continued with zeros.
func runBitOp(c *Call) resp.Value {
	operation := bitOperation(c.Args[1])
	target, keys := c.Args[2], c.Args[3:]
	switch {
	case operation == nil:
		return resp.Err(errSyntax)
	case is(c.Args[1], "NOT") && len(keys) != 1:
		return resp.Err("ERR BITOP NOT must be called with a single source key.")
	}
	var texts []string
	longest := 0
	for _, key := range keys {
		text, _, err := c.DB.String(key)
		if err != nil {
			return failed(err)
		}
		texts = append(texts, text)
		longest = max(longest, len(text))
	}
	result := make([]byte, longest)
	copy(result, texts[0])
	if is(c.Args[1], "NOT") {
		texts = append(texts, texts[0])
	}
	for _, text := range texts[1:] {
		for i := range result {
			var b byte
			if i < len(text) {
				b = text[i]
			}
			result[i] = operation(result[i], b)
		}
	}
	c.store(target, "set", longest, func() { c.DB.SetRaw(target, result, datastore.NoDeadline) })
	return resp.Int(int64(longest))
}

// bitOperation is what BITOP's first word does to two bytes, or nil.
func bitOperation(word []byte) func(a, b byte) byte {
	switch {
	case is(word, "AND"):
		return func(a, b byte) byte { return a & b }
	case is(word, "OR"):
		return func(a, b byte) byte { return a | b }
	case is(word, "XOR"):
		return func(a, b byte) byte { return a ^ b }
	case is(word, "NOT"):
		return func(a, _ byte) byte { return ^a }
	}
	return nil
}
