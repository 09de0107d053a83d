package stories

import (
	"slices"
	"strings"
	"sync"
	"time"

	"minikv/internal/resp"
)

// rule is about single messages of a link's direction: the next of a kind get lost, or come
// later.
type rule struct {
	direction int
	what      string // "request", "reply", "message"; "": any
	after     int    // such messages that still pass
	next      int    // then so many are struck
	late      time.Duration
	lost      bool
}

// traffic tells the messages of one connection apart.
type traffic struct {
	requests *resp.CommandReader
	replies  []byte // that are not complete
	mu       sync.Mutex
	own      []bool // of each request without a reply: it is go-redis's own, of which sim knows nothing
}

// goRedisOwn are the commands that go-redis sends for itself.
var goRedisOwn = []string{"HELLO", "CLIENT", "PING", "SELECT", "AUTH"}

// message is a whole message.
type message struct {
	bytes []byte
	what  string // "" for go-redis's own
}

func newTraffic() *traffic { return &traffic{requests: resp.NewCommandReader()} }

// read takes what has come from one direction, and returns the messages that are complete.
// What cannot be read goes on as it is.
func (t *traffic) read(direction int, bytes []byte) (list []message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if direction == there {
		return t.readRequests(bytes)
	}
	t.replies = append(t.replies, bytes...)
	for {
		v, n, err := resp.Parse(t.replies)
		if err != nil {
			list = append(list, message{bytes: t.replies})
			t.replies = nil
		}
		if n == 0 {
			return list
		}
		m := message{bytes: slices.Clone(t.replies[:n]), what: "reply"}
		t.replies = t.replies[n:]
		switch {
		case v.Kind == resp.Push && len(v.List) > 0 && strings.HasSuffix(v.List[0].Str, "message"):
			m.what = "message"
		case len(t.own) > 0:
			if t.own[0] {
				m.what = ""
			}
			t.own = t.own[1:]
		}
		list = append(list, m)
	}
}

func (t *traffic) readRequests(bytes []byte) (list []message) {
	if err := t.requests.Feed(bytes); err != nil {
		return []message{{bytes: bytes}}
	}
	for {
		command, err := t.requests.Next()
		if err != nil || command == nil {
			return list
		}
		own := slices.Contains(goRedisOwn, strings.ToUpper(string(command[0])))
		t.own = append(t.own, own)
		m := message{what: "request"}
		if own {
			m.what = ""
		}
		m.bytes = resp.AppendCommand(nil, command...)
		list = append(list, m)
	}
}

// strike has the link's rules decide on a message.
func (l *link) strike(direction int, m message) (late time.Duration, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rules {
		if m.what == "" || r.next == 0 || r.direction != direction || r.what != "" && r.what != m.what {
			continue
		}
		if r.after > 0 {
			r.after--
			continue
		}
		r.next--
		return r.late, r.lost
	}
	return 0, false
}
