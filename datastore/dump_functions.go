package datastore

import (
	"math"
	"strings"
)

// What begins a library of functions in the file format; the older one is that of the
// release candidates of 7.0.
const (
	dumpFunction    = 0xf5
	dumpOldFunction = 0xf6
)

// DumpFunctions returns the payload of FUNCTION DUMP for the texts of libraries.
func DumpFunctions(codes []string, compress bool) []byte {
	w := &dumpWriter{compress: compress}
	for _, code := range codes {
		w.b = append(w.b, dumpFunction)
		w.text(code)
	}
	return sealDump(w.b)
}

// LoadFunctions returns the texts in a payload that DumpFunctions or Redis made, up to what
// cannot be read, and what Redis says of that; fault is "" if all can. What is damaged may
// reach into the end, which SealedDump must have checked.
// Source: functionRestoreCommand and rdbFunctionLoad of Redis 7.0.15.
func LoadFunctions(payload []byte) (codes []string, fault string) {
	r := &dumpReader{rest: payload}
	for len(r.rest) > dumpFooter {
		code := ""
		switch r.take(1)[0] {
		case dumpFunction:
			if code = r.text(); r.bad {
				fault = "Failed loading library payload"
			}
		case dumpOldFunction:
			code, fault = r.oldFunction()
		default:
			fault = "given type is not a function"
		}
		if fault != "" {
			return codes, fault
		}
		codes = append(codes, code)
	}
	return codes, ""
}

// oldFunction reads a library whose name and engine are not in its text, and puts them
// there. Each of the three ends for Redis at a zero byte.
func (r *dumpReader) oldFunction() (code, fault string) {
	name := r.text()
	if r.bad {
		return "", "Failed loading library name"
	}
	engine := r.text()
	if r.bad {
		return "", "Failed loading engine name"
	}
	described := r.length()
	if r.bad || described == math.MaxUint64 { // which is how Redis knows of an error
		return "", "Failed loading library description indicator"
	}
	if described != 0 {
		r.text()
	}
	if r.bad {
		return "", "Failed loading library description"
	}
	text := r.text()
	if r.bad {
		return "", "Failed loading library blob"
	}
	for _, s := range []*string{&name, &engine, &text} {
		*s, _, _ = strings.Cut(*s, "\x00")
	}
	return "#!" + engine + " name=" + name + "\n" + text, ""
}
