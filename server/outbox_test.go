package server

import (
	"bytes"
	"math/rand"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutboxKeepsOrder has random replies wait for a peer that takes some at times: it
// gets all bytes in order, and how many wait is known at any time.
func TestOutboxKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 200 {
		var sent, got []byte
		room, later := 0, 0
		o := &outbox{later: func() { later++ }}
		o.write = func(b []byte) int {
			n := min(room, len(b))
			room -= n
			got = append(got, b[:n]...)
			return n
		}
		var out []byte
		for range 100 {
			room = random.Intn(3) * random.Intn(200_000)
			switch random.Intn(4) {
			case 0, 1:
				size := 1 + random.Intn(1<<(1+random.Intn(18)))
				part := make([]byte, size)
				random.Read(part)
				sent = append(sent, part...)
				out = append(out, part...)
				require.Equal(t, len(sent)-len(got), o.add(&out))
				require.Empty(t, out)
			case 2:
				o.flush()
			case 3:
				if chunk := o.take(make([]byte, 1+random.Intn(100_000))); len(chunk) > 0 {
					got = append(got, chunk...)
				}
				o.mu.Lock()
				o.taken = 0
				o.mu.Unlock()
				o.resume()
			}
			require.True(t, bytes.HasPrefix(sent, got))
			require.Equal(t, len(sent)-len(got), o.waiting())
		}
		room = len(sent)
		o.resume()
		require.Equal(t, sent, got)
		require.Zero(t, o.waiting())
	}
}

// TestOutboxTakesWhatWaits has a peer that reads nothing: its replies are not moved
// again and again, nor kept in much more memory than they have.
func TestOutboxTakesWhatWaits(t *testing.T) {
	for _, size := range []int{10, 1000, 100_000} {
		const total = 20 << 20
		o := &outbox{later: func() {}, write: func([]byte) int { return 0 }}
		reply, out := make([]byte, size), []byte(nil)
		before, after := runtime.MemStats{}, runtime.MemStats{}
		runtime.ReadMemStats(&before)
		for range total / size {
			out = append(out, reply...)
			o.add(&out)
			o.flush()
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2.5*total), size)
		runtime.GC()
		runtime.ReadMemStats(&after)
		// What was there before may have been collected meanwhile.
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1.2*total), size)
		require.GreaterOrEqual(t, o.waiting(), total-size)
	}
}

// A reply that the peer takes at once costs no memory.
func TestOutboxKeepsItsMemory(t *testing.T) {
	o := outbox{write: func(p []byte) int { return len(p) }}
	out := make([]byte, 0, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		out = append(out, "+OK\r\n"...)
		o.add(&out)
		o.flush()
	}))
}
