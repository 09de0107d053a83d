package slot

import (
	"bytes"

	"github.com/howeyc/crc16"
)

// Count is the number of slots of a Redis cluster.
const Count = 16384

// Of returns the slot of key, 0 to Count-1.
func Of(key []byte) int {
	return int(crc16.Update(0, crc16.CCITTFalseTable, Tag(key))) % Count
}

// OfString is Of for a string.
func OfString(key string) int { return Of([]byte(key)) }

// Tag returns the part of key that is hashed: its hash tag, or all of it when
// it has none.
func Tag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	length := bytes.IndexByte(key[open+1:], '}')
	if length < 1 {
		return key
	}
	return key[open+1 : open+1+length]
}
