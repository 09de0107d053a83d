package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// XGROUP and its subcommands, https://redis.io/docs/latest/commands/xgroup/

var xgroupCommands = []Command{
	{Name: "CREATE", Arity: -5, Flags: Write | DenyOOM, Groups: "stream", Run: runXGroupCreate},
	{Name: "CREATECONSUMER", Arity: 5, Flags: Write | DenyOOM, Groups: "stream", Run: runXGroupCreateConsumer},
	{Name: "DELCONSUMER", Arity: 5, Flags: Write, Groups: "stream", Run: runXGroupDelConsumer},
	{Name: "DESTROY", Arity: 4, Flags: Write, Groups: "stream", Run: runXGroupDestroy},
	{Name: "SETID", Arity: -5, Flags: Write, Groups: "stream", Run: runXGroupSetID},
	help("XGROUP", "stream", xgroupHelp),
}

const errNoStream = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use " +
	"the MKSTREAM option to create an empty stream automatically."

// runXGroupCreate is XGROUP CREATE key group id|$ [MKSTREAM] [ENTRIESREAD n].
func runXGroupCreate(c *Call) resp.Value {
	const longest = 8
	key := c.Args[2]
	make, read, bad := parseGroupOptions(c, true)
	if bad != "" {
		return resp.Err(bad)
	}
	s, err := c.DB.Stream(key)
	switch {
	case err != nil:
		return failed(err)
	case s == nil && !make:
		return resp.Err(errNoStream)
	case len(c.Args) > longest:
		return resp.Err(errSubSyntax("XGROUP", c.Args[1]))
	}
	var id datastore.StreamID
	if resp.CString(c.Args[4]) != "$" {
		if id, bad = parseStreamID(c.Args[4], 0); bad != "" {
			return resp.Err(bad)
		}
	} else if s != nil {
		id = s.LastID
	}
	if s == nil {
		s = c.DB.CreateStream(key)
		c.Changed(key, "")
		c.Amounts(0) // the group counts for both
	}
	if s.Group(c.Args[3]) != nil {
		return resp.Err("BUSYGROUP Consumer Group name already exists")
	}
	s.CreateGroup(c.Args[3], id, read)
	c.changedUntold(c.DB.Index(), key, "xgroup-create")
	return resp.OK
}

// parseGroupOptions reads what follows the ID.
func parseGroupOptions(c *Call, create bool) (make bool, entriesRead int64, bad string) {
	entriesRead = datastore.EntriesReadUnknown
	for args := c.Args[5:]; len(args) > 0; args = args[1:] {
		switch {
		case create && is(args[0], "MKSTREAM"):
			make = true
		case is(args[0], "ENTRIESREAD") && len(args) > 1:
			var ok bool
			if entriesRead, ok = parseInt(args[1]); !ok {
				return false, 0, errNotInt
			} else if entriesRead < 0 && entriesRead != datastore.EntriesReadUnknown {
				return false, 0, "ERR value for ENTRIESREAD must be positive or -1"
			}
			args = args[1:]
		default:
			return false, 0, errSubSyntax("XGROUP", c.Args[1])
		}
	}
	return make, entriesRead, ""
}

// findGroup returns the stream and the group that args 2 and 3 name, or the
// error reply.
func (c *Call) findGroup() (s *datastore.StreamData, g *datastore.Group, bad resp.Value) {
	s, err := c.DB.Stream(c.Args[2])
	switch {
	case err != nil:
		return nil, nil, failed(err)
	case s == nil:
		return nil, nil, resp.Err(errNoStream)
	}
	if g = s.Group(c.Args[3]); g == nil {
		bad = resp.Err(errNoGroupForKey(c.Args[2], c.Args[3]))
	}
	return s, g, bad
}

// errNoGroupForKey is the error of a group that a stream does not have.
func errNoGroupForKey(key, group []byte) string {
	return oneLine([]byte("NOGROUP No such consumer group '" + resp.CString(group) + "' for key name '" +
		resp.CString(key) + "'"))
}

// runXGroupSetID is XGROUP SETID key group id|$ [ENTRIESREAD n].
func runXGroupSetID(c *Call) resp.Value {
	_, read, bad := parseGroupOptions(c, false)
	if bad != "" {
		return resp.Err(bad)
	}
	s, g, reply := c.findGroup()
	switch {
	case reply.Kind != resp.None:
		return reply
	case len(c.Args) > 7:
		return resp.Err(errSubSyntax("XGROUP", c.Args[1]))
	}
	id := s.LastID
	if resp.CString(c.Args[4]) != "$" {
		if id, bad = parseAnyStreamID(c.Args[4], 0); bad != "" {
			return resp.Err(bad)
		}
	}
	g.LastID, g.EntriesRead = id, read
	c.changedUntold(c.DB.Index(), c.Args[2], "xgroup-setid")
	return resp.OK
}

// runXGroupDestroy is XGROUP DESTROY key group. Who is blocked on the group is
// told.
func runXGroupDestroy(c *Call) resp.Value {
	key := c.Args[2]
	s, _, reply := c.findGroup()
	switch {
	case s == nil:
		return reply
	case !s.DeleteGroup(c.Args[3]):
		return resp.Zero
	}
	c.changedUntold(c.DB.Index(), key, "xgroup-destroy")
	c.Node.ready(c.DB.Index(), string(key), datastore.Stream)
	return resp.One
}

// runXGroupCreateConsumer is XGROUP CREATECONSUMER key group consumer.
func runXGroupCreateConsumer(c *Call) resp.Value {
	_, g, reply := c.findGroup()
	switch {
	case g == nil:
		return reply
	case g.Consumer(c.Args[4]) != nil:
		return resp.Zero
	}
	c.createConsumer(c.Args[2], g, c.Args[4])
	c.ReplicateAnyway()
	return resp.One
}

// runXGroupDelConsumer is XGROUP DELCONSUMER key group consumer. It replies how
// many entries were pending with it.
func runXGroupDelConsumer(c *Call) resp.Value {
	_, g, reply := c.findGroup()
	if g == nil {
		return reply
	}
	consumer := g.Consumer(c.Args[4])
	if consumer == nil {
		return resp.Zero
	}
	pending := consumer.PendingCount()
	g.DeleteConsumer(consumer)
	c.changedUntold(c.DB.Index(), c.Args[2], "xgroup-delconsumer")
	return resp.Int(int64(pending))
}

// runXAck is XACK key group id [id ...].
func runXAck(c *Call) resp.Value {
	s, err := c.DB.Stream(c.Args[1])
	if err != nil {
		return failed(err)
	}
	if s == nil || s.Group(c.Args[2]) == nil {
		return resp.Zero
	}
	ids, bad := parseStreamIDs(c.Args[3:])
	if bad != "" {
		return resp.Err(bad)
	}
	acknowledged := 0
	for _, id := range ids {
		if s.Group(c.Args[2]).Acknowledge(id) {
			acknowledged++
		}
	}
	if acknowledged > 0 {
		c.changedUntold(c.DB.Index(), c.Args[1], "")
	}
	return resp.Int(int64(acknowledged))
}
