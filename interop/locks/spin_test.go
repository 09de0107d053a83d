package locks

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

const (
	spinFloor = 1000 // a holder that spins for two seconds sends at least so many EVALSHA
	calmCeil  = 20   // and one that does not spin, at most so many
)

// spins are ways to use rueidislock. It first renews after half a lease.
var spins = []struct {
	library     string
	leaseMillis string // of the library's own settings: 5000
	held        time.Duration
	spins       bool
}{
	{"rueidislock-defaults", "5000", 4500 * time.Millisecond, true},
	{"rueidislock-tracking", "1000", 2 * time.Second, true},
	{"rueidislock-noloop", "1000", 2 * time.Second, false},
}

// A holder of rueidislock with its default settings tracks the key that it
// renews, and so is told of its own renewal, upon which it renews again, and so
// on. NoLoopTracking ends this. All of it is so on both servers.
func TestRueidislockSpins(t *testing.T) {
	skipUnbuilt(t)
	w := startWorkers(t, "go")["go"]
	if w == nil {
		t.Skip("the worker of Go was not built")
	}
	t.Run("server", func(t *testing.T) {
		for _, s := range servers(t) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				spinOn(t, w, s)
			})
		}
	})
}

func spinOn(t *testing.T, w *worker, s server) {
	world := s.start(t, true)
	for _, of := range spins {
		p := &party{worker: w, id: of.library + "-on-" + s.name}
		wire := &tap{commands: resp.NewCommandReader()}
		p.front = startFront(t, world.master(), wire.watch)
		require.Contains(t, p.call(t, "open", of.library, p.front.address), "ok")
		admin := connect(t, world.master())
		require.NoError(t, admin.ConfigResetStat(t.Context()).Err())
		require.Equal(t, "ok", p.await(t, w.ask(t, p.id, "try", of.library, of.leaseMillis)))
		time.Sleep(of.held)
		told, asked := wire.end(t, p.front), evalshas(t, admin)
		require.Equal(t, "ok", p.release(t, of.library))
		p.call(t, "close")
		fmt.Printf("%s, %s, held for %v: %d EVALSHA, %d invalidations of its own keys\n",
			of.library, s.name, of.held, asked, told)
		if !of.spins {
			assert.Less(t, asked, calmCeil)
			assert.Zero(t, told)
			continue
		}
		assert.Greater(t, asked, spinFloor)
		// Each renewal makes one invalidation, and each invalidation one renewal.
		assert.InDelta(t, asked, told, 0.1*float64(asked))
		middle := len(wire.said) / 2
		for _, line := range wire.said[middle : middle+8] {
			t.Log(line)
		}
		if m, ok := world.(*minikvWorld); ok {
			m.traced(t, of.library)
		}
	}
}

var evalshaCalls = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// traced requires minikv's own trace to show why: whoever renews is told so with
// the reply. It goes back ten thousand events, of which a few are of the end.
func (w *minikvWorld) traced(t *testing.T, name string) {
	renewals, told := 0, 0
	for _, event := range w.tell(t, "TRACE").([]any) {
		line := event.(string)
		if strings.Contains(line, " EVALSHA ") && strings.Contains(line, name) {
			renewals++
			if strings.Contains(line, `-> (integer) 1  ["invalidate", ["rueidislock:`) {
				told++
			}
		}
	}
	assert.Greater(t, renewals, 100)
	assert.InDelta(t, renewals, told, 0.1*float64(renewals))
}

func evalshas(t *testing.T, admin *redis.Client) int {
	calls := evalshaCalls.FindStringSubmatch(admin.Info(t.Context(), "commandstats").Val())
	require.NotNil(t, calls)
	count, err := strconv.Atoi(calls[1])
	require.NoError(t, err)
	return count
}

// tap understands what passes through a front, of one connection.
type tap struct {
	commands *resp.CommandReader
	replies  []byte // that are not whole yet
	told     int
	said     []string
	err      error
}

// end ends the watch, and returns how many invalidations there were.
func (w *tap) end(t *testing.T, f *front) (told int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch = nil
	require.NoError(t, w.err)
	return w.told
}

func (w *tap) watch(fromServer bool, chunk []byte) {
	if fromServer {
		w.replies = append(w.replies, chunk...)
		for w.err == nil && len(w.replies) > 0 {
			value, size, err := resp.Parse(w.replies)
			if size == 0 {
				w.err = err
				return
			}
			w.replies = w.replies[size:]
			if value.Kind == resp.Push && value.List[0].Str == "invalidate" {
				w.told++
			}
			w.said = append(w.said, "  server: "+resp.Inline(value))
		}
		return
	}
	for source := bytes.NewReader(chunk); source.Len() > 0; {
		if _, err := w.commands.Fill(source); err != nil {
			w.err = err
			return
		}
		for {
			command, err := w.commands.Next()
			if w.err = err; command == nil {
				break
			}
			w.said = append(w.said, fmt.Sprintf("  holder: %.40s", bytes.Join(command, []byte(" "))))
		}
	}
}
