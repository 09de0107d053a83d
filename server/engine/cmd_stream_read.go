package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// streamRead is a parsed XREAD or XREADGROUP.
type streamRead struct {
	blocks          bool
	timeout         int64 // milliseconds; 0: for ever
	count           int64 // 0: all
	noAck           bool
	group, consumer []byte // XREADGROUP
	keys, ids       [][]byte
	after           []datastore.StreamID // of each key: what was read last
	groups          []*datastore.Group   // XREADGROUP: of each key
}

// onlyNew is the ID that > stands for.
var onlyNew = datastore.LastStreamID

// runXRead is XREAD [COUNT n] [BLOCK milliseconds] STREAMS key [key ...] id [id ...].
func runXRead(c *Call) resp.Value { return xread(c, false) }

// runXReadGroup is XREADGROUP GROUP group consumer [COUNT n] [BLOCK milliseconds] [NOACK]
// STREAMS key [key ...] id [id ...]. What it delivers reaches replicas as
// XCLAIM, the group's position as XGROUP SETID.
func runXReadGroup(c *Call) resp.Value {
	c.ReplicateNothing()
	return xread(c, true)
}

func xread(c *Call, grouped bool) resp.Value {
	r, bad := parseStreamRead(c, grouped)
	if bad == "" && c.Again {
		return r.again(c)
	}
	if bad == "" {
		bad = r.resolve(c)
	}
	if bad != "" {
		return resp.Err(bad)
	}
	var replies []resp.Value
	for i, key := range r.keys {
		if s, _ := c.DB.Stream(key); s != nil && r.ready(s, i) {
			replies = append(replies, resp.Str(string(key)), r.deliver(c, s, i))
		}
	}
	switch {
	case len(replies) > 0:
		return streamsReply(c, replies)
	case r.blocks:
		return r.block(c)
	}
	return resp.NullList
}

// parseStreamRead reads the options, but not yet the IDs.
func parseStreamRead(c *Call, grouped bool) (r streamRead, bad string) {
	for i := 1; i < len(c.Args) && r.keys == nil; i++ {
		arg, more := c.Args[i], len(c.Args)-1-i
		switch {
		case is(arg, "BLOCK") && more > 0:
			i++
			r.timeout, bad = parseStreamTimeout(c, c.Args[i])
			r.blocks = true
		case is(arg, "COUNT") && more > 0:
			i++
			n, ok := parseInt(c.Args[i])
			if !ok {
				bad = errNotInt
			}
			r.count = max(0, n)
		case is(arg, "STREAMS") && more > 0:
			if more%2 != 0 {
				return r, "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
			}
			r.keys, r.ids = c.Args[i+1:i+1+more/2], c.Args[i+1+more/2:]
		case is(arg, "GROUP") && more >= 2:
			r.group, r.consumer = c.Args[i+1], c.Args[i+2]
			i += 2
			if !grouped {
				bad = "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
			}
		case is(arg, "NOACK"):
			r.noAck = true
			if !grouped {
				bad = "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
			}
		default:
			bad = errSyntax
		}
		if bad != "" {
			return r, bad
		}
	}
	switch {
	case r.keys == nil:
		return r, errSyntax
	case grouped && r.group == nil:
		return r, "ERR Missing GROUP option for XREADGROUP"
	}
	return r, ""
}

// parseStreamTimeout reads the milliseconds of BLOCK.
func parseStreamTimeout(c *Call, arg []byte) (millis int64, bad string) {
	millis, ok := parseInt(arg)
	switch {
	case c.Script:
		return 0, oneLine([]byte("ERR " + resp.CString(c.Args[0]) +
			" command is not allowed with BLOCK option from scripts"))
	case !ok:
		return 0, errTimeoutInt
	case millis < 0:
		return 0, errNegTimeout
	}
	return millis, ""
}

// resolve looks up groups and turns the IDs into those that were read last.
func (r *streamRead) resolve(c *Call) (bad string) {
	r.after = make([]datastore.StreamID, len(r.keys))
	r.groups = make([]*datastore.Group, len(r.keys))
	for i, key := range r.keys {
		s, err := c.DB.Stream(key)
		if err != nil {
			return errWrongType
		}
		if r.group != nil {
			if s == nil || s.Group(r.group) == nil {
				return errNoGroup(key, r.group) + " in XREADGROUP with GROUP option"
			}
			r.groups[i] = s.Group(r.group)
		}
		switch text := resp.CString(r.ids[i]); {
		case text == "$" && r.group != nil:
			return "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this " +
				"consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return " +
				"an empty result set."
		case text == "$":
			if s != nil {
				r.after[i] = s.LastID
			}
		case text == ">" && r.group == nil:
			return "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
		case text == ">":
			r.after[i] = onlyNew
		default:
			if r.after[i], bad = parseStreamID(r.ids[i], 0); bad != "" {
				return bad
			}
		}
	}
	return ""
}

// errNoGroup is the error of a key or a group that is not there.
func errNoGroup(key, group []byte) string {
	return oneLine([]byte("NOGROUP No such key '" + resp.CString(key) + "' or consumer group '" +
		resp.CString(group) + "'"))
}

// ready reports whether there is something to reply about stream i, and sets
// what a group has read last.
func (r *streamRead) ready(s *datastore.StreamData, i int) bool {
	switch {
	case r.groups[i] != nil && r.after[i] != onlyNew:
		return true
	case s.Len() == 0:
		return false
	case r.groups[i] == nil:
		return s.LastEntryID().Compare(r.after[i]) > 0
	}
	return s.LastEntryID().Compare(r.groups[i].LastID) > 0
}

