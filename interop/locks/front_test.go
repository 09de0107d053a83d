package locks

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// front passes on what a client and a server send each other.
type front struct {
	address string // where the client finds it
	watch   func(fromServer bool, bytes []byte)

	mu       sync.Mutex
	changed  *sync.Cond
	server   string // which new connections lead to
	isCut    bool
	lose     []byte // the reply to the first command with these bytes, other than GET, is lost; nil: none
	lost     bool   // that has happened
	links    []*link
	lastByte time.Time
}

// link is one connection through a front.
type link struct {
	client, server net.Conn
	loses          bool // its next reply
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// startFront leads to a server, until the test ends. watch, which may be nil, sees everything.
func startFront(t *testing.T, server string, watch func(fromServer bool, bytes []byte)) *front {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &front{address: listener.Addr().String(), server: server, watch: watch}
	f.changed = sync.NewCond(&f.mu)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			f.connect(client)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		f.lead("")
		f.thaw()
	})
	return f
}

func (f *front) connect(client net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	server, err := net.Dial(network(f.server), f.server)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server}
	f.links = append(f.links, l)
	go f.pass(l, client, server, false)
	go f.pass(l, server, client, true)
}

// pass passes on what arrives in one direction.
func (f *front) pass(l *link, from, to net.Conn, fromServer bool) {
	defer func() {
		l.close()
		f.mu.Lock()
		f.links = slices.DeleteFunc(f.links, func(other *link) bool { return other == l })
		f.mu.Unlock()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !f.may(l, buffer[:n], fromServer) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// may waits while the front is cut. It returns false for a reply that is lost,
// and its connection with it.
func (f *front) may(l *link, chunk []byte, fromServer bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastByte = time.Now()
	for f.isCut {
		f.changed.Wait()
	}
	if f.watch != nil {
		f.watch(fromServer, chunk)
	}
	if fromServer && l.loses {
		f.lost = true
		return false
	}
	if !fromServer && f.lose != nil && bytes.Contains(chunk, f.lose) && !bytes.Contains(chunk, getCommand) {
		f.lose, l.loses = nil, true
	}
	return true
}

// cut keeps everything back, in both directions, until thaw.
func (f *front) cut() { f.setCut(true) }

func (f *front) thaw() { f.setCut(false) }

func (f *front) setCut(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isCut = cut
	f.changed.Broadcast()
}

// lead ends all connections and leads the next ones to another server.
func (f *front) lead(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server = server
	for _, l := range f.links {
		l.close()
	}
}

// getCommand begins a request that only looks.
var getCommand = []byte("\r\n$3\r\nGET\r\n")

// loseReply lets the next command that mentions text, but for those that only
// look, be executed, and its reply be lost when the connection breaks.
func (f *front) loseReply(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose, f.lost = []byte(text), false
}

func (f *front) hasLost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// settle waits until the client has been quiet for a while, or limit is over.
func (f *front) settle(while, limit time.Duration) {
	for begun := time.Now(); time.Since(begun) < limit; time.Sleep(while / 10) {
		f.mu.Lock()
		quiet := time.Since(f.lastByte)
		f.mu.Unlock()
		if quiet > while {
			return
		}
	}
}
