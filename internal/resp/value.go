package resp

import "math"

// Kind says what a Value is. Each comment gives its RESP2 and RESP3 form.
type Kind uint8

const (
	None      Kind = iota // nothing is sent (the handler wrote its own pushes, or the client is blocked)
	Nil                   // $-1, RESP3 _
	NilArray              // *-1, RESP3 _
	Status                // +OK
	Error                 // -ERR text
	Integer               // :1
	Bulk                  // $1 a
	Array                 // *n
	Map                   // *2n of keys and values in turn, RESP3 %n; List has 2n entries
	Set                   // *n, RESP3 ~n
	Push                  // *n, RESP3 >n
	Double                // bulk string, RESP3 ,1.5
	Bool                  // :1 or :0, RESP3 #t or #f
	BigNumber             // bulk string, RESP3 (
	Verbatim              // bulk string, RESP3 =; Str without its "txt:" prefix; see VerbatimText
	Attribute             // RESP3 | only; never sent to RESP2
)

// Value is one RESP value. Its zero value is None. A Value must not alias the arguments
// of the command that made it, whose buffer is reused: clone them.
type Value struct {
	Kind Kind
	Int  int64  // Integer; Bool as 0 or 1; Double as its IEEE 754 bits; Verbatim's format, 0 being "txt"; see Counted
	Str  string // a Double's: its text, "" for that of FormatDouble
	List []Value
}

// Exceeds reports whether the texts in v alone have more than so many bytes.
func (v *Value) Exceeds(bytes int) bool { return v.rest(bytes) < 0 }

// rest is what is left of so many bytes behind the texts in v; negative if they are more.
func (v *Value) rest(bytes int) int {
	if v.Kind == Attribute { // which is not sent to all
		return bytes
	}
	bytes -= len(v.Str)
	for i := 0; i < len(v.List) && bytes >= 0; i++ {
		bytes = v.List[i].rest(bytes)
	}
	return bytes
}

// Values that are used often.
var (
	OK       = Value{Kind: Status, Str: "OK"}
	Null     = Value{Kind: Nil}
	NullList = Value{Kind: NilArray}
	Zero     = Value{Kind: Integer}
	One      = Value{Kind: Integer, Int: 1}
)

// Counted is the Int of an Error that a script replies and that the server has already
// counted among its errors. It is not sent.
const Counted = 1

// Int returns an integer reply.
func Int(n int64) Value { return Value{Kind: Integer, Int: n} }

// Str returns a bulk string reply.
func Str(s string) Value { return Value{Kind: Bulk, Str: s} }

// Simple returns a status reply such as +PONG.
func Simple(s string) Value { return Value{Kind: Status, Str: s} }

// Err returns an error reply; text begins with its code, such as "ERR ".
func Err(text string) Value { return Value{Kind: Error, Str: text} }

// List returns an array reply of the given values.
func List(values ...Value) Value { return Value{Kind: Array, List: values} }

// Pairs returns a map reply of keys and values in turn.
func Pairs(keysAndValues ...Value) Value { return Value{Kind: Map, List: keysAndValues} }

// Float returns a double reply.
func Float(f float64) Value { return Value{Kind: Double, Int: int64(math.Float64bits(f))} }

// Number returns a double reply whose text in RESP3 may have more digits than f needs.
// Source: networking.c, addReplyHumanLongDouble.
func Number(f float64, text string) Value {
	v := Float(f)
	if text != FormatDouble(f) {
		v.Str = text
	}
	return v
}

// VerbatimText returns a verbatim string. Of its format three bytes are sent; a shorter
// one is filled up with blanks. Source: networking.c, addReplyVerbatim.
func VerbatimText(format, text string) Value {
	v := Value{Kind: Verbatim, Str: text}
	if format != defaultFormat {
		format += "   "
		v.Int = int64(format[0])<<16 | int64(format[1])<<8 | int64(format[2])
	}
	return v
}

// defaultFormat is that of the verbatim strings of commands.
const defaultFormat = "txt"

// Format returns the three bytes of a verbatim string's format.
func (v Value) Format() string {
	if v.Int == 0 {
		return defaultFormat
	}
	return string([]byte{byte(v.Int >> 16), byte(v.Int >> 8), byte(v.Int)})
}

// SetInt makes v what Int returns. It is faster than a returned Value, which is written
// to memory twice, and the second time has to wait for the first: setting it where it
// will be read saves some nanoseconds for each function that it passes through.
func (v *Value) SetInt(n int64) { v.Kind, v.Int, v.Str, v.List = Integer, n, "", nil }

// SetStr makes v what Str returns.
func (v *Value) SetStr(s string) { v.Kind, v.Int, v.Str, v.List = Bulk, 0, s, nil }

// SetFloat makes v what Float returns.
func (v *Value) SetFloat(f float64) {
	v.Kind, v.Int, v.Str, v.List = Double, int64(math.Float64bits(f)), "", nil
}

// SetStatus makes v what Simple returns.
func (v *Value) SetStatus(s string) { v.Kind, v.Int, v.Str, v.List = Status, 0, s, nil }

// SetList makes v what List returns.
func (v *Value) SetList(list []Value) { v.Kind, v.Int, v.Str, v.List = Array, 0, "", list }

// SetNil makes v Null.
func (v *Value) SetNil() { v.Kind, v.Int, v.Str, v.List = Nil, 0, "", nil }

// Flag returns a boolean reply.
func Flag(b bool) Value {
	if b {
		return Value{Kind: Bool, Int: 1}
	}
	return Value{Kind: Bool}
}

// Float64 returns the number of a Double.
func (v Value) Float64() float64 { return math.Float64frombits(uint64(v.Int)) }

// number is the text of a Double.
func (v Value) number() string {
	if v.Str != "" {
		return v.Str
	}
	return FormatDouble(v.Float64())
}

// IsNil reports whether v is either form of null.
func (v Value) IsNil() bool { return v.Kind == Nil || v.Kind == NilArray }
