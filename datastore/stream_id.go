package datastore

import (
	"cmp"
	"math"
	"strconv"
)

// StreamID names an entry of a stream. IDs are ordered by milliseconds, then
// by sequence number.
type StreamID struct{ Millis, Seq uint64 }

// The ends of the range of IDs. No entry has the first.
var (
	FirstStreamID = StreamID{}
	LastStreamID  = StreamID{math.MaxUint64, math.MaxUint64}
)

// String returns the form in which commands show the ID.
func (id StreamID) String() string {
	var buffer [41]byte
	b := strconv.AppendUint(buffer[:0], id.Millis, 10)
	b = append(b, '-')
	return string(strconv.AppendUint(b, id.Seq, 10))
}

// Compare is negative, 0 or positive if id comes before other, equals it, or comes after
// it.
func (id StreamID) Compare(other StreamID) int {
	if id.Millis != other.Millis {
		return cmp.Compare(id.Millis, other.Millis)
	}
	return cmp.Compare(id.Seq, other.Seq)
}

// Next returns the following ID; ok is false for the last one.
func (id StreamID) Next() (next StreamID, ok bool) {
	switch {
	case id.Seq < math.MaxUint64:
		return StreamID{id.Millis, id.Seq + 1}, true
	case id.Millis < math.MaxUint64:
		return StreamID{id.Millis + 1, 0}, true
	}
	return FirstStreamID, false
}

// Previous returns the ID before id; ok is false for the first one.
func (id StreamID) Previous() (previous StreamID, ok bool) {
	switch {
	case id.Seq > 0:
		return StreamID{id.Millis, id.Seq - 1}, true
	case id.Millis > 0:
		return StreamID{id.Millis - 1, math.MaxUint64}, true
	}
	return LastStreamID, false
}
