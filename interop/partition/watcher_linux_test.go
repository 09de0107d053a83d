package partition

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// slack is what a busy machine may take longer.
	slack = 4 * time.Second
	// atOnce is within what is executed that nothing holds up.
	atOnce = 1500 * time.Millisecond
)

// watcher sees what a server executes.
type watcher struct {
	t    *testing.T
	mu   sync.Mutex
	seen []execution
}

// execution is a command of a client.
type execution struct {
	at   time.Time // by the server's clock, which is ours
	from string    // its address
	text string    // each word in quotes
}

// watch begins to watch a server.
func watch(t *testing.T, b backend) *watcher {
	conn, err := net.Dial("tcp", b.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprint(conn, "MONITOR\r\n")
	require.NoError(t, err)
	lines := bufio.NewReader(conn)
	ok, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", ok)
	w := &watcher{t: t}
	go func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.note(line)
		}
	}()
	return w
}

// note reads +SECONDS.MICROS [DB ADDRESS] "WORD" ...
func (w *watcher) note(line string) {
	var seconds, micros int64
	var from string
	if n, _ := fmt.Sscanf(line, "+%d.%d [0 %s", &seconds, &micros, &from); n < 3 || from == "lua]" {
		return
	}
	_, text, _ := strings.Cut(strings.TrimSpace(line), "] ")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, execution{time.Unix(seconds, micros*1000), strings.TrimSuffix(from, "]"), text})
}

// executed returns the commands in which all words occur.
func (w *watcher) executed(words ...string) (found []execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
next:
	for _, e := range w.seen {
		for _, word := range words {
			if !strings.Contains(strings.ToLower(e.text), `"`+strings.ToLower(word)+`"`) {
				continue next
			}
		}
		found = append(found, e)
	}
	return found
}

// executedFrom returns those of a place.
func (w *watcher) executedFrom(p place, words ...string) (found []execution) {
	for _, e := range w.executed(words...) {
		if strings.HasPrefix(e.from, p.address+":") {
			found = append(found, e)
		}
	}
	return found
}

// await returns the first of such commands, which must come before a date.
func (w *watcher) await(until time.Time, words ...string) execution {
	w.t.Helper()
	for {
		if found := w.executed(words...); len(found) > 0 {
			return found[0]
		}
		require.True(w.t, time.Now().Before(until), "%q is not executed", words)
		time.Sleep(time.Millisecond)
	}
}

// arrives demands that what was sent into a cut is executed after the heal, once, and not
// later than TCP has it.
func (w *watcher) arrives(sent, healed time.Time, words ...string) execution {
	w.t.Helper()
	e := w.await(latest(sent, healed).Add(slack), words...)
	assert.False(w.t, e.at.Before(healed), "%q is executed in the cut", words)
	assert.Len(w.t, w.executed(words...), 1, "%q", words)
	return e
}

// latest is when what was sent into a cut has arrived.
func latest(sent, healed time.Time) time.Time { return healed.Add(healed.Sub(sent)) }

// still demands that a command is not executed until a date.
func (w *watcher) still(until time.Time, words ...string) {
	w.t.Helper()
	time.Sleep(time.Until(until))
	require.Empty(w.t, w.executed(words...))
}
