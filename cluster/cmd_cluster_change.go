package cluster

import (
	"strconv"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/internal/slot"
	"minikv/server/engine"
)

// Subcommands of CLUSTER that change something.

// slotNumber reads a slot.
func slotNumber(arg []byte) (number int, bad string) {
	n, ok := datastore.ParseInteger(arg)
	if !ok || n < 0 || n >= slot.Count {
		return 0, errSlotRange
	}
	return int(n), ""
}

// runAddSlots is CLUSTER ADDSLOTS, or DELSLOTS, slot [slot ...].
func (b *busNode) runAddSlots(remove bool) func(c *engine.Call) resp.Value {
	return func(c *engine.Call) resp.Value {
		var chosen slotSet
		for _, arg := range c.Args[2:] {
			number, bad := slotNumber(arg)
			if bad == "" {
				bad = b.choose(&chosen, number, number, remove)
			}
			if bad != "" {
				return resp.Err(bad)
			}
		}
		return b.changeSlots(&chosen, remove)
	}
}

// runAddSlotsRange is CLUSTER ADDSLOTSRANGE, or DELSLOTSRANGE, first last [first last ...].
func (b *busNode) runAddSlotsRange(remove bool) func(c *engine.Call) resp.Value {
	return func(c *engine.Call) resp.Value {
		if len(c.Args)%2 != 0 {
			name := "cluster|addslotsrange"
			if remove {
				name = "cluster|delslotsrange"
			}
			return resp.Err("ERR wrong number of arguments for '" + name + "' command")
		}
		var chosen slotSet
		for i := 2; i < len(c.Args); i += 2 {
			first, bad := slotNumber(c.Args[i])
			last, badLast := slotNumber(c.Args[i+1])
			switch {
			case bad != "":
			case badLast != "":
				bad = badLast
			case first > last:
				bad = "ERR start slot number " + strconv.Itoa(first) + " is greater than end slot number " +
					strconv.Itoa(last)
			default:
				bad = b.choose(&chosen, first, last, remove)
			}
			if bad != "" {
				return resp.Err(bad)
			}
		}
		return b.changeSlots(&chosen, remove)
	}
}

// choose adds slots to those to be assigned or freed, or says why that cannot be.
func (b *busNode) choose(chosen *slotSet, first, last int, remove bool) (bad string) {
	for number := first; number <= last; number++ {
		name := "ERR Slot " + strconv.Itoa(number)
		switch bound := b.owner(number) != nil; {
		case remove && !bound:
			return name + " is already unassigned"
		case !remove && bound:
			return name + " is already busy"
		case chosen.has(number):
			return name + " specified multiple times"
		}
		chosen.add(number)
	}
	return ""
}

func (b *busNode) changeSlots(chosen *slotSet, remove bool) resp.Value {
	for number := 0; number < slot.Count; number++ {
		switch {
		case !chosen.has(number):
		case remove:
			b.deleteSlot(number)
		default:
			delete(b.slots.importing, number)
			b.addSlot(b.self, number)
		}
	}
	return b.changed()
}

// changed is the reply of a command that has changed what the cluster looks
// like. What follows from that is done at once.
func (b *busNode) changed() resp.Value {
	b.updateState()
	return resp.OK
}

// runFlushSlots is CLUSTER FLUSHSLOTS.
func (b *busNode) runFlushSlots(*engine.Call) resp.Value {
	if b.node().Keyspace().DB(0).Len() != 0 {
		return resp.Err("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.")
	}
	b.deleteSlotsOf(b.self)
	return b.changed()
}

// runBumpEpoch is CLUSTER BUMPEPOCH.
func (b *busNode) runBumpEpoch(*engine.Call) resp.Value {
	word := "STILL"
	if b.bumpEpoch() {
		word = "BUMPED"
	}
	return resp.Simple(word + " " + strconv.FormatUint(b.self.configEpoch, 10))
}

// runSetConfigEpoch is CLUSTER SET-CONFIG-EPOCH epoch.
func (b *busNode) runSetConfigEpoch(c *engine.Call) resp.Value {
	epoch, ok := datastore.ParseInteger(c.Args[2])
	switch {
	case !ok:
		return resp.Err(errNotInt)
	case epoch < 0:
		return resp.Err("ERR Invalid config epoch specified: " + strconv.FormatInt(epoch, 10))
	case len(b.peers) > 1:
		return resp.Err("ERR The user can assign a config epoch only when the node does not know any other node.")
	case b.self.configEpoch != 0:
		return resp.Err("ERR Node config epoch is already non-zero")
	}
	b.self.configEpoch = uint64(epoch)
	b.currentEpoch = max(b.currentEpoch, b.self.configEpoch)
	return b.changed()
}

