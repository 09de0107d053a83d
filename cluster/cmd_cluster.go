package cluster

import (
	"strconv"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/internal/slot"
	"minikv/server/engine"
)

// CLUSTER and its subcommands that look, https://redis.io/docs/latest/commands/?group=cluster

// Handlers implements ClusterBus.
func (b *busNode) Handlers() engine.Handlers {
	return engine.Handlers{
		"cluster|addslots":              b.runAddSlots(false),
		"cluster|addslotsrange":         b.runAddSlotsRange(false),
		"cluster|bumpepoch":             b.runBumpEpoch,
		"cluster|count-failure-reports": b.runCountFailureReports,
		"cluster|countkeysinslot":       b.runCountKeysInSlot,
		"cluster|delslots":              b.runAddSlots(true),
		"cluster|delslotsrange":         b.runAddSlotsRange(true),
		"cluster|failover":              b.runFailover,
		"cluster|flushslots":            b.runFlushSlots,
		"cluster|forget":                b.runForget,
		"cluster|getkeysinslot":         b.runGetKeysInSlot,
		"cluster|info":                  b.runInfo,
		"cluster|keyslot":               runKeySlot,
		"cluster|links":                 b.runLinks,
		"cluster|meet":                  b.runMeet,
		"cluster|myid":                  func(*engine.Call) resp.Value { return resp.Str(b.self.name) },
		"cluster|nodes":                 b.runNodes,
		"cluster|replicas":              b.runReplicas,
		"cluster|replicate":             b.runReplicate,
		"cluster|reset":                 b.runReset,
		"cluster|saveconfig":            func(*engine.Call) resp.Value { return resp.OK },
		"cluster|set-config-epoch":      b.runSetConfigEpoch,
		"cluster|setslot":               b.runSetSlot,
		"cluster|shards":                b.runShards,
		"cluster|slaves":                b.runReplicas,
		"cluster|slots":                 b.runSlots,
		"publish":                       b.runPublish,
		"spublish":                      b.runSPublish,
	}
}

const (
	errSyntax    = "ERR syntax error"
	errBadSlot   = "ERR Invalid slot"
	errSlotRange = "ERR Invalid or out of range slot"
)

func isWord(arg []byte, word string) bool { return strings.EqualFold(string(arg), word) }

// runKeySlot is CLUSTER KEYSLOT key.
func runKeySlot(c *engine.Call) resp.Value { return resp.Int(int64(slot.Of(c.Args[2]))) }

// runCountKeysInSlot is CLUSTER COUNTKEYSINSLOT slot.
func (b *busNode) runCountKeysInSlot(c *engine.Call) resp.Value {
	number, ok := datastore.ParseInteger(c.Args[2])
	switch {
	case !ok:
		return resp.Err(errNotInt)
	case number < 0 || number >= slot.Count:
		return resp.Err(errBadSlot)
	}
	return resp.Int(int64(b.keysInSlot(int(number))))
}

// runGetKeysInSlot is CLUSTER GETKEYSINSLOT slot count.
func (b *busNode) runGetKeysInSlot(c *engine.Call) resp.Value {
	number, ok := datastore.ParseInteger(c.Args[2])
	count, okCount := datastore.ParseInteger(c.Args[3])
	switch {
	case !ok || !okCount:
		return resp.Err(errNotInt)
	case number < 0 || number >= slot.Count || count < 0:
		return resp.Err("ERR Invalid slot or number of keys")
	}
	list := []resp.Value{}
	for _, key := range b.node().Keyspace().DB(0).KeysInSlot(int(number), int(count)) {
		list = append(list, resp.Str(key))
	}
	return resp.List(list...)
}

// runInfo is CLUSTER INFO.
func (b *busNode) runInfo(*engine.Call) resp.Value {
	var assigned, fine, silent, failed int
	for _, s := range b.slots.owner {
		switch p := b.seats[s]; {
		case p == nil:
			continue
		case p.failed():
			failed++
		case p.timedOut():
			silent++
		default:
			fine++
		}
		assigned++
	}
	text := &strings.Builder{}
	line := func(name string, value string) { text.WriteString(name + ":" + value + "\r\n") }
	line("cluster_state", b.state.String())
	line("cluster_slots_assigned", strconv.Itoa(assigned))
	line("cluster_slots_ok", strconv.Itoa(fine))
	line("cluster_slots_pfail", strconv.Itoa(silent))
	line("cluster_slots_fail", strconv.Itoa(failed))
	line("cluster_known_nodes", strconv.Itoa(len(b.peers)))
	line("cluster_size", strconv.Itoa(b.size))
	line("cluster_current_epoch", strconv.FormatUint(b.currentEpoch, 10))
	line("cluster_my_epoch", strconv.FormatUint(b.ConfigEpoch(), 10))
	writeCounts(text, "sent", &b.sent)
	writeCounts(text, "received", &b.received)
	line("total_cluster_links_buffer_limit_exceeded", "0")
	return resp.Value{Kind: resp.Verbatim, Str: text.String()}
}

