package engine

import (
	"cmp"
	"slices"
	"strings"

	"minikv/internal/resp"
)

// tracking is who may hold which keys in a cache of its own, and must be told
// when they change. Keys count by their name alone: a change in any database
// invalidates them in all.
type tracking struct {
	keys     map[string]*trackedKey // default mode: what was read, forgotten once its readers were told
	names    []string               // of keys, in some order that does not depend on the map's
	items    int                    // all readers of keys together
	clients  int                    // sessions that track
	prefixes []trackedPrefix        // broadcasting mode, in the order of their bytes
	owed     [][]byte               // to the running client: what to send it behind its reply
	over     int                    // commands in a row that found more keys than are allowed
	limitAt  int64                  // Unix milliseconds at which Tick has some forgotten; 0: there are not too many
}

// trackedKey is a key that clients have read.
type trackedKey struct {
	readers []*Session // by ID
	at      int        // in names
}

// trackedPrefix is a prefix that clients in broadcasting mode listen to.
type trackedPrefix struct {
	prefix   string
	sessions []*Session   // by ID
	changed  []changedKey // since the last broadcast, in the order of their bytes
}

// changedKey is a key that changed, and who changed it last: nil for expiry
// and for scripts.
type changedKey struct {
	key    string
	writer *Session
}

// trackingState is how one session tracks.
type trackingState struct {
	trackingOptions
	on      bool
	broken  bool // the client it redirects to was found gone
	caching bool // CLIENT CACHING was given for the next command or transaction
	// prefixes are those of broadcasting mode, in the order of their bytes.
	prefixes []string
}

// trackingOptions is what CLIENT TRACKING chooses.
type trackingOptions struct {
	bcast, optIn, optOut, noLoop bool
	redirect                     int64 // the ID of who is told instead; 0: the client itself
}

// startTracking makes s track, or changes how it does; prefixes are added to
// those it has.
func (n *Node) startTracking(s *Session, options trackingOptions, prefixes []string) {
	t := &s.own().tracking
	if !t.on {
		n.tracking.clients++
	}
	t.on, t.broken, t.trackingOptions = true, false, options
	if !options.bcast {
		return
	}
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		if at, has := slices.BinarySearch(t.prefixes, prefix); !has {
			t.prefixes = slices.Insert(t.prefixes, at, prefix)
		}
		n.tracking.join(prefix, s)
	}
}

// stopTracking ends it. The keys that s has read stay, as in Redis, until they change.
func (n *Node) stopTracking(s *Session) {
	if !s.tracking.on {
		return
	}
	n.tracking.clients--
	for _, prefix := range s.tracking.prefixes {
		n.tracking.leave(prefix, s)
	}
	s.tracking = trackingState{}
}

// join adds s to those who listen to a prefix.
func (t *tracking) join(prefix string, s *Session) {
	at, has := t.find(prefix)
	if !has {
		t.prefixes = slices.Insert(t.prefixes, at, trackedPrefix{prefix: prefix})
	}
	t.prefixes[at].sessions, _ = withSession(t.prefixes[at].sessions, s)
}

// leave takes s from those who listen to a prefix.
func (t *tracking) leave(prefix string, s *Session) {
	at, _ := t.find(prefix)
	p := &t.prefixes[at]
	p.sessions = without(p.sessions, s)
	if len(p.sessions) == 0 {
		t.prefixes = slices.Delete(t.prefixes, at, at+1)
	}
}

// find is where a prefix stands, or would.
func (t *tracking) find(prefix string) (at int, has bool) {
	return slices.BinarySearchFunc(t.prefixes, prefix, func(p trackedPrefix, prefix string) int {
		return strings.Compare(p.prefix, prefix)
	})
}

// withSession adds s to a list that is in the order of IDs, and reports whether it was new.
func withSession(list []*Session, s *Session) ([]*Session, bool) {
	at, has := slices.BinarySearchFunc(list, s.ID, func(one *Session, id int64) int { return cmp.Compare(one.ID, id) })
	if has {
		return list, false
	}
	return slices.Insert(list, at, s), true
}

// inUse reports whether a change of a key can be of interest to anybody.
func (t *tracking) inUse() bool { return len(t.keys) > 0 || len(t.prefixes) > 0 }

