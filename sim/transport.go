package sim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"minikv/internal/resp"
	"minikv/lockclient"
)

// transport is lockclient's Transport from a process to one group of nodes.
type transport struct {
	p     *process
	group *group
	bare  bool // goes on asking a node of a cluster that does not answer, as go-redis without lockclient's adapter
}

var (
	_ lockclient.Transport  = (*transport)(nil)
	_ lockclient.Replicated = (*transport)(nil)
)

// lane is where the commands of one caller go.
type lane struct {
	*transport
	conn  *conn // nil: that to the key's server of the moment
	place int
	key   string

	asking bool // a pointer has led to conn for this time
}

// Eval implements lockclient.Transport.
func (t *transport) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	l := lane{transport: t, key: first(keys)}
	return l.eval(ctx, &scriptCall{s, keys, args})
}

// Do implements lockclient.Transport.
func (t *transport) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	if len(args) == 0 {
		return lockclient.Reply{}, fmt.Errorf("%w: a command without a name", lockclient.ErrNotSent)
	}
	l := lane{transport: t, key: key}
	return l.do(ctx, args...)
}

// EvalReplicated implements lockclient.Replicated as the adapters do: INFO replication,
// the script and WAIT, in a session of their own. It follows one pointer to another server.
func (t *transport) EvalReplicated(
	ctx context.Context, s *lockclient.Script, keys, args []string, limit time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	q := &scriptCall{s, keys, args}
	r, known, confirmed, err = t.evalReplicatedAt(ctx, t.p.server(t.group, first(keys)), false, q, limit)
	if refused := (*lockclient.ServerError)(nil); errors.As(err, &refused) {
		if to, asking := t.p.w.pointed(refused.Text); to != nil {
			return t.evalReplicatedAt(ctx, to, asking, q, limit)
		}
	}
	return r, known, confirmed, err
}

// evalReplicatedAt is EvalReplicated at one node, where ASKING may have to precede the script.
func (t *transport) evalReplicatedAt(
	ctx context.Context, n *node, asking bool, q *scriptCall, limit time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	c := t.p.conn(n)
	l := lane{transport: t, conn: c, place: c.borrow(), key: first(q.keys)}
	r, known, confirmed, err = l.evalReplicated(ctx, asking, q, limit)
	if ctx.Err() == nil {
		c.giveBack(l.place)
	}
	return r, known, confirmed, err
}

// Topology implements lockclient.Transport. Without Config.Sync acquisitions are
// not checked with WAIT: what a failover then costs is to be seen.
func (t *transport) Topology() lockclient.Topology {
	cluster := t.p.w.cfg.Plan.Cluster
	return lockclient.Topology{Replicas: t.p.w.cfg.Sync, Cluster: cluster, Sharded: cluster}
}

// scriptCall is a script with its keys and arguments.
type scriptCall struct {
	script     *lockclient.Script
	keys, args []string
}

// text is the call for people.
func (q *scriptCall) text() string {
	return q.script.Name + "(" + readable(q.keys) + "; " + readable(q.args) + ")"
}

// readable are arguments as a person can read them: the bytes of a permit as digits.
func readable(args []string) string {
	words := slices.Clone(args)
	for i, a := range words {
		if strings.ContainsFunc(a, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
			words[i] = hex.EncodeToString([]byte(a))
		}
	}
	return strings.Join(words, ", ")
}

func (l *lane) eval(ctx context.Context, q *scriptCall) (lockclient.Reply, error) {
	if u := l.p.w.untimed; u != nil {
		u.acquaint(q.script)
	}
	v, err := l.run(ctx, "EVALSHA", q.script.SHA, q)
	if err == nil && v.Kind == resp.Error && strings.HasPrefix(v.Str, "NOSCRIPT") {
		return l.teach(ctx, q)
	}
	return answer(v, err)
}

// teach runs a script that the server does not know yet: by its text, which leaves it there,
// as lockclient's adapters do; or when it has been loaded, as Redisson does.
func (l *lane) teach(ctx context.Context, q *scriptCall) (lockclient.Reply, error) {
	command, script := "EVAL", q.script.Text
	if l.p.reconnects != nil && !l.p.w.cfg.Plan.Cluster {
		command, script = "EVALSHA", q.script.SHA
		if _, err := l.do(ctx, "SCRIPT", "LOAD", q.script.Text); err != nil {
			return lockclient.Reply{}, err
		}
	}
	v, err := l.run(ctx, command, script, q)
	return answer(v, err)
}

func (l *lane) run(ctx context.Context, command, script string, q *scriptCall) (*resp.Value, error) {
	text := ""
	if l.p.w.cfg.Details {
		text = q.text()
	}
	head := [...]string{command, script, strconv.Itoa(len(q.keys))}
	return l.routed(ctx, text, head[:], q.keys, q.args)
}

func (l *lane) do(ctx context.Context, args ...string) (lockclient.Reply, error) {
	text := ""
	if l.p.w.cfg.Details {
		text = describeCommand(args)
	}
	v, err := l.routed(ctx, text, args)
	return answer(v, err)
}