// writeCounts writes the lines of CLUSTER INFO on packets in one direction.
func writeCounts(text *strings.Builder, direction string, counts *[packetKinds]int64) {
	var total int64
	for kind, count := range counts {
		total += count
		if count > 0 {
			text.WriteString("cluster_stats_messages_" + packetNames[kind] + "_" + direction + ":" +
				strconv.FormatInt(count, 10) + "\r\n")
		}
	}
	text.WriteString("cluster_stats_messages_" + direction + ":" + strconv.FormatInt(total, 10) + "\r\n")
}

// runNodes is CLUSTER NODES.
func (b *busNode) runNodes(*engine.Call) resp.Value {
	text := &strings.Builder{}
	for _, p := range b.peers {
		text.WriteString(b.describe(p) + "\n")
	}
	return resp.Value{Kind: resp.Verbatim, Str: text.String()}
}

// describe is a node's line in CLUSTER NODES.
func (b *busNode) describe(p *peer) string {
	master, link := "-", "disconnected"
	if p.isReplica() && p.master != nil {
		master = p.master.name
	}
	if p.connected() || p == b.self {
		link = "connected"
	}
	flags := p.flags
	if p == b.self {
		flags = b.announcedFlags() // the configuration may have changed
	}
	address := p.host + ":" + strconv.Itoa(p.port) + "@" + strconv.Itoa(p.busPort)
	if name := b.hostname(p); name != "" {
		address += "," + name
	}
	words := []string{
		p.name, address, flags.String(), master,
		strconv.FormatInt(p.pingSent, 10), strconv.FormatInt(p.pongReceived, 10),
		strconv.FormatUint(p.head().configEpoch, 10), link,
	}
	for _, r := range p.slots.ranges() {
		if r.first == r.last {
			words = append(words, strconv.Itoa(r.first))
		} else {
			words = append(words, strconv.Itoa(r.first)+"-"+strconv.Itoa(r.last))
		}
	}
	for number := 0; p == b.self && number < slot.Count && b.slots.moving(); number++ {
		if to := b.slots.migrating[number]; to != nil {
			words = append(words, "["+strconv.Itoa(number)+"->-"+to.name+"]")
		} else if from := b.slots.importing[number]; from != nil {
			words = append(words, "["+strconv.Itoa(number)+"-<-"+from.name+"]")
		}
	}
	return strings.Join(words, " ")
}

// moving reports whether any slot is on its way.
func (t *slotTable) moving() bool { return len(t.migrating)+len(t.importing) > 0 }

// runReplicas is CLUSTER REPLICAS and CLUSTER SLAVES node.
func (b *busNode) runReplicas(c *engine.Call) resp.Value {
	p, bad := b.lookup(c.Args[2])
	switch {
	case bad != "":
		return resp.Err(bad)
	case p.isReplica():
		return resp.Err("ERR The specified node is not a master")
	}
	list := []resp.Value{}
	for _, r := range p.replicas {
		list = append(list, resp.Str(b.describe(r)))
	}
	return resp.List(list...)
}

// lookup finds a node by its name.
func (b *busNode) lookup(name []byte) (p *peer, bad string) {
	if p := b.byName[string(name)]; p != nil {
		return p, ""
	}
	return nil, "ERR Unknown node " + resp.CString(name)
}

// runCountFailureReports is CLUSTER COUNT-FAILURE-REPORTS node.
func (b *busNode) runCountFailureReports(c *engine.Call) resp.Value {
	p, bad := b.lookup(c.Args[2])
	if bad != "" {
		return resp.Err(bad)
	}
	return resp.Int(int64(b.freshReports(p)))
}

// offsetOf is how far a node is with replication.
func (b *busNode) offsetOf(p *peer) int64 {
	if p == b.self {
		return b.node().Offset()
	}
	return p.replOffset
}

