package engine

import (
	"errors"
	"math"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Stream commands, https://redis.io/docs/latest/commands/?group=stream
// Source of details: t_stream.c of Redis 7.0.

var streamCommands = []Command{
	{Name: "XACK", Arity: -4, Flags: Write | Fast, Groups: "stream", Run: runXAck},
	{Name: "XADD", Arity: -5, Flags: Write | DenyOOM | Fast, Groups: "stream", Run: runXAdd},
	{Name: "XAUTOCLAIM", Arity: -6, Flags: Write | Fast, Groups: "stream", Run: runXAutoClaim},
	{Name: "XCLAIM", Arity: -6, Flags: Write | Fast, Groups: "stream", Run: runXClaim},
	{Name: "XDEL", Arity: -3, Flags: Write | Fast, Groups: "stream", Run: runXDel},
	{Name: "XGROUP", Arity: -2, Sub: xgroupCommands},
	{Name: "XINFO", Arity: -2, Sub: xinfoCommands},
	{Name: "XLEN", Arity: 2, Flags: ReadOnly | Fast, Groups: "stream", Run: runXLen},
	{Name: "XPENDING", Arity: -3, Flags: ReadOnly, Groups: "stream", Run: runXPending},
	{Name: "XRANGE", Arity: -4, Flags: ReadOnly, Groups: "stream", Run: runXRange},
	{Name: "XREAD", Arity: -4, Flags: ReadOnly | Blocking, Groups: "stream", Run: runXRead},
	{Name: "XREADGROUP", Arity: -7, Flags: Write | Blocking, Groups: "stream", Run: runXReadGroup},
	{Name: "XREVRANGE", Arity: -4, Flags: ReadOnly, Groups: "stream", Run: runXRevRange},
	{Name: "XSETID", Arity: -3, Flags: Write | DenyOOM | Fast, Groups: "stream", Run: runXSetID},
	{Name: "XTRIM", Arity: -4, Flags: Write, Groups: "stream", Run: runXTrim},
}

const (
	errStreamTop       = "ERR The ID specified in XADD is equal or smaller than the target stream top item"
	errStreamExhausted = "ERR The stream has exhausted the last possible ID, unable to add more items"
	errStreamZero      = "ERR The ID specified in XADD must be greater than 0-0"
)

// runXAdd is XADD key [NOMKSTREAM] [MAXLEN|MINID [=|~] threshold [LIMIT n]] *|id
// field value [field value ...].
func runXAdd(c *Call) resp.Value {
	opt, bad := parseStreamOptions(c, true)
	words := c.Args[min(opt.next+1, len(c.Args)):]
	switch {
	case bad != "":
		return resp.Err(bad)
	case len(words) < 2 || len(words)%2 != 0:
		return resp.Err(errArity(c.Cmd.full))
	case opt.idGiven && opt.seqGiven && opt.id == datastore.FirstStreamID:
		return resp.Err(errStreamZero)
	}
	key := c.Args[1]
	s, err := c.DB.Stream(key)
	switch {
	case err != nil:
		return failed(err)
	case s == nil && opt.noMake:
		return resp.Null
	case s == nil:
		s = c.DB.CreateStream(key)
	case s.LastID == datastore.LastStreamID:
		return resp.Err(errStreamExhausted)
	}
	id, ok := opt.newID(s, uint64(c.NowMillis()))
	if !ok || errors.Is(s.Append(id, words, c.Node.streamLimits()), datastore.ErrStreamID) {
		return resp.Err(errStreamTop)
	}
	c.Changed(key, "xadd")
	c.Node.ready(c.DB.Index(), string(key), datastore.Stream)
	effect := append([][]byte(nil), c.Args...)
	if opt.trims {
		if s.Trim(opt.trim) > 0 {
			c.Notify(key, "xtrim")
		}
		opt.makeExact(effect, s)
	}
	if !opt.idGiven || !opt.seqGiven {
		effect[opt.next] = []byte(id.String())
	}
	if opt.trims && opt.trim.Approx || !opt.idGiven || !opt.seqGiven {
		c.Replicate(effect...)
	}
	return resp.Str(id.String())
}

// newID is the ID that XADD gives to a new entry; ok is false when there is
// none left or it was given and is too small.
func (o *streamOptions) newID(s *datastore.StreamData, nowMillis uint64) (id datastore.StreamID, ok bool) {
	last := s.LastID
	switch {
	case o.idGiven && o.seqGiven:
		return o.id, true
	case o.idGiven && o.id.Millis != last.Millis:
		return o.id, true
	case o.idGiven:
		return datastore.StreamID{Millis: last.Millis, Seq: last.Seq + 1}, last.Seq != math.MaxUint64
	case nowMillis > last.Millis:
		return datastore.StreamID{Millis: nowMillis}, true
	}
	return last.Next()
}

// streamLimits are the configured sizes of a stream's nodes.
func (n *Node) streamLimits() datastore.StreamLimits {
	return datastore.StreamLimits{
		NodeBytes: n.conf.number("stream-node-max-bytes"), NodeEntries: n.conf.number("stream-node-max-entries"),
	}
}

// makeExact rewrites an approximate trimming in the command args as the exact
// one that left s as it is.
func (o *streamOptions) makeExact(args [][]byte, s *datastore.StreamData) {
	if !o.trim.Approx {
		return
	}
	args[o.thresholdAt-1] = []byte("=")
	if o.trim.ByID {
		args[o.thresholdAt] = []byte(s.OldestKept().String())
		return
	}
	args[o.thresholdAt] = []byte(decimal(int64(s.Len())))
}

// runXTrim is XTRIM key MAXLEN|MINID [=|~] threshold [LIMIT n].
func runXTrim(c *Call) resp.Value {
	opt, bad := parseStreamOptions(c, false)
	if bad != "" {
		return resp.Err(bad)
	}
	s, err := c.DB.Stream(c.Args[1])
	if s == nil {
		return countReply(0, err)
	}
	removed := s.Trim(opt.trim)
	if removed > 0 {
		c.taken(c.Args[1], "xtrim", int(removed))
		if opt.trim.Approx {
			effect := append([][]byte(nil), c.Args...)
			opt.makeExact(effect, s)
			c.Replicate(effect...)
		}
	}
	return resp.Int(removed)
}

// runXDel is XDEL key id [id ...].
func runXDel(c *Call) resp.Value {
	s, err := c.DB.Stream(c.Args[1])
	if s == nil {
		return countReply(0, err)
	}
	ids, bad := parseStreamIDs(c.Args[2:])
	if bad != "" {
		return resp.Err(bad)
	}
	deleted, first := 0, false
	for _, id := range ids {
		if s.Delete(id) {
			first = first || id == s.FirstID
			if id.Compare(s.MaxDeletedID) > 0 {
				s.MaxDeletedID = id
			}
			deleted++
		}
	}
	if deleted > 0 {
		if first || s.Len() == 0 {
			s.FixFirst()
		}
		c.Changed(c.Args[1], "xdel")
		c.Amounts(deleted)
	}
	return resp.Int(int64(deleted))
}

// runXLen is XLEN key.
func runXLen(c *Call) resp.Value {
	s, err := c.DB.Stream(c.Args[1])
	if s == nil {
		return countReply(0, err)
	}
	return resp.Int(int64(s.Len()))
}

// runXRange is XRANGE key start end [COUNT n].
func runXRange(c *Call) resp.Value { return xrange(c, c.Args[2], c.Args[3], false) }

// runXRevRange is XREVRANGE key end start [COUNT n].
func runXRevRange(c *Call) resp.Value { return xrange(c, c.Args[3], c.Args[2], true) }

func xrange(c *Call, start, end []byte, reverse bool) resp.Value {
	from, to, bad := parseStreamInterval(start, end)
	if bad != "" {
		return resp.Err(bad)
	}
	count := int64(-1)
	for args := c.Args[4:]; len(args) > 0; args = args[2:] {
		if !is(args[0], "COUNT") || len(args) < 2 {
			return resp.Err(errSyntax)
		}
		n, ok := parseInt(args[1])
		if !ok {
			return resp.Err(errNotInt)
		}
		count = max(0, n)
	}
	s, err := c.DB.Stream(c.Args[1])
	switch {
	case err != nil:
		return failed(err)
	case s == nil:
		return resp.List()
	case count == 0:
		return resp.NullList
	}
	return entriesReply(s, from, to, max(0, count), reverse)
}

// entriesReply lists up to count entries (0: all) with their IDs.
func entriesReply(s *datastore.StreamData, from, to datastore.StreamID, count int64, reverse bool) resp.Value {
	list := []resp.Value{}
	s.Range(from, to, reverse, func(id datastore.StreamID, fields, values []string) bool {
		list = append(list, entryReply(id, fields, values))
		return int64(len(list)) != count
	})
	return resp.List(list...)
}

// entryReply is an entry: its ID, its fields and values in turn.
func entryReply(id datastore.StreamID, fields, values []string) resp.Value {
	pairs := make([]resp.Value, 0, 2*len(fields))
	for i := range fields {
		pairs = append(pairs, resp.Str(fields[i]), resp.Str(values[i]))
	}
	return resp.List(resp.Str(id.String()), resp.List(pairs...))
}

// runXSetID is XSETID key last-id [ENTRIESADDED n] [MAXDELETEDID id].
func runXSetID(c *Call) resp.Value {
	id, bad := parseStreamID(c.Args[2], 0)
	added, deleted := int64(-1), datastore.FirstStreamID
	for args := c.Args[3:]; len(args) > 0 && bad == ""; args = args[2:] {
		if len(args) == 1 {
			return resp.Err(errSyntax)
		}
		switch {
		case is(args[0], "ENTRIESADDED"):
			var ok bool
			if added, ok = parseInt(args[1]); !ok {
				bad = errNotInt
			} else if added < 0 {
				bad = "ERR entries_added must be positive"
			}
		case is(args[0], "MAXDELETEDID"):
			if deleted, bad = parseStreamID(args[1], 0); bad == "" && id.Compare(deleted) < 0 {
				bad = "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
			}
		default:
			bad = errSyntax
		}
	}
	if bad != "" {
		return resp.Err(bad)
	}
	s, err := c.DB.Stream(c.Args[1])
	switch {
	case err != nil:
		return failed(err)
	case s == nil:
		return resp.Err(errNoKey)
	case s.Len() > 0 && id.Compare(s.LastEntryID()) < 0:
		return resp.Err("ERR The ID specified in XSETID is smaller than the target stream top item")
	case s.Len() > 0 && added != -1 && int64(s.Len()) > added:
		return resp.Err("ERR The entries_added specified in XSETID is smaller than the target stream length")
	}
	s.LastID = id
	if added != -1 {
		s.EntriesAdded = added
	}
	if deleted != datastore.FirstStreamID {
		s.MaxDeletedID = deleted
	}
	c.changedUntold(c.DB.Index(), c.Args[1], "xsetid")
	return resp.OK
}

// countUnseen counts a change of which the effects are sent one by one.
func (c *Call) countUnseen(key []byte) {
	n := c.Node
	n.stats.dirty++
	if n.cfg.Observe != nil {
		n.changed = append(n.changed, change{c.DB.Index(), string(key)})
	}
}