// first is the first of keys, or "".
func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// evalReplicated asks the master how many replicas it has, before it runs the script, so
// that one which leaves it meanwhile is missed, and then how many of them have what was
// written. What fails before the script is not its error, and what fails after it does not
// say that nothing was sent.
func (l *lane) evalReplicated(
	ctx context.Context, asking bool, q *scriptCall, limit time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	if known, err = l.replicas(ctx); err != nil {
		if refused := (*lockclient.ServerError)(nil); !errors.As(err, &refused) && !errors.Is(err, lockclient.ErrNotSent) {
			err = fmt.Errorf("%w: before the script: %w", lockclient.ErrNotSent, err)
		}
		return r, 0, 0, err
	}
	l.asking = asking
	r, err = l.eval(ctx, q)
	l.asking = false
	if err != nil || known == 0 {
		return r, known, 0, err
	}
	if confirmed, err = l.wait(ctx, known, limit); err != nil {
		err = fmt.Errorf("after the script: %v", err)
	}
	return r, known, confirmed, err
}

// replicas asks a master how many it has.
func (l *lane) replicas(ctx context.Context) (int64, error) {
	info, err := l.do(ctx, "INFO", "replication")
	if err != nil {
		return 0, err
	}
	_, count, _ := strings.Cut(info.Text, "\nconnected_slaves:")
	count, _, _ = strings.Cut(count, "\r\n")
	return strconv.ParseInt(count, 10, 64)
}

// wait waits until so many replicas have confirmed, for as long as limit, and returns
// how many have.
func (l *lane) wait(ctx context.Context, replicas int64, limit time.Duration) (int64, error) {
	acked, err := l.do(ctx, "WAIT", strconv.FormatInt(replicas, 10), strconv.FormatInt(limit.Milliseconds(), 10))
	return acked.Int, err
}

// answer is the answer to a request for lockclient.
func answer(v *resp.Value, err error) (lockclient.Reply, error) {
	if err != nil {
		return lockclient.Reply{}, err
	}
	if v.Kind == resp.Error {
		return lockclient.Reply{}, &lockclient.ServerError{Text: v.Str}
	}
	return toReply(v), nil
}

// Subscribe implements lockclient.Transport.
func (t *transport) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(string), lost func(),
) (lockclient.Subscription, error) {
	task := t.p.running()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	c := t.p.conn(t.p.server(t.group, channel))
	s := &subscription{group: t.group, conn: c, channel: channel, sharded: sharded, deliver: deliver, lost: lost}
	s.call = &call{task: task}
	c.subs = append(c.subs, s)
	c.pending = append(c.pending, s.call)
	c.ask(s, "SUBSCRIBE", s.call)
	sim := t.p.contextOf(ctx)
	for !s.call.done {
		if err := ctx.Err(); err != nil {
			s.Close()
			return nil, err
		}
		task.sleep(sim, -1)
	}
	s.call.val = resp.Value{} // nobody looks at what it says
	if s.call.err != nil {
		s.Close()
		return nil, s.call.err
	}
	return s, nil
}

// Close implements lockclient.Subscription.
func (s *subscription) Close() {
	if s.closed || s.conn.p.dead {
		return
	}
	unconfirmed := !s.call.done || s.call.err != nil
	s.closed = true
	s.conn.forget(s.call)
	s.call.done = true
	for i, other := range s.conn.subs {
		if other == s {
			s.conn.subs = append(s.conn.subs[:i], s.conn.subs[i+1:]...)
			break
		}
	}
	sharesChannel := func(o *subscription) bool { return o.channel == s.channel && o.sharded == s.sharded }
	if s.conn.p.reconnects != nil && (s.again || unconfirmed && !s.refused) {
		return // Redisson writes it into the connection that has broken, or behind what is awaited there
	}
	if !slices.ContainsFunc(s.conn.subs, sharesChannel) {
		s.conn.ask(s, "UNSUBSCRIBE", nil)
	}
}

// addArgs adds to the request's command. The message has memory of its own for
// the list.
func (m *message) addArgs(args ...string) {
	if m.args == nil {
		m.args = make([]string, 0, 12) // as many as scripts of locks need
	}
	m.args = append(m.args, args...)
}

func toReply(v *resp.Value) lockclient.Reply {
	switch v.Kind {
	case resp.Integer, resp.Bool:
		return lockclient.Reply{Kind: lockclient.IntReply, Int: v.Int}
	case resp.Bulk, resp.Status, resp.Verbatim, resp.BigNumber:
		return lockclient.Reply{Kind: lockclient.TextReply, Text: v.Str}
	case resp.Array, resp.Set, resp.Map, resp.Push:
		r := lockclient.Reply{Kind: lockclient.ListReply, List: make([]lockclient.Reply, len(v.List))}
		for i := range v.List {
			r.List[i] = toReply(&v.List[i])
		}
		return r
	}
	return lockclient.Reply{}
}

// describeCommand is a command as a person would type it, long texts cut.
func describeCommand(args []string) string {
	if len(args) > 2 && args[0] == "SCRIPT" {
		return "SCRIPT LOAD …"
	}
	return strings.Join(args, " ")
}
