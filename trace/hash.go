package trace

import "math/bits"

// Hash is the running hash of a run's events, over their numeric fields. Two runs with
// one hash went the same way. The zero value is the hash of no events.
type Hash uint64

// Odd multipliers with random bits, one for each field, so that fields do not
// cancel each other; the products do not depend on one another and overlap.
const (
	mulAt    = 0x9e3779b97f4a7c15
	mulCause = 0xbf58476d1ce4e5b9
	mulWho   = 0x94d049bb133111eb
	mulA     = 0xd6e8feb86659fd93
	mulB     = 0xa0761d6478bd642f
	mulState = 0xe7037ed1a0b428db
)

// Add returns the hash after e.
func (h Hash) Add(e *Event) Hash {
	who := uint64(uint32(e.Actor))<<32 | uint64(uint32(e.Peer))
	what := uint64(uint32(e.Lock))<<8 | uint64(e.Kind)
	x := uint64(e.At)*mulAt + e.Cause*mulCause + (who^what<<20)*mulWho + uint64(e.A)*mulA + uint64(e.B)*mulB
	return Hash(bits.RotateLeft64(uint64(h)*mulState+x, 29) ^ x>>31)
}
