package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// XINFO and its subcommands, https://redis.io/docs/latest/commands/xinfo/

var xinfoCommands = []Command{
	{Name: "CONSUMERS", Arity: 4, Flags: ReadOnly, Groups: "stream", Run: runXInfoConsumers},
	{Name: "GROUPS", Arity: 3, Flags: ReadOnly, Groups: "stream", Run: runXInfoGroups},
	{Name: "STREAM", Arity: -3, Flags: ReadOnly, Groups: "stream", Run: runXInfoStream},
	help("XINFO", "stream", xinfoHelp),
}

// runXInfoConsumers is XINFO CONSUMERS key group.
func runXInfoConsumers(c *Call) resp.Value {
	s, bad := c.streamToShow()
	if s == nil {
		return bad
	}
	g := s.Group(c.Args[3])
	if g == nil {
		return resp.Err(errNoGroupForKey(c.Args[2], c.Args[3]))
	}
	list := []resp.Value{}
	for _, one := range g.Consumers() {
		list = append(list, resp.Pairs(
			resp.Str("name"), resp.Str(one.Name),
			resp.Str("pending"), resp.Int(int64(one.PendingCount())),
			resp.Str("idle"), resp.Int(max(0, c.NowMillis()-one.SeenMillis)),
		))
	}
	return resp.List(list...)
}

// streamToShow is the stream that XINFO is about, or the error reply.
func (c *Call) streamToShow() (s *datastore.StreamData, bad resp.Value) {
	s, err := c.DB.Stream(c.Args[2])
	switch {
	case err != nil:
		return nil, failed(err)
	case s == nil:
		return nil, resp.Err(errNoKey)
	}
	return s, resp.Value{}
}

// runXInfoGroups is XINFO GROUPS key.
func runXInfoGroups(c *Call) resp.Value {
	s, bad := c.streamToShow()
	if s == nil {
		return bad
	}
	list := []resp.Value{}
	for _, g := range s.Groups() {
		read, lag := progressReply(s, g)
		list = append(list, resp.Pairs(
			resp.Str("name"), resp.Str(g.Name),
			resp.Str("consumers"), resp.Int(int64(len(g.Consumers()))),
			resp.Str("pending"), resp.Int(int64(g.PendingCount())),
			resp.Str("last-delivered-id"), resp.Str(g.LastID.String()),
			resp.Str("entries-read"), read,
			resp.Str("lag"), lag,
		))
	}
	return resp.List(list...)
}

// progressReply is how much a group has read and how much is left, nil where
// that cannot be told.
func progressReply(s *datastore.StreamData, g *datastore.Group) (read, lag resp.Value) {
	read, lag = resp.Null, resp.Null
	if g.EntriesRead != datastore.EntriesReadUnknown {
		read = resp.Int(g.EntriesRead)
	}
	if entries, ok := g.Lag(s); ok {
		lag = resp.Int(entries)
	}
	return read, lag
}

// runXInfoStream is XINFO STREAM key [FULL [COUNT n]].
func runXInfoStream(c *Call) resp.Value {
	s, bad := c.streamToShow()
	if s == nil {
		return bad
	}
	count, full, opt := int64(10), len(c.Args) > 3, c.Args[3:]
	switch {
	case !full:
	case len(opt) != 1 && len(opt) != 3, !is(opt[0], "FULL"), len(opt) == 3 && !is(opt[1], "COUNT"):
		return resp.Err(errSubSyntax("XINFO", c.Args[1]))
	case len(opt) == 3:
		n, ok := parseInt(opt[2])
		if !ok {
			return resp.Err(errNotInt)
		}
		if n >= 0 {
			count = n
		}
	}
	info := []resp.Value{
		resp.Str("length"), resp.Int(int64(s.Len())),
		resp.Str("radix-tree-keys"), resp.Int(int64(s.Nodes())),
		resp.Str("radix-tree-nodes"), resp.Int(int64(s.TreeNodes())),
		resp.Str("last-generated-id"), resp.Str(s.LastID.String()),
		resp.Str("max-deleted-entry-id"), resp.Str(s.MaxDeletedID.String()),
		resp.Str("entries-added"), resp.Int(s.EntriesAdded),
		resp.Str("recorded-first-entry-id"), resp.Str(s.FirstID.String()),
	}
	if full {
		groups := []resp.Value{}
		for _, g := range s.Groups() {
			groups = append(groups, fullGroup(s, g, count))
		}
		entries := entriesReply(s, datastore.FirstStreamID, datastore.LastStreamID, count, false)
		return resp.Pairs(append(info, resp.Str("entries"), entries, resp.Str("groups"), resp.List(groups...))...)
	}
	return resp.Pairs(append(info,
		resp.Str("groups"), resp.Int(int64(len(s.Groups()))),
		resp.Str("first-entry"), edgeEntry(s, false),
		resp.Str("last-entry"), edgeEntry(s, true))...)
}

// edgeEntry is the oldest or the newest entry, or nil.
func edgeEntry(s *datastore.StreamData, newest bool) resp.Value {
	list := entriesReply(s, datastore.FirstStreamID, datastore.LastStreamID, 1, newest).List
	if len(list) == 0 {
		return resp.Null
	}
	return list[0]
}

// fullGroup is a group with up to count (0: all) of its pending entries, and
// of those of each consumer.
func fullGroup(s *datastore.StreamData, g *datastore.Group, count int64) resp.Value {
	read, lag := progressReply(s, g)
	pending := []resp.Value{}
	g.EachPending(datastore.FirstStreamID, datastore.LastStreamID, func(id datastore.StreamID, p *datastore.Pending) bool {
		pending = append(pending, resp.List(resp.Str(id.String()), resp.Str(p.Consumer.Name),
			resp.Int(p.DeliveredMillis), resp.Int(p.Deliveries)))
		return int64(len(pending)) != count
	})
	consumers := []resp.Value{}
	for _, one := range g.Consumers() {
		consumers = append(consumers, fullConsumer(one, count))
	}
	return resp.Pairs(
		resp.Str("name"), resp.Str(g.Name),
		resp.Str("last-delivered-id"), resp.Str(g.LastID.String()),
		resp.Str("entries-read"), read,
		resp.Str("lag"), lag,
		resp.Str("pel-count"), resp.Int(int64(g.PendingCount())),
		resp.Str("pending"), resp.List(pending...),
		resp.Str("consumers"), resp.List(consumers...),
	)
}

func fullConsumer(one *datastore.Consumer, count int64) resp.Value {
	pending := []resp.Value{}
	show := func(id datastore.StreamID, p *datastore.Pending) bool {
		pending = append(pending, resp.List(resp.Str(id.String()), resp.Int(p.DeliveredMillis), resp.Int(p.Deliveries)))
		return int64(len(pending)) != count
	}
	one.EachPending(datastore.FirstStreamID, datastore.LastStreamID, show)
	return resp.Pairs(
		resp.Str("name"), resp.Str(one.Name),
		resp.Str("seen-time"), resp.Int(one.SeenMillis),
		resp.Str("pel-count"), resp.Int(int64(one.PendingCount())),
		resp.Str("pending"), resp.List(pending...),
	)
}
