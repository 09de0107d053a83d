package lockclient

import (
	"context"
	"encoding/binary"
	"time"
)

// A lock that nobody announces as free is asked for again after a random delay
// in this range.
const (
	pollMin = 50 * time.Millisecond
	pollMax = 250 * time.Millisecond
)

// Constant after initialisation.
var (
	plainExtend  = embedded("plain_extend")
	plainRelease = embedded("plain_release")
)

// plainExtendCall gives the lock with a random value at key a new lease.
func plainExtendCall(key, value string, lease time.Duration) call {
	return call{plainExtend, []string{key}, []string{value, millis(lease)}}
}

// plainReleaseCall deletes the lock with a random value at key.
func plainReleaseCall(key, value string) call {
	return call{plainRelease, []string{key}, []string{value}}
}

// pollDelay draws the pause before the next attempt.
func pollDelay(rt Runtime) time.Duration {
	return pollMin + time.Duration(randomBelow(rt, uint64(pollMax-pollMin)))
}

// randomBelow draws a number below n, nearly evenly.
func randomBelow(rt Runtime, n uint64) uint64 {
	var p [8]byte
	rt.Random(p[:])
	return binary.LittleEndian.Uint64(p[:]) % n
}

// poller is the place of a waiter that nobody wakes.
type poller struct{ gate Gate }

func (p poller) attempt(f func() error) error { return f() }

func (p poller) park(ctx context.Context, d time.Duration) (woken bool, err error) {
	return p.gate.Wait(ctx, d)
}

func (p poller) leave() {}
