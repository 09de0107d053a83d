package minikvtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"minikv/internal/resp"
)

// Database is one database of a node; tests fill it and look into it. Its methods run
// commands, as somebody at a console does: their writes are replicated, and wake clients
// that wait for them. An error reply, such as WRONGTYPE, READONLY or MOVED, fails the
// test, and so does a node that is down or frozen. A missing key reads as empty.
type Database struct {
	node  *Node
	index int
}

// do runs a command. What other nodes have sent this one has arrived before, and
// what it makes this one send arrives before it returns, unless that takes time.
func (d *Database) do(args ...string) resp.Value {
	d.t().Helper()
	d.node.checkThawed()
	d.node.servers.top.Settle()
	v, err := d.node.n.CommandIn(d.index, args...)
	d.node.servers.top.Settle()
	d.node.servers.check(err)
	return v
}

func (d *Database) t() testing.TB { return d.node.servers.t }

// texts are the elements of a list of strings.
func texts(v resp.Value) []string {
	all := make([]string, len(v.List))
	for i, one := range v.List {
		all[i] = one.Str
	}
	return all
}

func number(n int) string { return strconv.Itoa(n) }

// Exists reports whether a key exists.
func (d *Database) Exists(key string) bool { d.t().Helper(); return d.do("EXISTS", key).Int == 1 }

// Type returns what TYPE replies: string, list, set, zset, hash, stream or none.
func (d *Database) Type(key string) string { d.t().Helper(); return d.do("TYPE", key).Str }

// Keys returns all keys, sorted.
func (d *Database) Keys() []string {
	d.t().Helper()
	return slices.Sorted(slices.Values(texts(d.do("KEYS", "*"))))
}

// Del removes a key and reports whether it existed.
func (d *Database) Del(key string) bool { d.t().Helper(); return d.do("DEL", key).Int == 1 }

// TTL returns how long a key has to live, in whole milliseconds; 0 if it has no TTL or
// does not exist.
func (d *Database) TTL(key string) time.Duration {
	d.t().Helper()
	return time.Duration(max(d.do("PTTL", key).Int, 0)) * time.Millisecond
}

// SetTTL gives a key a TTL, in whole milliseconds. 0 takes the TTL away; a negative one
// has passed already, and removes the key. It fails the test if the key does not exist,
// or if ttl is between 0 and a millisecond.
func (d *Database) SetTTL(key string, ttl time.Duration) {
	d.t().Helper()
	if !d.Exists(key) {
		d.t().Fatalf("minikvtest: set the TTL of %q: there is no such key", key)
	}
	if ttl > 0 && ttl < time.Millisecond {
		d.t().Fatalf("minikvtest: set the TTL of %q to %v: expected at least 1ms, or 0 for none", key, ttl)
	}
	if ttl == 0 {
		d.do("PERSIST", key)
		return
	}
	d.do("PEXPIRE", key, millis(ttl))
}

// FlushDB removes all keys of the database.
func (d *Database) FlushDB() { d.t().Helper(); d.do("FLUSHDB") }

// FlushAll removes all keys of the node.
func (d *Database) FlushAll() { d.t().Helper(); d.do("FLUSHALL") }

// SwapDB exchanges two databases.
func (d *Database) SwapDB(a, b int) { d.t().Helper(); d.do("SWAPDB", number(a), number(b)) }

// Copy copies a key into a database of the node, in place of what is there, and reports
// whether the key exists.
func (d *Database) Copy(from string, toDB int, to string) bool {
	d.t().Helper()
	return d.do("COPY", from, to, "DB", number(toDB), "REPLACE").Int == 1
}

// Publish sends a message and returns how many clients got it.
func (d *Database) Publish(channel, message string) int {
	d.t().Helper()
	return int(d.do("PUBLISH", channel, message).Int)
}

// Dump returns all keys with what they hold, for messages of tests.
func (d *Database) Dump() string {
	d.t().Helper()
	var b strings.Builder
	for _, key := range d.Keys() {
		kind := d.Type(key)
		fmt.Fprintf(&b, "%s (%s", key, kind)
		if ttl := d.TTL(key); ttl > 0 {
			fmt.Fprintf(&b, ", for %v", ttl)
		}
		fmt.Fprintf(&b, ")\n")
		for line := range strings.Lines(resp.Describe(d.content(key, kind))) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return b.String()
}

// content is all that a key holds.
func (d *Database) content(key, kind string) resp.Value {
	d.t().Helper()
	switch kind {
	case "string":
		return d.do("GET", key)
	case "list":
		return d.do("LRANGE", key, "0", "-1")
	case "set":
		return resp.List(values(d.SMembers(key))...)
	case "zset":
		return d.do("ZRANGE", key, "0", "-1", "WITHSCORES")
	case "hash":
		return d.do("HGETALL", key)
	}
	return d.do("XRANGE", key, "-", "+")
}

func values(texts []string) []resp.Value {
	all := make([]resp.Value, len(texts))
	for i, text := range texts {
		all[i] = resp.Str(text)
	}
	return all
}

// CheckGet fails t, as t.Errorf does, unless a key holds that string.
func (d *Database) CheckGet(t testing.TB, key, want string) {
	t.Helper()
	if have := d.content(key, "string"); have.IsNil() || have.Str != want {
		t.Errorf("minikvtest: %q: have %s, want %q", key, resp.Describe(have), want)
	}
}

// CheckList fails t, as t.Errorf does, unless a key holds that list.
func (d *Database) CheckList(t testing.TB, key string, want ...string) {
	t.Helper()
	if have := d.List(key); !slices.Equal(have, want) {
		t.Errorf("minikvtest: list %q: have %q, want %q", key, have, want)
	}
}

// CheckSet fails t, as t.Errorf does, unless a key holds that set; the order of want does
// not matter.
func (d *Database) CheckSet(t testing.TB, key string, want ...string) {
	t.Helper()
	if have := d.SMembers(key); !slices.Equal(have, slices.Sorted(slices.Values(want))) {
		t.Errorf("minikvtest: set %q: have %q, want %q", key, have, want)
	}
}
