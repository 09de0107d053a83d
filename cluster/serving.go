package cluster

import (
	"fmt"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// Host serves the clients among the other processes: it is a node, or what a Sentinel
// answers with.
type Host interface {
	Full() string // the error for a client that is one too many, or ""
	NewSession(addr string) *engine.Session
	Do(s *engine.Session, cmd [][]byte)
	Close(s *engine.Session)
}

// Serving is a process's end of the Client connections that other processes have dialed.
// Each connection has a session of the host's.
type Serving struct {
	host Host
	post *Post
	dir  Directory
	list []*served // in the order of their dialing
	by   map[*engine.Session]*served
}

// served is one such client.
type served struct {
	conn    Conn
	from    ID
	session *engine.Session
	queue   [][][]byte // what it has sent while it was blocked
}

// NewServing makes a Serving that has no clients yet.
func NewServing(host Host, post *Post, dir Directory) *Serving {
	return &Serving{host: host, post: post, dir: dir, by: map[*engine.Session]*served{}}
}

// Receive takes a message that comes over a Client connection of another process.
func (v *Serving) Receive(m Message) {
	if m.Conn == (Conn{}) {
		v.gone(m.From)
		return
	}
	c := v.find(m.Conn)
	switch body := m.Body.(type) {
	case Dial:
		if full := v.host.Full(); full != "" {
			v.post.Send(m.From, m.Conn, Reply{resp.Err(full)})
			v.post.Close(m.From, m.Conn)
			return
		}
		session := v.host.NewSession(v.dir.Address(m.From))
		c = &served{conn: m.Conn, from: m.From, session: session}
		v.list = append(v.list, c)
		v.by[session] = c
	case Request:
		if c == nil {
			v.post.Close(m.From, m.Conn)
			return
		}
		cmd := make([][]byte, len(body.Args))
		for i, arg := range body.Args {
			cmd[i] = []byte(arg)
		}
		c.queue = append(c.queue, cmd)
		v.run(c)
	case Closed:
		if c != nil {
			v.drop(c)
		}
	}
}

// run executes what a client has sent, as far as it is not blocked.
func (v *Serving) run(c *served) {
	for len(c.queue) > 0 && !c.session.Blocked() && !c.session.Closing() {
		cmd := c.queue[0]
		c.queue = c.queue[1:]
		v.host.Do(c.session, cmd)
	}
}

// firstOther has the clients go on that are unblocked, up to the first one that is
// not among them: it is the shell's. Without one it returns nil.
func (v *Serving) firstOther(unblocked func() *engine.Session) *engine.Session {
	for s := unblocked(); s != nil; s = unblocked() {
		c := v.by[s]
		if c == nil {
			return s
		}
		v.run(c)
	}
	return nil
}

// Settle sends what the host has left for those sessions among dirty that belong to it,
// and returns the others, which are the shell's. It reuses dirty's memory.
func (v *Serving) Settle(dirty []*engine.Session) (rest []*engine.Session) {
	rest = dirty[:0]
	for _, s := range dirty {
		c := v.by[s]
		if c == nil {
			rest = append(rest, s)
			continue
		}
		v.send(c)
		if s.Closing() {
			v.post.Close(c.from, c.conn)
			v.drop(c)
		}
	}
	return rest
}

// send turns a session's output into replies.
func (v *Serving) send(c *served) {
	out := c.session.Out
	for len(out) > 0 {
		value, size, err := resp.Parse(out)
		if err != nil || size == 0 {
			panic(fmt.Sprintf("cluster: a bad reply: %q: %v", out, err))
		}
		out = out[size:]
		v.post.Send(c.from, c.conn, Reply{value})
	}
	c.session.Out = c.session.Out[:0]
}

// Forget drops all clients without telling them, as a crash does.
func (v *Serving) Forget() {
	v.list = nil
	clear(v.by)
}

// gone drops the clients from a process that has died.
func (v *Serving) gone(from ID) {
	for i := len(v.list) - 1; i >= 0; i-- {
		if v.list[i].from == from {
			v.drop(v.list[i])
		}
	}
}

func (v *Serving) drop(c *served) {
	v.host.Close(c.session)
	delete(v.by, c.session)
	v.list = without(v.list, c)
}

func (v *Serving) find(name Conn) *served {
	for _, c := range v.list {
		if c.conn == name {
			return c
		}
	}
	return nil
}
