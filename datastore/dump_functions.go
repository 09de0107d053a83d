package datastore

// dumpFunction begins a library of functions in the file format.
const dumpFunction = 0xf5

// DumpFunctions returns the payload of FUNCTION DUMP for the texts of libraries.
func DumpFunctions(codes []string, compress bool) []byte {
	w := &dumpWriter{compress: compress}
	for _, code := range codes {
		w.b = append(w.b, dumpFunction)
		w.text(code)
	}
	return sealDump(w.b)
}

// LoadFunctions returns the texts in a payload that DumpFunctions or Redis made.
// SealedDump must have checked its end. typed is false if the payload holds something
// else, ok is false if it cannot be read.
func LoadFunctions(payload []byte) (codes []string, typed, ok bool) {
	r := &dumpReader{rest: payload[:len(payload)-dumpFooter]}
	for len(r.rest) > 0 && !r.bad {
		if r.take(1)[0] != dumpFunction {
			return nil, false, false
		}
		codes = append(codes, r.text())
	}
	return codes, true, !r.bad
}
