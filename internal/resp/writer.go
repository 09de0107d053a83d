package resp

import (
	"math"
	"strconv"

	"github.com/tidwall/redcon"
)

// Append appends v as protocol version proto (2 or 3) writes it. Kinds that
// RESP2 lacks become what Redis sends in their place (see [Kind]); None
// appends nothing.
func Append(dst []byte, v Value, proto int) []byte { return AppendTo(dst, &v, proto) }

// AppendTo is Append without copying the value.
func AppendTo(dst []byte, v *Value, proto int) []byte {
	switch v.Kind {
	case Nil:
		return appendNull(dst, "$-1\r\n", proto)
	case NilArray:
		return appendNull(dst, "*-1\r\n", proto)
	case Status:
		return redcon.AppendString(dst, v.Str)
	case Error:
		return redcon.AppendError(dst, v.Str)
	case Integer:
		return redcon.AppendInt(dst, v.Int)
	case Bulk:
		return redcon.AppendBulkString(dst, v.Str)
	case Array, Map, Set, Push:
		return appendAggregate(dst, v, proto)
	case Attribute:
		if proto < 3 {
			return dst
		}
		return appendAggregate(dst, v, proto)
	case Double, Bool, BigNumber, Verbatim:
		if proto < 3 {
			return appendDowngraded(dst, *v)
		}
		return appendResp3(dst, *v)
	}
	return dst
}

// AppendInteger appends an integer.
func AppendInteger(dst []byte, n int64) []byte { return redcon.AppendInt(dst, n) }

// AppendArrayHeader appends the header of an array whose n elements follow.
func AppendArrayHeader(dst []byte, n int) []byte { return redcon.AppendArray(dst, n) }

// AppendCommand appends a request: an array of bulk strings.
func AppendCommand[T ~string | ~[]byte](dst []byte, args ...T) []byte {
	if dst == nil {
		const header = 6 // the sign, three digits, the end of the line
		size := header
		for _, arg := range args {
			size += header + len(arg) + len("\r\n")
		}
		dst = make([]byte, 0, size)
	}
	dst = redcon.AppendArray(dst, len(args))
	for _, arg := range args {
		dst = appendHeader(dst, '$', len(arg))
		dst = append(append(dst, arg...), '\r', '\n')
	}
	return dst
}

// FormatDouble returns f as Redis prints it in a reply: C's "%.17g", with inf, -inf, nan
// and -nan spelled like this.
func FormatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

func appendNull(dst []byte, resp2 string, proto int) []byte {
	if proto < 3 {
		return append(dst, resp2...)
	}
	return append(dst, "_\r\n"...)
}

func appendAggregate(dst []byte, v *Value, proto int) []byte {
	n := countElements(v.List)
	switch {
	case proto < 3 || v.Kind == Array:
		dst = redcon.AppendArray(dst, n)
	case v.Kind == Map:
		dst = appendHeader(dst, '%', n/2)
	case v.Kind == Set:
		dst = appendHeader(dst, '~', n)
	case v.Kind == Push:
		dst = appendHeader(dst, '>', n)
	case v.Kind == Attribute:
		dst = appendHeader(dst, '|', n/2)
	}
	for i := range v.List {
		dst = AppendTo(dst, &v.List[i], proto)
	}
	return dst
}

// countElements is the length an aggregate states: an attribute belongs to
// the element behind it and None is not sent.
func countElements(list []Value) int {
	n := 0
	for i := range list {
		if k := list[i].Kind; k != Attribute && k != None {
			n++
		}
	}
	return n
}

func appendHeader(dst []byte, prefix byte, n int) []byte {
	dst = append(dst, prefix)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

func appendDowngraded(dst []byte, v Value) []byte {
	switch v.Kind {
	case Double:
		return redcon.AppendBulkString(dst, v.number())
	case Bool:
		return redcon.AppendInt(dst, v.Int)
	}
	return redcon.AppendBulkString(dst, v.Str)
}

func appendResp3(dst []byte, v Value) []byte {
	switch v.Kind {
	case Double:
		dst = append(append(dst, ','), v.number()...)
	case Bool:
		if v.Int != 0 {
			return append(dst, "#t\r\n"...)
		}
		return append(dst, "#f\r\n"...)
	case BigNumber:
		dst = append(append(dst, '('), v.Str...)
	case Verbatim:
		dst = appendHeader(dst, '=', formatLength+len(":")+len(v.Str))
		dst = append(append(dst, v.Format()...), ':')
		dst = append(dst, v.Str...)
	}
	return append(dst, '\r', '\n')
}

// formatLength is the length of a verbatim string's format.
const formatLength = 3
