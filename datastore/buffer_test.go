package datastore

import (
	"math/rand"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLongStrings changes strings around the length from which they have a buffer, and
// compares them with plain ones. What was read before a change stays as it was.
func TestLongStrings(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	db := New(Options{}).DB(0)
	keys := []string{"a", "b"}
	want := map[string]string{}
	var read, copied []string
	for range 20_000 {
		name := keys[random.Intn(len(keys))]
		key, offset := []byte(name), random.Intn(2*bufferFrom)
		text := make([]byte, 1+random.Intn(bufferFrom/2))
		random.Read(text)
		switch random.Intn(10) {
		case 0, 1:
			n, err := db.Append(key, text)
			require.NoError(t, err)
			want[name] += string(text)
			require.Len(t, want[name], n)
		case 2, 3, 4:
			n, err := db.SetRange(key, offset, text)
			require.NoError(t, err)
			plain := make([]byte, max(len(want[name]), offset+len(text)))
			copy(plain, want[name])
			copy(plain[offset:], text)
			want[name] = string(plain)
			require.Len(t, want[name], n)
		case 5:
			got, _, err := db.String(key)
			require.NoError(t, err)
			read, copied = append(read, got), append(copied, want[name])
		case 6:
			from, to := min(offset, len(want[name])), min(offset+len(text), len(want[name]))
			require.Equal(t, want[name][from:to], db.Part(key, offset, offset+len(text)))
		case 7:
			n, _, err := db.Length(key)
			require.NoError(t, err)
			require.Len(t, want[name], n)
		case 8:
			if other := keys[random.Intn(len(keys))]; want[name] != "" && other != name {
				require.True(t, db.Copy(key, db, []byte(other)))
				want[other] = want[name]
			}
		case 9:
			if random.Intn(10) == 0 {
				db.SetString(key, text, NoDeadline)
				want[name] = string(text)
			}
		}
		if n, exists, _ := db.Length(key); exists && n >= bufferFrom {
			require.Equal(t, "raw", db.Encoding(key))
		}
	}
	require.Equal(t, copied, read)
	for _, name := range keys {
		got, _, err := db.String([]byte(name))
		require.NoError(t, err)
		require.Equal(t, want[name], got)
	}
}

// TestChangesInPlace changes a long string often, which must not copy it each time.
func TestChangesInPlace(t *testing.T) {
	const size, changes = 1 << 20, 2_000
	db := New(Options{}).DB(0)
	key := []byte("bitmap")
	_, err := db.SetRange(key, size-1, []byte{1})
	require.NoError(t, err)
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.ReadMemStats(&before)
	for i := range changes {
		_, err := db.SetRange(key, i*1000%size, []byte{byte(i)})
		require.NoError(t, err)
		_, err = db.Append(key, []byte("more"))
		require.NoError(t, err)
		require.Len(t, db.Part(key, size, size+2), 2)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*size))
}
