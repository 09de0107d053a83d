package cluster

import "slices"

// Post is a process's side of the network: it names connections and collects what is to
// be sent. All parts of a process send through the same Post.
type Post struct {
	self   ID
	dialed uint64
	out    []Message
	taken  []Message // what take returned last, used again
}

// NewPost makes the post of a process.
func NewPost(self ID) *Post { return &Post{self: self} }

// Self returns the process that sends.
func (p *Post) Self() ID { return p.self }

// Dial opens a connection to a process. If nobody is there, or to is 0, Closed comes
// back.
func (p *Post) Dial(to ID, lane Lane) Conn {
	p.dialed++
	c := Conn{Dialer: p.self, Lane: lane, Number: p.dialed}
	p.Send(to, c, Dial{})
	return c
}

// Send sends a message; body must not be changed afterwards.
func (p *Post) Send(to ID, c Conn, body any) {
	p.out = append(p.out, Message{From: p.self, To: to, Conn: c, Body: body})
}

// Close ends a connection. What arrives over it later must be ignored.
func (p *Post) Close(to ID, c Conn) { p.Send(to, c, Closed{}) }

// recall takes back the requests of a connection that were not taken yet.
func (p *Post) recall(c Conn) {
	p.out = slices.DeleteFunc(p.out, func(m Message) bool {
		_, isRequest := m.Body.(Request)
		return isRequest && m.Conn == c
	})
}

// Take returns what is to be sent, in order. The slice is valid until the next call.
func (p *Post) Take() []Message {
	p.out, p.taken = p.taken[:0], p.out
	return p.taken
}
