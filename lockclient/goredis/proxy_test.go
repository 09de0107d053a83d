package goredis_test

import (
	"bytes"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// commandHead begins every command on the wire.
var commandHead = regexp.MustCompile(`(?m)^\*\d+\r$`)

// proxy stands between a client and a server. It counts commands, and can cut
// a connection at the reply to one.
type proxy struct {
	listener net.Listener
	upstream string

	mu     sync.Mutex
	seen   bytes.Buffer // what clients have sent
	awaits string       // the next reply to a command of this name is lost, with its connection,
	before func()       // or this comes before it
	mute   bool         // new connections get no answer
	conns  []net.Conn
	made   int // connections so far
}

func newProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, upstream: upstream}
	go p.accept()
	t.Cleanup(func() {
		listener.Close()
		p.cutAll()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.ignores(client) {
			continue
		}
		server, err := net.Dial("tcp", p.upstream)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.made++
		p.mu.Unlock()
		lossy := make(chan func(), 1)
		go p.requests(client, server, lossy)
		go p.replies(server, client, lossy)
	}
}

// ignores leaves a new connection without an answer, if that was asked for.
func (p *proxy) ignores(client net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute {
		p.conns = append(p.conns, client)
	}
	return p.mute
}

// silence breaks every connection, and leaves new ones without an answer.
func (p *proxy) silence() {
	p.mu.Lock()
	p.mute = true
	p.mu.Unlock()
	p.cutAll()
}

// requests hands on what the client sends.
func (p *proxy) requests(client, server net.Conn, lossy chan<- func()) {
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.seen.Write(buf[:n])
		if p.awaits != "" && strings.Contains(strings.ToUpper(string(buf[:n])), p.awaits+"\r\n") {
			p.awaits = ""
			lossy <- p.before
		}
		p.mu.Unlock()
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// replies hands on what the server sends, until a reply is to be lost.
func (p *proxy) replies(server, client net.Conn, lossy <-chan func()) {
	defer client.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case before := <-lossy:
			if before == nil {
				return
			}
			before()
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// lose loses the reply to the next command of a name, in upper case.
func (p *proxy) lose(name string) { p.meanwhile(name, nil) }

// meanwhile has something happen when the next command of a name has been executed,
// before its reply arrives.
func (p *proxy) meanwhile(name string, happens func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaits, p.before = name, happens
}

// count returns how many commands of a name, in upper case, clients have sent.
func (p *proxy) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(strings.ToUpper(p.seen.String()), "\r\n"+name+"\r\n")
}

// all returns how many commands clients have sent.
func (p *proxy) all() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(commandHead.FindAll(p.seen.Bytes(), -1))
}

// connections returns how many connections clients have made.
func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// forget starts counting anew.
func (p *proxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.Reset()
}

// cutAll breaks every connection.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