// runMeet is CLUSTER MEET host port [bus-port].
// Source: clusterStartHandshake of Redis 7.0.
func (b *busNode) runMeet(c *engine.Call) resp.Value {
	if len(c.Args) > 5 {
		return resp.Err(errClusterSyntax(c.Args[1]))
	}
	port, ok := datastore.ParseInteger(c.Args[3])
	if !ok {
		return resp.Err("ERR Invalid TCP base port specified: " + resp.CString(c.Args[3]))
	}
	busPort := port + busPortOffset
	if len(c.Args) == 5 {
		if busPort, ok = datastore.ParseInteger(c.Args[4]); !ok {
			return resp.Err("ERR Invalid TCP bus port specified: " + resp.CString(c.Args[4]))
		}
	}
	host := string(c.Args[2])
	if !isIP(host) || port <= 0 || port > 65535 || busPort <= 0 || busPort > 65535 {
		return resp.Err("ERR Invalid node address specified: " + resp.CString(c.Args[2]) + ":" + resp.CString(c.Args[3]))
	}
	for _, p := range b.peers {
		if p.inHandshake() && p.host == host && int64(p.busPort) == busPort {
			return resp.OK // it is under way
		}
	}
	b.addPeer("", flagHandshake|flagMeet).setAddress(host, int(port), int(busPort))
	return resp.OK
}

// errClusterSyntax is the error of a subcommand that finds its arguments wrong itself.
func errClusterSyntax(sub []byte) string {
	return "ERR unknown subcommand or wrong number of arguments for '" + string(sub) + "'. Try CLUSTER HELP."
}

// runForget is CLUSTER FORGET node.
func (b *busNode) runForget(c *engine.Call) resp.Value {
	p, bad := b.lookup(c.Args[2])
	switch {
	case bad != "":
		return resp.Err(bad)
	case p == b.self:
		return resp.Err("ERR I tried hard but I can't forget myself...")
	case b.self.isReplica() && b.self.master == p:
		return resp.Err("ERR Can't forget my master!")
	}
	b.forgotten = append(b.forgotten, forgotten{p.name, b.now() + forgetTTL})
	b.deletePeer(p)
	return b.changed()
}

// runReplicate is CLUSTER REPLICATE node.
func (b *busNode) runReplicate(c *engine.Call) resp.Value {
	p, bad := b.lookup(c.Args[2])
	switch {
	case bad != "":
		return resp.Err(bad)
	case p == b.self:
		return resp.Err("ERR Can't replicate myself")
	case p.isReplica():
		return resp.Err("ERR I can only replicate a master, not a replica.")
	case b.self.isMaster() && (b.self.slotCount != 0 || b.node().Keyspace().DB(0).Len() != 0):
		return resp.Err("ERR To set a master the node must be empty and without assigned slots.")
	}
	b.follow(p)
	return b.changed()
}

// runFailover is CLUSTER FAILOVER [FORCE|TAKEOVER].
func (b *busNode) runFailover(c *engine.Call) resp.Value {
	force, takeover := false, false
	switch {
	case len(c.Args) > 3:
		return resp.Err(errClusterSyntax(c.Args[1]))
	case len(c.Args) == 3 && isWord(c.Args[2], "takeover"):
		force, takeover = true, true
	case len(c.Args) == 3 && isWord(c.Args[2], "force"):
		force = true
	case len(c.Args) == 3:
		return resp.Err(errSyntax)
	}
	master := b.self.master
	switch {
	case b.self.isMaster():
		return resp.Err("ERR You should send CLUSTER FAILOVER to a replica")
	case master == nil:
		return resp.Err("ERR I'm a replica but my master is unknown to me")
	case (master.failed() || !master.connected()) && !force:
		return resp.Err("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
	}
	b.manual.reset()
	if takeover {
		b.log(levelWarning, "Taking over the master (user request).")
		b.bumpEpoch()
		b.replaceMaster()
		return resp.OK
	}
	b.manual.begin(force)
	return resp.OK
}

// runReset is CLUSTER RESET [HARD|SOFT].
// Source: clusterReset of Redis 7.0.
func (b *busNode) runReset(c *engine.Call) resp.Value {
	hard := false
	switch {
	case len(c.Args) > 3:
		return resp.Err(errClusterSyntax(c.Args[1]))
	case len(c.Args) == 3 && isWord(c.Args[2], "hard"):
		hard = true
	case len(c.Args) == 3 && !isWord(c.Args[2], "soft"):
		return resp.Err(errSyntax)
	}
	if b.self.isMaster() && b.node().Keyspace().DB(0).Len() != 0 {
		return resp.Err("ERR CLUSTER RESET can't be called with master nodes containing keys")
	}
	if b.self.isReplica() {
		b.setMaster(b.self)
		b.m.Promote()
		b.node().RemoveAll()
	}
	b.closeSlots()
	b.manual.reset()
	for number := 0; number < slot.Count; number++ {
		b.deleteSlot(number)
	}
	for _, p := range append([]*peer(nil), b.peers...) {
		if p != b.self {
			b.deletePeer(p)
		}
	}
	if hard {
		b.currentEpoch, b.self.configEpoch, b.lastVoteEpoch = 0, 0, 0
		b.log(levelWarning, "configEpoch set to 0 via CLUSTER RESET HARD")
		b.rename(b.self, randomID(b.m.random))
		b.log(levelNotice, "Node hard reset, now I'm "+b.self.name)
	}
	return b.changed()
}
