package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// runXPending is XPENDING key group [[IDLE milliseconds] start end count [consumer]].
func runXPending(c *Call) resp.Value {
	var q pendingQuery
	if bad := q.parse(c.Args); bad != "" {
		return resp.Err(bad)
	}
	s, err := c.DB.Stream(c.Args[1])
	if err != nil {
		return failed(err)
	}
	if s == nil || s.Group(c.Args[2]) == nil {
		return resp.Err(errNoGroup(c.Args[1], c.Args[2]))
	}
	g := s.Group(c.Args[2])
	if len(c.Args) == 3 {
		return pendingSummary(g)
	}
	return q.run(g, c.NowMillis())
}

// pendingQuery is the long form of XPENDING.
type pendingQuery struct {
	idle, count int64
	from, to    datastore.StreamID
	consumer    []byte // nil: all
}

func (q *pendingQuery) parse(args [][]byte) (bad string) {
	if len(args) == 3 {
		return ""
	}
	if len(args) < 6 || len(args) > 9 {
		return errSyntax
	}
	var ok bool
	rest := args[3:]
	if is(rest[0], "IDLE") {
		if q.idle, ok = parseInt(rest[1]); !ok {
			return errNotInt
		}
		if len(args) < 8 {
			return errSyntax
		}
		rest = rest[2:]
	}
	if q.count, ok = parseInt(rest[2]); !ok {
		return errNotInt
	}
	if q.from, q.to, bad = parseStreamInterval(rest[0], rest[1]); bad != "" {
		return bad
	}
	if len(rest) > 3 {
		q.consumer = rest[3]
	}
	return ""
}

func (q *pendingQuery) run(g *datastore.Group, now int64) resp.Value {
	list := []resp.Value{}
	each := g.EachPending
	if q.consumer != nil {
		consumer := g.Consumer(q.consumer)
		if consumer == nil {
			return resp.List()
		}
		each = consumer.EachPending
	}
	if q.count <= 0 {
		return resp.List()
	}
	each(q.from, q.to, func(id datastore.StreamID, p *datastore.Pending) bool {
		idle := now - p.DeliveredMillis
		if q.idle == 0 || idle >= q.idle {
			list = append(list, resp.List(resp.Str(id.String()), resp.Str(p.Consumer.Name), resp.Int(max(0, idle)),
				resp.Int(p.Deliveries)))
		}
		return int64(len(list)) < q.count
	})
	return resp.List(list...)
}

// pendingSummary is the short form of XPENDING: count, ends, consumers.
func pendingSummary(g *datastore.Group) resp.Value {
	n := g.PendingCount()
	if n == 0 {
		return resp.List(resp.Zero, resp.Null, resp.Null, resp.NullList)
	}
	var first datastore.StreamID
	g.EachPending(datastore.FirstStreamID, datastore.LastStreamID, func(id datastore.StreamID, _ *datastore.Pending) bool {
		first = id
		return false
	})
	consumers := []resp.Value{}
	for _, one := range g.Consumers() {
		if pending := one.PendingCount(); pending > 0 {
			consumers = append(consumers, resp.List(resp.Str(one.Name), resp.Str(decimal(int64(pending)))))
		}
	}
	return resp.List(resp.Int(int64(n)), resp.Str(first.String()), resp.Str(g.LastPending().String()),
		resp.List(consumers...))
}

// claim is a parsed XCLAIM.
type claim struct {
	idle       int64 // the least, in milliseconds
	ids        []datastore.StreamID
	force      bool
	justID     bool
	delivered  int64 // Unix milliseconds, -1: now
	deliveries int64 // -1: one more
	last       datastore.StreamID
}

// runXClaim is XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-ms]
// [RETRYCOUNT n] [FORCE] [JUSTID] [LASTID id]. Each entry that changes hands
// reaches replicas with its new state.
func runXClaim(c *Call) resp.Value {
	c.ReplicateNothing()
	key := c.Args[1]
	s, err := c.DB.Stream(key)
	if err != nil {
		return failed(err)
	}
	if s == nil || s.Group(c.Args[2]) == nil {
		return resp.Err(errNoGroup(key, c.Args[2]))
	}
	now := c.NowMillis()
	opt, bad := parseClaim(c.Args, now)
	if bad != "" {
		return resp.Err(bad)
	}
	g := s.Group(c.Args[2])
	unsent := opt.last.Compare(g.LastID) > 0
	if unsent {
		g.LastID = opt.last
	}
	if opt.delivered < 0 || opt.delivered > now {
		opt.delivered = now
	}
	list := []resp.Value{}
	for i, id := range opt.ids {
		shown := string(c.Args[5+i])
		p := g.Pending(id)
		if !s.Has(id) {
			if p != nil {
				c.countUnseen(key)
				c.replicateClaim(key, g, shown, p)
				g.Acknowledge(id)
				unsent = false
			}
			continue
		}
		if p == nil && opt.force {
			p = g.NewPending(id, now)
		}
		if p == nil || p.Consumer != nil && opt.idle > 0 && now-p.DeliveredMillis < opt.idle {
			continue
		}
		opt.apply(p)
		g.Assign(id, p, c.claimer(key, g))
		list = append(list, claimedReply(s, id, opt.justID))
		c.countUnseen(key)
		c.replicateClaim(key, g, shown, p)
		unsent = false
	}
	if unsent {
		c.countUnseen(key)
		c.replicateGroupID(key, g)
	}
	return resp.List(list...)
}

// apply gives a pending entry the time and count of deliveries that were asked for.
func (o *claim) apply(p *datastore.Pending) {
	p.DeliveredMillis = o.delivered
	switch {
	case o.deliveries >= 0:
		p.Deliveries = o.deliveries
	case !o.justID:
		p.Deliveries++
	}
}

