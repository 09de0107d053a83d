// Package resp holds RESP2 and RESP3 values: how they are read, written and
// described as text.
//
// A [Value] is one reply. The same value is written differently for the two
// protocol versions: a map, a set or a double that a handler returns comes out
// of [Append] as an array or a bulk string on a RESP2 connection, so that
// command handlers rarely need to know the version.
//
// The bytes are made by redcon's Append functions, which only this package
// imports.
//
// Source: Redis serialization protocol specification, RESP2 and RESP3.
package resp
