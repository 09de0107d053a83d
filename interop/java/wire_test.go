package java

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// wire stands between Redisson and a server. It notes which of a lock's requests the
// server has answered, and can do something to the reply to one.
type wire struct {
	t        *testing.T
	node     string // its name
	upstream string
	address  string
	slow     time.Duration // how late each reply is; constant once anybody connects

	mu       sync.Mutex
	listener net.Listener // nil: nobody can connect
	seen     []sight
	scanned  time.Time         // when it was asked last for a cluster's slots
	texts    map[string]string // of scripts, by SHA1
	calls    [][]string        // of scripts, with their arguments
	faults   []wireFault
	conns    []net.Conn
}

// sight is something that happened, by its name.
type sight struct {
	name string
	at   time.Time
}

// wireFault strikes the first reply to a lock's request from an instant on, or with
// message the first message.
type wireFault struct {
	from    time.Time
	after   int           // so many are left alone first
	by      time.Duration // so much later than it would come, and what follows it; 0: not at all
	cut     bool          // its connection ends instead
	message bool
}

// newWire makes a wire that listens at an address.
func newWire(t *testing.T, node, upstream, address string) *wire {
	w := &wire{t: t, node: node, upstream: upstream, address: address, texts: map[string]string{}}
	w.up()
	t.Cleanup(w.down)
	return w
}

// up listens. On a busy machine its timer may come before that of down, for which it waits.
func (w *wire) up() {
	listener, err := net.Listen("tcp", w.address)
	for begun := time.Now(); errors.Is(err, syscall.EADDRINUSE) && time.Since(begun) < callLimit; {
		time.Sleep(time.Millisecond)
		listener, err = net.Listen("tcp", w.address)
	}
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener, w.address = listener, listener.Addr().String()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.join(client)
		}
	}()
}

// down ends all connections, and refuses others.
func (w *wire) down() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener.Close()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *wire) join(client net.Conn) {
	server, err := net.Dial("tcp", w.upstream)
	if err != nil {
		client.Close()
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, client, server)
	w.mu.Unlock()
	asked := make(chan sight, 1000) // requests that wait for their replies
	go w.requests(client, server, asked)
	w.replies(server, client, asked)
}

func (w *wire) requests(client, server net.Conn, asked chan<- sight) {
	defer server.Close()
	buf, commands := make([]byte, 1<<16), resp.NewCommandReader()
	for {
		n, err := client.Read(buf)
		if err != nil || commands.Feed(buf[:n]) != nil {
			return
		}
		for {
			args, err := commands.Next()
			if err != nil {
				return
			}
			if args == nil {
				break
			}
			asked <- sight{w.nameOf(args), time.Now()}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (w *wire) replies(server, client net.Conn, asked <-chan sight) {
	defer client.Close()
	buf, held := make([]byte, 1<<16), []byte(nil)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		held = append(held, buf[:n]...)
		done := 0 // what came together goes on together: Redisson can tell
		for {
			v, size, err := resp.Parse(held[done:])
			if err != nil {
				return
			}
			if size == 0 {
				break
			}
			time.Sleep(w.slow)
			struck, ok := w.replied(v, asked)
			if !ok {
				done += size
				continue
			}
			if _, err := client.Write(held[:done]); err != nil || struck.cut {
				return
			}
			held, done = held[done:], 0
			if struck.by > 0 {
				time.Sleep(struck.by)
				done = size
				continue
			}
			held = held[size:]
		}
		if _, err := client.Write(held[:done]); err != nil {
			return
		}
		held = held[done:]
	}
}

// replied notes a reply, and returns what strikes it.
func (w *wire) replied(v resp.Value, asked <-chan sight) (struck wireFault, ok bool) {
	message := isPush(v, "message") || isPush(v, "smessage")
	if isPush(v, "sunsubscribe") && len(asked) == 0 {
		return struck, false // the slot has gone: nobody has asked
	}
	var request sight
	if !message {
		request = <-asked
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !message && (request.name == "" || strings.HasPrefix(v.Str, "NOSCRIPT")) {
		return struck, false
	}
	if !message {
		w.seen = append(w.seen, request)
	}
	for i, f := range w.faults {
		switch {
		case f.message != message || time.Now().Before(f.from):
		case f.after > 0:
			w.faults[i].after--
		default:
			w.faults = append(w.faults[:i], w.faults[i+1:]...)
			return f, true
		}
	}
	return struck, false
}

func isPush(v resp.Value, kind string) bool {
	return v.Kind == resp.Array && len(v.List) > 0 && v.List[0].Str == kind
}

// forget forgets what it has seen.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}

func (w *wire) strike(f wireFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, f)
}

// nameOf is what the simulator calls a request of a lock, "" for others: what keeps a
// connection alive, and loads scripts.
func (w *wire) nameOf(args [][]byte) string {
	name := strings.ToUpper(string(args[0]))
	switch name {
	case "SUBSCRIBE", "UNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE", "DEL", "PEXPIRE", "WAIT":
		return name
	case "CLUSTER":
		w.mu.Lock()
		w.scanned = time.Now()
		w.mu.Unlock()
	case "SCRIPT":
		text := string(args[2])
		w.mu.Lock()
		w.texts[shaOf(text)] = text
		w.mu.Unlock()
	case "EVALSHA":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(w.calls, plainWords(args))
		return scriptName(w.texts[string(args[1])])
	}
	return ""
}

func plainWords(args [][]byte) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg)
	}
	return words
}

func shaOf(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// scriptName is what the simulator calls the script of that text.
func scriptName(text string) string {
	for _, known := range []struct {
		name string
		has  []string
	}{
		{"PEXPIRE", []string{"expireSet"}},
		{"fair-acquire", []string{"'rpush'"}},
		{"fair-withdraw", []string{"'lrem'"}},
		{"fair-release", []string{"'lindex'", "'get', KEYS[5]"}},
		{"fair-try", []string{"'lindex'", "'hset'"}},
		{"read-renew", []string{"table.insert(", "'hget'"}},
		{"mutex-renew", []string{"table.insert("}},
		{"read-release", []string{"'mode'", "'get', KEYS[5]"}},
		{"write-release", []string{"'mode'", "'get', KEYS[3]"}},
		{"read-acquire", []string{"'mode', 'read'"}},
		{"write-acquire", []string{"'mode', 'write'"}},
		{"mutex-release", []string{"'get', KEYS[3]"}},
		{"fenced-acquire", []string{"'incr'"}},
		{"mutex-acquire", []string{"'hincrby'", "'pttl'"}},
	} {
		missing := func(part string) bool { return !strings.Contains(text, part) }
		if !slices.ContainsFunc(known.has, missing) {
			return known.name
		}
	}
	return "a script: " + text
}