// rememberKeys notes that a command which reads has shown its keys to its
// client. For a command of a script these are the keys given to the script.
// Source: call and trackingRememberKeys of Redis 7.0.
func (c *Call) rememberKeys() {
	n, s := c.Node, c.Session
	t := &s.tracking
	if !t.on || t.bcast || t.optIn && !t.caching || t.optOut && t.caching || c.Cmd.isReadOnlyEval() {
		return
	}
	reader := c
	if c.Script {
		reader = &n.calls[n.depth-2]
	}
	for _, key := range reader.Cmd.keys(reader.Args) {
		n.tracking.remember(key, s)
	}
	n.limitDue()
}

// remember notes that s has read key.
func (t *tracking) remember(key []byte, s *Session) {
	one := t.keys[string(key)]
	if one == nil {
		if t.keys == nil {
			t.keys = make(map[string]*trackedKey)
		}
		one = &trackedKey{at: len(t.names)}
		t.names = append(t.names, string(key))
		t.keys[string(key)] = one
	}
	readers, added := withSession(one.readers, s)
	if added {
		one.readers = readers
		t.items++
	}
}

// forget returns who has read key, and forgets it.
func (t *tracking) forget(key string) (readers []*Session) {
	one := t.keys[key]
	if one == nil {
		return nil
	}
	last := len(t.names) - 1
	t.names[one.at] = t.names[last]
	t.keys[t.names[last]].at = one.at
	t.names = t.names[:last]
	delete(t.keys, key)
	t.items -= len(one.readers)
	return one.readers
}

// limitTracked makes readers forget some keys, drawn by chance, if more are
// tracked than tracking-table-max-keys allows; the more, the longer that lasts.
// It is called before each command, and by Tick where none comes.
// Source: trackingLimitUsedSlots of Redis 7.0.
func (n *Node) limitTracked() {
	t := &n.tracking
	if len(t.keys) == 0 || t.clients == 0 {
		return
	}
	const effort = 100
	for range effort * (t.over + 1) {
		if !n.tracksTooMany() {
			t.over = 0
			return
		}
		key := t.names[n.cfg.Random()%uint64(len(t.names))]
		body := resp.Append(nil, resp.List(resp.Str(key)), 2)
		for _, s := range t.forget(key) {
			if s.wantsInvalidation(n) {
				n.deliverInvalidation(s, body)
			}
		}
	}
	t.over++
}

// tracksTooMany reports whether some keys must be forgotten. That lasts beyond a
// command when CONFIG SET has lowered their number.
func (n *Node) tracksTooMany() bool {
	t := &n.tracking
	return t.clients > 0 && n.conf.trackedKeys > 0 && len(t.keys) > n.conf.trackedKeys
}

// limitDue is when Tick is to limit what is tracked, in Unix milliseconds: as long after
// it was first asked with too many keys as there is between two runs of Redis's serverCron.
func (n *Node) limitDue() (at int64, ok bool) {
	const cronMillis = 100
	t := &n.tracking
	switch {
	case !n.tracksTooMany():
		t.limitAt = 0
		return 0, false
	case t.limitAt == 0:
		t.limitAt = n.nowMillis() + cronMillis
	}
	return t.limitAt, true
}

// wantsInvalidation reports whether s is to be told that a key which it has
// read is invalid.
func (s *Session) wantsInvalidation(n *Node) bool {
	t := &s.tracking
	return t.on && !t.bcast && !(t.noLoop && s == n.running())
}

// isReadOnlyEval reports whether cmd is flagged as reading although only what
// its script calls can read.
func (cmd *Command) isReadOnlyEval() bool {
	return cmd.Name == "EVAL_RO" || cmd.Name == "EVALSHA_RO" || cmd.Name == "FCALL_RO"
}

// invalidate tells who read key that it has changed, and notes it for the next
// broadcast. writer is who changed it, nil for expiry and scripts.
func (n *Node) invalidate(key string, writer *Session) {
	t := &n.tracking
	for i := range t.prefixes {
		if p := &t.prefixes[i]; strings.HasPrefix(key, p.prefix) {
			p.add(changedKey{key, writer})
		}
	}
	readers := t.forget(key)
	if readers == nil {
		return
	}
	body := resp.Append(nil, resp.List(resp.Str(key)), 2)
	for _, s := range readers {
		if s.wantsInvalidation(n) {
			n.sendInvalidation(s, body)
		}
	}
}

