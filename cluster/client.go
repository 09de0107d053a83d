package cluster

import "minikv/internal/resp"

// Caller is the dialer's end of a Client connection. It sends commands to another process
// and hands each reply to whoever asked.
type Caller struct {
	post    *Post
	to      ID
	conn    Conn
	open    bool
	waiting []func(v resp.Value, ok bool) // of the commands without a reply, in their order
	unasked func(v resp.Value)            // takes what comes while nothing is waited for; may be nil
}

// NewCaller dials a process. unasked is called with what is not a reply, such as
// published messages; it may be nil.
func NewCaller(post *Post, to ID, unasked func(v resp.Value)) *Caller {
	return &Caller{post: post, to: to, conn: post.Dial(to, Client), open: true, unasked: unasked}
}

// Open reports whether the connection is still open.
func (c *Caller) Open() bool { return c.open }

// Conn returns the connection's name.
func (c *Caller) Conn() Conn { return c.conn }

// Do sends a command. then is called with its reply, or with ok false if the connection
// ends before that; it may be nil.
func (c *Caller) Do(then func(v resp.Value, ok bool), args ...string) {
	if !c.open {
		if then != nil {
			then(resp.Value{}, false)
		}
		return
	}
	c.waiting = append(c.waiting, then)
	c.post.Send(c.to, c.conn, Request{Args: args})
}

// Receive takes a message of the connection. It returns false for a message of another
// connection.
func (c *Caller) Receive(m Message) bool {
	if m.Body == (any)(Closed{}) && m.From == c.to && m.Conn == (Conn{}) {
		c.end()
		return false // it concerns others as well
	}
	if m.Conn != c.conn {
		return false
	}
	switch body := m.Body.(type) {
	case Closed:
		c.end()
	case Reply:
		c.reply(body.Value)
	}
	return true
}

func (c *Caller) reply(v resp.Value) {
	if !c.open {
		return
	}
	if len(c.waiting) == 0 {
		if c.unasked != nil {
			c.unasked(v)
		}
		return
	}
	then := c.waiting[0]
	c.waiting = c.waiting[1:]
	if then != nil {
		then(v, true)
	}
}

// Close ends the connection. Commands that have no reply yet fail.
func (c *Caller) Close() {
	if c.open {
		c.post.Close(c.to, c.conn)
		c.end()
	}
}

// Abort is Close. Commands that are still in the process's Outbox are not sent.
func (c *Caller) Abort() {
	if c.open {
		c.post.recall(c.conn)
		c.Close()
	}
}

func (c *Caller) end() {
	c.open = false
	waiting := c.waiting
	c.waiting = nil
	for _, then := range waiting {
		if then != nil {
			then(resp.Value{}, false)
		}
	}
}