// claimer finds the consumer that claims, or creates it.
func (c *Call) claimer(key []byte, g *datastore.Group) *datastore.Consumer {
	consumer := g.Consumer(c.Args[3])
	if consumer == nil {
		consumer = c.createConsumer(key, g, c.Args[3])
	}
	consumer.SeenMillis = c.NowMillis()
	return consumer
}

// claimedReply is an entry that was claimed, or its ID alone.
func claimedReply(s *datastore.StreamData, id datastore.StreamID, justID bool) resp.Value {
	if justID {
		return resp.Str(id.String())
	}
	return entriesReply(s, id, id, 1, false).List[0]
}

// parseClaim reads what follows the consumer. IDs end at the first word that is none.
func parseClaim(args [][]byte, now int64) (opt claim, bad string) {
	var ok bool
	opt.delivered, opt.deliveries = -1, -1
	if opt.idle, ok = parseInt(args[4]); !ok {
		return opt, "ERR Invalid min-idle-time argument for XCLAIM"
	}
	i := 5
	for ; i < len(args); i++ {
		id, bad := parseStreamID(args[i], 0)
		if bad != "" {
			break
		}
		opt.ids = append(opt.ids, id)
	}
	for ; i < len(args); i++ {
		more := len(args) - 1 - i
		switch {
		case is(args[i], "FORCE"):
			opt.force = true
		case is(args[i], "JUSTID"):
			opt.justID = true
		case is(args[i], "IDLE") && more > 0:
			i++
			n, ok := parseInt(args[i])
			if !ok {
				return opt, "ERR Invalid IDLE option argument for XCLAIM"
			}
			opt.delivered = now - n
		case is(args[i], "TIME") && more > 0:
			i++
			if opt.delivered, ok = parseInt(args[i]); !ok {
				return opt, "ERR Invalid TIME option argument for XCLAIM"
			}
		case is(args[i], "RETRYCOUNT") && more > 0:
			i++
			if opt.deliveries, ok = parseInt(args[i]); !ok {
				return opt, "ERR Invalid RETRYCOUNT option argument for XCLAIM"
			}
		case is(args[i], "LASTID") && more > 0:
			i++
			if opt.last, bad = parseStreamID(args[i], 0); bad != "" {
				return opt, bad
			}
		default:
			return opt, oneLine([]byte("ERR Unrecognized XCLAIM option '" + resp.CString(args[i]) + "'"))
		}
	}
	return opt, ""
}

// autoClaim is a parsed XAUTOCLAIM.
type autoClaim struct {
	idle, count int64
	from        datastore.StreamID
	justID      bool
}

// runXAutoClaim is XAUTOCLAIM key group consumer min-idle-time start [COUNT n] [JUSTID].
// It replies where to go on, what was claimed, and what was found deleted.
func runXAutoClaim(c *Call) resp.Value {
	const (
		attemptsPerEntry = 10
		mostTransient    = 1 << 42 // IDs, for which Redis wants room beforehand: what 47 bits of addresses have
	)
	key := c.Args[1]
	s, err := c.DB.Stream(key) // it may find that it has expired
	opt, bad := parseAutoClaim(c.Args)
	if bad != "" {
		return resp.Err(bad)
	}
	if err != nil {
		return failed(err)
	}
	if s == nil || s.Group(c.Args[2]) == nil {
		return resp.Err(errNoGroup(key, c.Args[2]))
	}
	if opt.count > mostTransient {
		return resp.Err("ERR Insufficient memory, failed allocating transient memory, COUNT too high.")
	}
	c.ReplicateNothing()
	g, now := s.Group(c.Args[2]), c.NowMillis()
	next, list, deleted := datastore.FirstStreamID, []resp.Value{}, []resp.Value{}
	attempts, count := opt.count*attemptsPerEntry, opt.count
	g.EachPending(opt.from, datastore.LastStreamID, func(id datastore.StreamID, p *datastore.Pending) bool {
		if attempts == 0 || count == 0 {
			next = id
			return false
		}
		attempts--
		switch {
		case !s.Has(id):
			c.countUnseen(key)
			c.replicateClaim(key, g, id.String(), p)
			g.Acknowledge(id)
			deleted = append(deleted, resp.Str(id.String()))
			count--
		case opt.idle <= 0 || now-p.DeliveredMillis >= opt.idle:
			p.DeliveredMillis = now
			if !opt.justID {
				p.Deliveries++
			}
			g.Assign(id, p, c.claimer(key, g))
			list = append(list, claimedReply(s, id, opt.justID))
			c.countUnseen(key)
			c.replicateClaim(key, g, id.String(), p)
			count--
		}
		return true
	})
	return resp.List(resp.Str(next.String()), resp.List(list...), resp.List(deleted...))
}

func parseAutoClaim(args [][]byte) (opt autoClaim, bad string) {
	const mostCount = (1<<63 - 1) / 16
	var ok bool
	if opt.idle, ok = parseInt(args[4]); !ok {
		return opt, "ERR Invalid min-idle-time argument for XAUTOCLAIM"
	}
	if opt.from, bad = parseStreamStart(args[5]); bad != "" {
		return opt, bad
	}
	opt.count = 100
	for rest := args[6:]; len(rest) > 0; rest = rest[1:] {
		switch {
		case is(rest[0], "COUNT") && len(rest) > 1:
			if opt.count, ok = parseInt(rest[1]); !ok || opt.count < 1 || opt.count > mostCount {
				return opt, "ERR COUNT must be > 0"
			}
			rest = rest[1:]
		case is(rest[0], "JUSTID"):
			opt.justID = true
		default:
			return opt, errSyntax
		}
	}
	return opt, ""
}
