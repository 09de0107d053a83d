package engine

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"minikv/internal/resp"
)

// Dial connects to a server that is not part of this process's own topology.
type Dial func(host string, port int, timeout time.Duration) (Peer, error)

// Peer is a connection to a server that Dial has reached. While it waits, up to the
// timeout each time, nothing else happens on the node.
type Peer interface {
	Write(text []byte) error
	// Line returns the next line that comes, without its end. If a line is very long, its
	// rest is returned as the next line.
	Line() (string, error)
	Close()
}

// Errors of Dial and Peer. There may be others.
var (
	ErrTimeout = errors.New("engine: timeout")
	ErrRefused = errors.New("engine: connection refused")
)

// errMigrateConnect is MIGRATE's reply when there is no way to the address.
const errMigrateConnect = "IOERR error or timeout connecting to the client"

// transfer is a MIGRATE to a server outside.
// Source: migrateCommand of Redis 7.0.
type transfer struct {
	dial     Dial
	m        *Migration
	restores []Restore
	preamble int    // how many commands come before those
	request  []byte // all commands

	replies []string // lines
	failed  string   // why there are no more, or ""
}

// MigrateOutside moves keys to a server outside of this process's topology. What that
// server has taken is deleted here, as by DEL.
func MigrateOutside(c *Call, m Migration) resp.Value {
	n := c.Node
	if n.cfg.Dial == nil {
		return resp.Err(ErrMigrateWrite)
	}
	t := transfer{dial: n.cfg.Dial, m: &m, restores: m.Restores(n, c.DB.Index())}
	t.compose()
	if t.attempt() {
		t.attempt()
	}
	moved, refused := t.result()
	if !m.Copy {
		c.removeMigrated(moved)
	}
	switch {
	case refused != "":
		return resp.Err("ERR Target instance replied with error: " + refused)
	case t.failed != "":
		return resp.Err(t.failed)
	}
	return resp.OK
}

// compose writes the commands.
func (t *transfer) compose() {
	if t.m.Auth != nil {
		t.request = resp.AppendCommand(t.request, append([]string{"AUTH"}, t.m.Auth...)...)
		t.preamble++
	}
	if t.m.DB != -1 { // Redis has that for the database of a new connection
		t.request = resp.AppendCommand(t.request, "SELECT", strconv.FormatInt(t.m.DB, 10))
		t.preamble++
	}
	for _, one := range t.restores {
		t.request = resp.AppendCommand(t.request, one.Args...)
	}
}

// attempt sends the commands and takes the replies. It reports whether to try once
// more: the connection has broken before a key has arrived for certain.
func (t *transfer) attempt() (again bool) {
	t.replies, t.failed = nil, ""
	peer, err := t.dial(t.m.Host, atoi([]byte(t.m.Port)), time.Duration(t.m.TimeoutMillis)*time.Millisecond)
	switch {
	case errors.Is(err, ErrRefused):
		t.failed = ErrMigrateWrite
		return true
	case err != nil:
		t.failed = errMigrateConnect
		return false
	}
	defer peer.Close()
	if err = peer.Write(t.request); err != nil {
		t.failed = ErrMigrateWrite
		return !errors.Is(err, ErrTimeout)
	}
	for len(t.replies) < t.preamble+len(t.restores) {
		line, err := peer.Line()
		if err != nil {
			t.failed = ErrMigrateRead
			return len(t.replies) <= t.preamble && !errors.Is(err, ErrTimeout)
		}
		t.replies = append(t.replies, line)
	}
	return false
}

// result is which keys have arrived, and what the other server has refused first, or
// "". If that is AUTH or SELECT, nothing counts.
func (t *transfer) result() (moved []string, refused string) {
	shut := ""
	for i, line := range t.replies {
		bad, isBad := strings.CutPrefix(line, "-")
		switch {
		case i < t.preamble:
			if isBad && shut == "" {
				shut = bad
			}
		case shut != "":
			refused = shut
		case isBad && refused == "":
			refused = bad
		case !isBad:
			moved = append(moved, t.restores[i-t.preamble].Key)
		}
	}
	return moved, refused
}

// removeMigrated deletes keys that another server has, and tells replicas so.
func (c *Call) removeMigrated(keys []string) {
	del := [][]byte{[]byte("DEL")}
	for _, key := range keys {
		if c.DB.Delete([]byte(key)) {
			c.Changed([]byte(key), "del")
			del = append(del, []byte(key))
		}
	}
	if len(del) > 1 {
		c.Replicate(del...)
	}
}