// deliver is the reply about stream i.
func (r *streamRead) deliver(c *Call, s *datastore.StreamData, i int) resp.Value {
	g := r.groups[i]
	if g == nil {
		from, _ := r.after[i].Next()
		return entriesReply(s, from, datastore.LastStreamID, r.count, false)
	}
	if !c.Again { // as Redis counts
		c.countUnseen(r.keys[i])
	}
	consumer := g.Consumer(r.consumer)
	if consumer == nil {
		consumer = c.createConsumer(r.keys[i], g, r.consumer)
		if r.noAck {
			c.Replicate([]byte("XGROUP"), []byte("CREATECONSUMER"), r.keys[i], r.group, r.consumer)
		}
	}
	consumer.SeenMillis = c.NowMillis()
	if r.after[i] != onlyNew {
		return r.history(c, s, consumer, r.after[i])
	}
	return r.deliverNew(c, s, g, consumer, r.keys[i])
}

// history lists what the consumer has not acknowledged; each entry counts as
// delivered once more.
func (r *streamRead) history(
	c *Call, s *datastore.StreamData, consumer *datastore.Consumer, after datastore.StreamID,
) resp.Value {
	list := []resp.Value{}
	from, _ := after.Next()
	consumer.EachPending(from, datastore.LastStreamID, func(id datastore.StreamID, p *datastore.Pending) bool {
		if s.Has(id) {
			list = append(list, entriesReply(s, id, id, 1, false).List[0])
			p.DeliveredMillis = c.NowMillis()
			p.Deliveries++
		} else {
			list = append(list, resp.List(resp.Str(id.String()), resp.NullList))
		}
		return int64(len(list)) != r.count
	})
	return resp.List(list...)
}

// deliverNew gives the consumer what nobody of the group has got.
func (r *streamRead) deliverNew(
	c *Call, s *datastore.StreamData, g *datastore.Group, consumer *datastore.Consumer, key []byte,
) resp.Value {
	list := []resp.Value{}
	from, _ := g.LastID.Next()
	s.Range(from, datastore.LastStreamID, false, func(id datastore.StreamID, fields, values []string) bool {
		g.Advance(s, id)
		list = append(list, entryReply(id, fields, values))
		if !r.noAck {
			p := g.Pending(id)
			if p == nil {
				p = g.NewPending(id, 0)
			}
			g.Assign(id, p, consumer)
			p.DeliveredMillis, p.Deliveries = c.NowMillis(), 1
			c.replicateClaim(key, g, id.String(), p)
		}
		return int64(len(list)) != r.count
	})
	if len(list) > 0 && r.noAck {
		c.replicateGroupID(key, g)
	}
	return resp.List(list...)
}

// block leaves the client waiting, with $ as the ID that it is now.
func (r *streamRead) block(c *Call) resp.Value {
	reply := c.Block(datastore.Stream, r.keys, r.timeout, resp.NullList)
	if b := c.Session.block; reply.Kind == resp.None {
		b.after = r.after
		if r.group != nil {
			b.onGone = resp.Err("UNBLOCKED the stream key no longer exists")
		}
	}
	return reply
}

// again serves a client that was blocked: one of its streams has changed.
func (r *streamRead) again(c *Call) resp.Value {
	const byDefault = 1000
	if r.count == 0 {
		r.count = byDefault
	}
	at := 0
	for string(r.keys[at]) != string(c.Ready) {
		at++
	}
	s, _ := c.DB.Stream(c.Ready)
	r.after = make([]datastore.StreamID, len(r.keys))
	r.groups = make([]*datastore.Group, len(r.keys))
	if r.group == nil {
		r.after[at] = c.Session.block.after[at]
	} else {
		r.groups[at], r.after[at] = s.Group(r.group), onlyNew
		if r.groups[at] == nil {
			return resp.Err("NOGROUP the consumer group this client was blocked on no longer exists")
		}
	}
	last := r.after[at]
	if r.group != nil {
		last = r.groups[at].LastID
	}
	if s.LastID.Compare(last) <= 0 {
		return resp.Value{}
	}
	return streamsReply(c, []resp.Value{resp.Str(string(c.Ready)), r.deliver(c, s, at)})
}

// streamsReply is a reply of keys and their entries in turn.
func streamsReply(c *Call, replies []resp.Value) resp.Value {
	if c.Proto == 3 {
		return resp.Pairs(replies...)
	}
	list := make([]resp.Value, 0, len(replies)/2)
	for i := 0; i < len(replies); i += 2 {
		list = append(list, resp.List(replies[i], replies[i+1]))
	}
	return resp.List(list...)
}

// createConsumer adds a consumer to a group.
func (c *Call) createConsumer(key []byte, g *datastore.Group, name []byte) *datastore.Consumer {
	c.countUnseen(key)
	c.Notify(key, "xgroup-createconsumer")
	return g.CreateConsumer(name, c.NowMillis())
}

// replicateClaim sends the state of a pending entry, whose ID is shown as the client did, or
// as it is.
func (c *Call) replicateClaim(key []byte, g *datastore.Group, id string, p *datastore.Pending) {
	c.Replicate([]byte("XCLAIM"), key, []byte(g.Name), []byte(p.Consumer.Name), []byte("0"), []byte(id),
		[]byte("TIME"), []byte(decimal(p.DeliveredMillis)), []byte("RETRYCOUNT"), []byte(decimal(p.Deliveries)),
		[]byte("FORCE"), []byte("JUSTID"), []byte("LASTID"), []byte(g.LastID.String()))
}

// replicateGroupID sends how far a group has read.
func (c *Call) replicateGroupID(key []byte, g *datastore.Group) {
	c.Replicate([]byte("XGROUP"), []byte("SETID"), key, []byte(g.Name), []byte(g.LastID.String()),
		[]byte("ENTRIESREAD"), []byte(decimal(g.EntriesRead)))
}
