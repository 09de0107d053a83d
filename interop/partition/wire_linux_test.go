package partition

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wire is a connection that has been used.
type wire struct {
	t *testing.T
	*net.TCPConn
	replies *bufio.Reader
}

func connect(t *testing.T, p place, b backend) wire {
	conn, err := p.dial(t.Context(), "tcp", b.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	w := wire{t, conn.(*net.TCPConn), bufio.NewReader(conn)}
	w.send("PING")
	require.Equal(t, "+PONG", w.reply(time.Now()))
	return w
}

// send sends a command, and returns when that was.
func (w wire) send(command string) time.Time {
	begun := time.Now()
	_, err := io.WriteString(w, command+"\r\n")
	require.NoError(w.t, err)
	return begun
}

// reply returns the next reply, which must come soon after a date.
func (w wire) reply(after time.Time) string {
	w.t.Helper()
	require.NoError(w.t, w.SetReadDeadline(after.Add(slack)))
	line, err := w.replies.ReadString('\n')
	require.NoError(w.t, err)
	return line[:len(line)-2]
}

// What is sent into a partition waits there, and is executed after the heal, once. The reply
// comes to who is still there.
func TestWhatIsCutOffArrives(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		for name, w := range map[string]way{"both ways": both, "requests": requests} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				seen, p := watch(t, b), newPlace()
				c := connect(t, p, b)
				heal := p.cut(w)
				sent := c.send("INCR n:" + p.address)
				seen.still(sent.Add(2*time.Second), "n:"+p.address)
				healed := heal()
				seen.arrives(sent, healed, "n:"+p.address)
				assert.Equal(t, ":1", c.reply(latest(sent, healed)))
			})
		}
	})
}

// Where only replies are dropped the request is executed at once, and its reply waits.
func TestReplyThatIsCutOffArrives(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		seen, p := watch(t, b), newPlace()
		c := connect(t, p, b)
		heal := p.cut(replies)
		sent := c.send("INCR n")
		seen.await(sent.Add(atOnce), "n")
		time.Sleep(time.Until(sent.Add(2 * time.Second)))
		require.NoError(t, c.SetReadDeadline(time.Now()))
		_, err := c.replies.Peek(1)
		require.Error(t, err, "nothing has come")
		assert.Equal(t, ":1", c.reply(latest(sent, heal())))
	})
}

// Who closes its connection, or is killed, takes nothing back, unless its connections forget.
func TestWhatWasSentByWhoHasGoneArrives(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		t.Run("closed", func(t *testing.T) {
			t.Parallel()
			seen, p := watch(t, b), newPlace()
			c := connect(t, p, b)
			heal := p.cut(both)
			sent := c.send("INCR closed")
			require.NoError(t, c.Close())
			seen.still(sent.Add(2*time.Second), "closed")
			seen.arrives(sent, heal(), "closed")
		})
		for lib := range libraries {
			t.Run("killed, "+lib, func(t *testing.T) {
				t.Parallel()
				seen, p, key := watch(t, b), newPlace(), "killed:"+lib
				child, wants := startChild(t, lib, p, b, key)
				heal := p.cut(both)
				sent := time.Now()
				wants()
				seen.still(sent.Add(time.Second), key)
				require.NoError(t, child.Kill())
				seen.still(sent.Add(2*time.Second), key)
				healed := heal()
				if forgets(lib) {
					seen.still(latest(sent, healed).Add(atOnce), key)
				} else {
					seen.arrives(sent, healed, key)
				}
			})
		}
	})
}

// A connection closed with SetLinger(0) has the kernel forget what has not arrived.
func TestLingerTakesBack(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		seen, p := watch(t, b), newPlace()
		p.forgets = true
		c := connect(t, p, b)
		heal := p.cut(both)
		sent := c.send("INCR n")
		require.NoError(t, c.Close())
		time.Sleep(time.Until(sent.Add(2 * time.Second)))
		seen.still(latest(sent, heal()).Add(slack), "n")
	})
}

// Each connection keeps its order, and has pauses of its own: what was sent later over
// another one can come first.
func TestOrderAfterAHeal(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		for tries := 1; ; tries++ {
			p, seen := newPlace(), watch(t, b)
			early, late := connect(t, p, b), connect(t, p, b)
			heal := p.cut(both)
			sent := early.send("INCR first:" + p.address)
			time.Sleep(time.Until(sent.Add(2 * time.Second)))
			afterwards := late.send("INCR other:" + p.address)
			early.send("INCR second:" + p.address)
			// The attempts of the first are after 3.3 s and 6.7 s, those of the other after 3.7 s and 5.3 s.
			time.Sleep(time.Until(sent.Add(4400 * time.Millisecond)))
			healed := heal()
			first := seen.arrives(sent, healed, "first:"+p.address)
			second := seen.arrives(sent, healed, "second:"+p.address)
			other := seen.arrives(afterwards, healed, "other:"+p.address)
			assert.False(t, second.at.Before(first.at), "of one connection")
			if other.at.Before(first.at) {
				return
			}
			require.Less(t, tries, 3, "the first connection is the first, %v after it has sent", healed.Sub(sent))
		}
	})
}

// A connection that is being made in the cut is made after the heal.
func TestDialGoesOn(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		p := newPlace()
		heal := p.cut(both)
		begun := time.Now()
		healed := make(chan time.Time, 1)
		time.AfterFunc(2*time.Second, func() { healed <- heal() })
		conn, err := p.dial(t.Context(), "tcp", b.address)
		made := time.Now()
		require.NoError(t, err)
		conn.Close()
		at := <-healed
		assert.False(t, made.Before(at))
		assert.Less(t, made, latest(begun, at).Add(slack))
	})
}

// What was sent to a process that is killed, and started again, is executed by nobody, and
// its connection breaks once that can be told.
func TestRestartedServerKnowsNothing(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		p := newPlace()
		c := connect(t, p, b)
		heal := p.cut(both)
		sent := c.send("INCR n")
		b.restart()
		seen := watch(t, b)
		time.Sleep(time.Until(sent.Add(2 * time.Second)))
		healed := heal()
		require.NoError(t, c.SetReadDeadline(latest(sent, healed).Add(slack)))
		_, err := c.replies.ReadByte()
		var limit net.Error
		require.Error(t, err)
		if e, ok := err.(net.Error); ok {
			limit = e
		}
		assert.False(t, limit != nil && limit.Timeout(), "%v", err)
		seen.still(latest(sent, healed).Add(atOnce), "n")
	})
}
