// Package resp holds RESP2 and RESP3 values: how they are read, written and
// described as text.
//
// A [Value] is one reply. Command handlers rarely need to know the protocol
// version: a map, a set or a double that a handler returns comes out of
// [Append] as an array or a bulk string on a RESP2 connection.
//
// The bytes are made by redcon's Append functions, which only this package
// imports.
//
// Source: Redis serialization protocol specification, RESP2 and RESP3.
package resp
