package server

// Treatment says what a test does to one command of a client. The zero Treatment lets it
// run as usual.
type Treatment struct {
	// Wait is called first, in a goroutine of its own, while others use the machine; it
	// returns early when closed is closed. The function that it returns is called once the
	// command has been dealt with. It may be nil.
	Wait func(closed <-chan struct{}) (done func())
	// Answer, unless nil, takes the machine's place: it returns the reply, encoded. Nobody
	// else waits while it is called, and it may even close the server.
	Answer func() []byte
	// Lose is what gets lost. From then on nothing passes between the client and the machine
	// in either direction, as if the network between them had died; what was sent before
	// still arrives.
	Lose Loss
	// Twice has the machine run the command a second time, unless the first run blocks. The
	// client does not get the second reply.
	Twice bool
	// Close ends the connection afterwards. With LoseRequest and without an
	// Answer the command does not run.
	Close bool
}

// Loss says what gets lost of a command.
type Loss uint8

// The losses.
const (
	LoseNothing Loss = iota // all goes through
	LoseRequest             // the command does not run
	LoseReply               // the command runs; its reply is not sent
)

// treated is a command that waits for its treatment, or has had the part of it
// that happens outside of the gate.
type treated struct {
	Treatment
	cmd   [][]byte // valid until the connection reads on
	reply []byte   // what Answer returned
	done  func()   // may be nil
}

// outside is the part of a treatment that happens while others use the machine.
// It returns false when the server has been closed: the machine is not this
// connection's any more.
func (c *conn) outside(t *treated) bool {
	if t.Wait != nil {
		t.done = t.Wait(c.server.life.Done())
	}
	if t.Answer == nil {
		return true
	}
	c.server.running.Done() // the answer may be to close the server, which waits for its connections
	t.reply = t.Answer()
	if c.server.rejoin() {
		return true
	}
	c.abandoned = true
	if t.done != nil {
		t.done()
	}
	return false
}

// treat gives a command the rest of its treatment, under the gate.
func (c *conn) treat(turn *turn) {
	t := c.treated
	c.treated = nil
	if t.done != nil {
		turn.done = append(turn.done, t.done)
	}
	if c.session.Closing() || c.server.closing.Load() {
		return
	}
	c.leaving = t.Close
	switch {
	case t.Lose == LoseRequest:
		c.dead = true
	case t.Answer != nil:
		c.answer(turn, t.reply)
	case t.Lose == LoseReply:
		c.take()
		c.dead = true
		c.run1(t.cmd, turn.visiting)
	default:
		c.run1(t.cmd, turn.visiting)
	}
	if t.Twice && !c.session.Blocked() && !c.session.Closing() {
		c.take() // the reply
		c.run1(t.cmd, turn.visiting)
		c.session.Out = c.session.Out[:0]
	}
}