// runSlots is CLUSTER SLOTS: each range with its master and the replicas that
// have data.
func (b *busNode) runSlots(*engine.Call) resp.Value {
	list := []resp.Value{}
	for first := 0; first < slot.Count; {
		last := first
		for last+1 < slot.Count && b.slots.owner[last+1] == b.slots.owner[first] {
			last++
		}
		if p := b.owner(first); p != nil {
			entry := []resp.Value{resp.Int(int64(first)), resp.Int(int64(last)), b.slotsNode(p)}
			for _, r := range p.replicas {
				if !r.failed() && b.offsetOf(r) != 0 {
					entry = append(entry, b.slotsNode(r))
				}
			}
			list = append(list, resp.List(entry...))
		}
		first = last + 1
	}
	return resp.List(list...)
}

// slotsNode is a node in CLUSTER SLOTS: the endpoint that this node prefers, and by
// what else the node is known.
func (b *busNode) slotsNode(p *peer) resp.Value {
	endpoint, prefers := resp.Str(b.endpoint(p)), b.prefers()
	if prefers == unknownEndpoint {
		endpoint = resp.Null
	}
	other := []resp.Value{}
	if prefers != ipEndpoint {
		other = append(other, resp.Str("ip"), resp.Str(p.host))
	}
	if name := b.hostname(p); prefers != hostnameEndpoint && name != "" {
		other = append(other, resp.Str("hostname"), resp.Str(name))
	}
	return resp.List(endpoint, resp.Int(int64(p.port)), resp.Str(p.name), resp.Pairs(other...))
}

// runShards is CLUSTER SHARDS: each master, with its slots and its replicas.
func (b *busNode) runShards(*engine.Call) resp.Value {
	list := []resp.Value{}
	for _, p := range b.peers {
		if !p.isMaster() { // a replica, or a node that is being met
			continue
		}
		slots := []resp.Value{}
		for _, r := range p.slots.ranges() {
			slots = append(slots, resp.Int(int64(r.first)), resp.Int(int64(r.last)))
		}
		nodes := []resp.Value{b.shardNode(p)}
		for _, r := range p.replicas {
			nodes = append(nodes, b.shardNode(r))
		}
		list = append(list, resp.Pairs(
			resp.Str("slots"), resp.List(slots...), resp.Str("nodes"), resp.List(nodes...)))
	}
	return resp.List(list...)
}

// shardNode is a node in CLUSTER SHARDS.
func (b *busNode) shardNode(p *peer) resp.Value {
	role, health := "master", "online"
	if p.isReplica() {
		role = "replica"
	}
	switch {
	case p.failed():
		health = "fail"
	case p.isReplica() && b.offsetOf(p) == 0:
		health = "loading"
	}
	pairs := []resp.Value{resp.Str("id"), resp.Str(p.name)}
	if p.port != 0 { // its address is known
		kind := "port"
		if b.m.node.Parameter("tls-cluster") == "yes" {
			kind = "tls-port"
		}
		pairs = append(pairs, resp.Str(kind), resp.Int(int64(p.port)))
	}
	pairs = append(pairs, resp.Str("ip"), resp.Str(p.host), resp.Str("endpoint"), resp.Str(b.endpoint(p)))
	if name := b.hostname(p); name != "" {
		pairs = append(pairs, resp.Str("hostname"), resp.Str(name))
	}
	return resp.Pairs(append(pairs, resp.Str("role"), resp.Str(role),
		resp.Str("replication-offset"), resp.Int(b.offsetOf(p)), resp.Str("health"), resp.Str(health))...)
}

// runLinks is CLUSTER LINKS.
func (b *busNode) runLinks(*engine.Call) resp.Value {
	list := []resp.Value{}
	for _, p := range b.peers {
		if p.connected() {
			list = append(list, p.link.describe("to"))
		}
		if p.inbound != nil {
			list = append(list, p.inbound.describe("from"))
		}
	}
	return resp.List(list...)
}

func (l *busLink) describe(direction string) resp.Value {
	return resp.Pairs(
		resp.Str("direction"), resp.Str(direction), resp.Str("node"), resp.Str(l.peer.name),
		resp.Str("create-time"), resp.Int(l.created), resp.Str("events"), resp.Str("r"),
		resp.Str("send-buffer-allocated"), resp.Zero, resp.Str("send-buffer-used"), resp.Zero)
}

// runPublish is PUBLISH: every node of the cluster passes the message on.
func (b *busNode) runPublish(c *engine.Call) resp.Value {
	channel, message := string(c.Args[1]), string(c.Args[2])
	heard := b.node().Publish(channel, message)
	b.publish(channel, message, false)
	return resp.Int(int64(heard))
}

// runSPublish is SPUBLISH.
func (b *busNode) runSPublish(c *engine.Call) resp.Value {
	channel, message := string(c.Args[1]), string(c.Args[2])
	heard := b.node().PublishShard(channel, message)
	b.publish(channel, message, true)
	return resp.Int(int64(heard))
}
