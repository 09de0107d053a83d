package cluster

import (
	"strconv"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// runSetSlot is CLUSTER SETSLOT slot MIGRATING node|IMPORTING node|STABLE|NODE node.
func (b *busNode) runSetSlot(c *engine.Call) resp.Value {
	if b.self.isReplica() {
		return resp.Err("ERR Please use SETSLOT only with masters.")
	}
	number, bad := slotNumber(c.Args[2])
	if bad != "" {
		return resp.Err(bad)
	}
	switch action := c.Args[3]; {
	case isWord(action, "migrating") && len(c.Args) == 5:
		bad = b.migrate(number, c.Args[4])
	case isWord(action, "importing") && len(c.Args) == 5:
		bad = b.importFrom(number, c.Args[4])
	case isWord(action, "stable") && len(c.Args) == 4:
		delete(b.slots.migrating, number)
		delete(b.slots.importing, number)
	case isWord(action, "node") && len(c.Args) == 5:
		bad = b.assign(number, c.Args[4])
	default:
		bad = "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP"
	}
	if bad != "" {
		return resp.Err(bad)
	}
	return b.changed()
}

const errNotMaster = "ERR Target node is not a master"

// migrate lets clients look for the keys of a slot that are gone at another node.
func (b *busNode) migrate(number int, name []byte) (bad string) {
	if b.owner(number) != b.self {
		return "ERR I'm not the owner of hash slot " + strconv.Itoa(number)
	}
	to, bad := b.mover(name)
	if bad == "" {
		b.slots.migrating[number] = to
	}
	return bad
}

// importFrom lets clients that ask for it work on a slot that is still another node's.
func (b *busNode) importFrom(number int, name []byte) (bad string) {
	if b.owner(number) == b.self {
		return "ERR I'm already the owner of hash slot " + strconv.Itoa(number)
	}
	from, bad := b.mover(name)
	if bad == "" {
		b.slots.importing[number] = from
	}
	return bad
}

// mover is the other node of a migration.
func (b *busNode) mover(name []byte) (p *peer, bad string) {
	p = b.byName[string(name)]
	switch {
	case p == nil:
		return nil, "ERR I don't know about node " + resp.CString(name)
	case p.isReplica():
		return nil, errNotMaster
	}
	return p, ""
}

// assign gives a slot to a node, as the last step of a migration.
func (b *busNode) assign(number int, name []byte) (bad string) {
	p, bad := b.lookup(name)
	mine := b.owner(number) == b.self
	switch {
	case bad != "":
		return bad
	case p.isReplica():
		return errNotMaster
	case mine && p != b.self && b.keysInSlot(number) != 0:
		return "ERR Can't assign hashslot " + strconv.Itoa(number) +
			" to a different node while I still hold keys for this hash slot."
	}
	if b.keysInSlot(number) == 0 {
		delete(b.slots.migrating, number)
	}
	b.deleteSlot(number)
	b.addSlot(p, number)
	if mine && p != b.self && b.self.slotCount == 0 && b.yes("cluster-allow-replica-migration") {
		b.log(levelWarning, "Configuration change detected. Reconfiguring myself as a replica of "+p.name)
		b.follow(p)
	}
	if p == b.self && b.slots.importing[number] != nil {
		if b.bumpEpoch() {
			b.log(levelWarning, "configEpoch updated after importing slot "+strconv.Itoa(number))
		}
		delete(b.slots.importing, number)
		b.broadcastPong(false)
	}
	return ""
}
