package lockclient

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Transport carries commands to one Redis: a server, a sentinel set or a cluster.
// Adapters implement it (lockclient/goredis), and so does the simulator's network. Its
// methods may be called concurrently.
//
// What an error says about the outcome is a contract, because locks depend on it:
//
//   - a *ServerError: the server answered, and did not do what was asked, or of a script
//     only a part;
//   - an error that wraps ErrNotSent: no server has seen the command;
//   - anything else: it may have been executed, or be executed later.
//
// An implementation must not send a command again by itself. What it gave up because its
// context ended must arrive soon or never; soon is as long as somebody could have waited
// for the answer (WithTimeout). TCP by itself does not keep that: it sends again what a
// partition has held up, however late. A connection that is closed with SO_LINGER 0 does
// not.
//
// An implementation may wait for a reply until ctx ends. Nobody is told of a message that
// gets lost, so the caller sets a deadline (Runtime.WithDeadline).
type Transport interface {
	// Eval runs a script by EVALSHA; after NOSCRIPT it sends the text, by EVAL.
	Eval(ctx context.Context, script *Script, keys []string, args []string) (Reply, error)
	// Do runs a plain command. key says where it goes in a cluster; "": to any node.
	Do(ctx context.Context, key string, args ...string) (Reply, error)
	// Subscribe returns once the server has confirmed the subscription. deliver is called
	// for each message, one at a time and in order, and must not block. lost is called when
	// the subscription may have missed messages, because its connection was made anew. With
	// sharded, SSUBSCRIBE is used.
	Subscribe(
		ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
	) (Subscription, error)
	// Topology describes what the transport is connected to.
	Topology() Topology
}

// Replicated is implemented by a Transport that can tell whether replicas have what a
// script wrote. Acquisitions, renewals and changes of counts use it if Topology.Replicas
// is set.
type Replicated interface {
	// EvalReplicated runs a script as Eval does. Then it waits up to limit for the master's
	// replicas, on the same connection, since WAIT counts only what its own connection
	// wrote. known is how many replicas the master had before the script, so that one which
	// leaves meanwhile, to be promoted, is noticed; confirmed is how many of them have the
	// write. Without replicas it does not wait. An error after the script was run counts as
	// an unknown outcome.
	EvalReplicated(
		ctx context.Context, script *Script, keys, args []string, limit time.Duration,
	) (r Reply, known, confirmed int64, err error)
}

// Subscription is one subscribed channel.
type Subscription interface {
	// Close unsubscribes. It does not wait for the server.
	Close()
}

// Topology is what a Transport knows about its servers.
type Topology struct {
	Cluster  bool // keys belong to slots, and a script must not use keys of several slots
	Replicas bool // masters may have replicas: acquisitions and renewals are checked with WAIT
	Sharded  bool // sharded pub/sub is to be used (in a cluster of servers 7.0 or later)
}

// Script is a Lua script with its SHA1. Make it once per process.
type Script struct {
	Name string // for traces, such as "mutex-acquire"
	Text string // of the script, as it is sent
	SHA  string // lower-case hexadecimal SHA1 of Text
}

// ReplyKind says which form a Reply has.
type ReplyKind uint8

// The forms of a Reply.
const (
	NilReply ReplyKind = iota
	IntReply
	TextReply // a bulk or status string
	ListReply
)

// Reply is a server's answer that is not an error.
type Reply struct {
	Kind ReplyKind
	Int  int64   // of an IntReply
	Text string  // of a TextReply
	List []Reply // of a ListReply
}

// Integer returns the number of an integer reply, or of a decimal text; ok is
// false for anything else.
func (r Reply) Integer() (n int64, ok bool) {
	switch r.Kind {
	case IntReply:
		return r.Int, true
	case TextReply:
		n, err := strconv.ParseInt(r.Text, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// ServerError is an error reply. Its text begins with Redis's code word, such
// as "WRONGTYPE" or "NOSCRIPT".
type ServerError struct{ Text string }

// Error returns the text as the server sent it.
func (e *ServerError) Error() string { return e.Text }

// Redirect returns the address to which a cluster redirects a request. With MOVED that is
// for good; with ASK it is for this time only, and asking is true: ASKING has to be sent
// before the request. ok is false for other errors.
func (e *ServerError) Redirect() (addr string, asking, ok bool) {
	words := strings.Split(e.Text, " ")
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return "", false, false
	}
	return words[2], words[0] == "ASK", true
}

// ErrNotSent is wrapped by the errors of commands that no server has seen, for example
// because the connection was refused or the context had ended before.
var ErrNotSent = errors.New("not sent")