// add notes a change; the last writer counts.
func (p *trackedPrefix) add(one changedKey) {
	at, has := slices.BinarySearchFunc(p.changed, one.key, func(k changedKey, key string) int {
		return strings.Compare(k.key, key)
	})
	if !has {
		p.changed = slices.Insert(p.changed, at, one)
	}
	p.changed[at] = one
}

// invalidateAll tells everyone who tracks, in any mode, that a database was
// emptied: by null, in the protocol of who tracks even if it is sent to another.
func (n *Node) invalidateAll() {
	t := &n.tracking
	for s := n.sessions.first; s != nil && t.clients > 0; s = s.next {
		if s.tracking.on {
			n.sendInvalidation(s, resp.Append(nil, resp.Null, s.Proto))
		}
	}
	t.keys, t.names, t.items = nil, nil, 0
}

// broadcast sends clients in broadcasting mode the keys that have changed.
func (n *Node) broadcast() {
	for i := range n.tracking.prefixes {
		p := &n.tracking.prefixes[i]
		if len(p.changed) == 0 {
			continue
		}
		for _, s := range p.sessions {
			if keys := p.changedFor(s); len(keys) > 0 {
				n.sendInvalidation(s, resp.Append(nil, resp.List(keys...), 2))
			}
		}
		p.changed = nil
	}
}

// changedFor is the changed keys that s wants to hear of.
func (p *trackedPrefix) changedFor(s *Session) []resp.Value {
	keys := make([]resp.Value, 0, len(p.changed))
	for _, one := range p.changed {
		if !(s.tracking.noLoop && one.writer == s) {
			keys = append(keys, resp.Str(one.key))
		}
	}
	return keys
}

// running is the client whose command runs, or nil.
func (n *Node) running() *Session {
	if n.depth == 0 {
		return nil
	}
	return n.calls[0].Session
}

// sendInvalidation sends what has become invalid for s, encoded. The running
// client gets it behind its reply.
func (n *Node) sendInvalidation(s *Session, body []byte) {
	if s == n.running() {
		n.tracking.owed = append(n.tracking.owed, body)
		return
	}
	n.deliverInvalidation(s, body)
}

// sendOwed sends s, whose command has ended, the invalidations that it caused itself.
func (n *Node) sendOwed(s *Session) {
	for _, body := range n.tracking.owed {
		n.deliverInvalidation(s, body)
	}
	n.tracking.owed = nil
}

const (
	invalidateHeader3 = ">2\r\n$10\r\ninvalidate\r\n"
	invalidateHeader2 = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"
)

// deliverInvalidation appends an invalidation to the output of s, or of the
// client that s redirects to. A client on RESP2 can get one only by redirection,
// be it to itself, and while it has subscriptions. CLIENT REPLY does not silence invalidations.
// Source: sendTrackingMessage of Redis 7.0.
func (n *Node) deliverInvalidation(s *Session, body []byte) {
	to := s
	if id := s.tracking.redirect; id != 0 {
		if to = n.sessions.byID(id); to == nil {
			n.breakRedirection(s)
			return
		}
	}
	switch {
	case to.Proto == 3:
		to.Out = append(append(to.Out, invalidateHeader3...), body...)
	case s.tracking.redirect != 0 && to.Subscribed():
		to.Out = append(append(to.Out, invalidateHeader2...), body...)
	default:
		return
	}
	n.markDirty(to)
}

// breakRedirection notes that who s redirects to has gone, and tells s if it can.
func (n *Node) breakRedirection(s *Session) {
	s.tracking.broken = true
	if s.Proto == 2 {
		return
	}
	s.Out = resp.Append(s.Out, resp.Value{Kind: resp.Push, List: []resp.Value{
		resp.Str("tracking-redir-broken"), resp.Int(s.tracking.redirect),
	}}, s.Proto)
	n.markDirty(s)
}

// forgetCaching ends the effect of CLIENT CACHING behind the command or the
// transaction that it was for. The CLIENT commands do not count.
func (c *Call) forgetCaching() {
	s := c.Session
	if s.tracking.caching && !s.tx.active && (c.Cmd == nil || !strings.HasPrefix(c.Cmd.full, "client|")) {
		s.tracking.caching = false
	}
}
