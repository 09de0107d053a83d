package engine

import (
	"bytes"
	"strconv"

	"minikv/datastore"
	"minikv/internal/slot"
)

// Topology is what a node knows of the cluster that it belongs to. The node asks it
// before each command with keys and each call of a script, so it must answer quickly.
type Topology interface {
	// Slot says who serves a slot.
	Slot(number int) SlotState
	// Down reports whether the node believes the cluster to be failing, and
	// whether it may serve reads then.
	Down() (down, readsAllowed bool)
	// Others is how many other nodes of the cluster this one knows.
	Others() int
}

// SlotState is one slot as a node sees it. Addresses are "host:port".
type SlotState struct {
	Owner     string // where the slot is served; "" when nobody serves it
	Mine      bool   // this node serves it
	MyMaster  bool   // the master of this node serves it
	Migrating string // Mine only: keys that are gone are found there
	Importing bool   // not Mine: keys are arriving here
}

// redirect is why the cluster lets the command not run here, or "".
// Source: getNodeByQuery of Redis 7.0.
func (c *Call) redirect() string {
	if c.Cmd.Name == "EXEC" {
		return c.redirectQueue()
	}
	return c.routeKeys(c.Cmd.keys(c.Args), c.Cmd)
}

// redirectQueue is redirect for all commands of a transaction together.
func (c *Call) redirectQueue() string {
	var keys [][]byte
	for _, queued := range c.Session.tx.queue {
		keys = append(keys, queued.cmd.keys(queued.args)...)
	}
	return c.routeKeys(keys, c.Cmd)
}

// routeKeys decides where a command on keys must run: "" is here, as where it has none.
func (c *Call) routeKeys(keys [][]byte, cmd *Command) string {
	if len(keys) == 0 {
		return ""
	}
	number := slotOf(keys)
	state := c.Node.cfg.Topology.Slot(number)
	if state.Owner == "" {
		return errSlotUnbound
	}
	for _, key := range keys[1:] {
		if slot.Of(key) != number {
			return errCrossSlot
		}
	}
	sharded := cmd.Flags&PubSub != 0
	if bad := c.routeDown(sharded); bad != "" {
		return bad
	}
	if state.Migrating != "" || state.Importing {
		if bad, decided := c.routeMoving(keys, state, number, sharded); decided {
			return bad
		}
	}
	if state.Mine || state.MyMaster && (sharded || c.Session.readOnly && !c.writes()) {
		return ""
	}
	return movedTo(number, state.Owner)
}

// routeDown is what a node that believes the cluster to be failing tells its
// clients, or "".
func (c *Call) routeDown(sharded bool) string {
	down, readsAllowed := c.Node.cfg.Topology.Down()
	switch {
	case !down, sharded && c.Node.conf.yes("cluster-allow-pubsubshard-when-down"):
		return ""
	case sharded || !readsAllowed:
		return errClusterDown
	case c.writes():
		return errClusterRO
	}
	return ""
}

// writes reports whether the command may write: one that runs a script says so in the
// script's first line, if at all.
func (c *Call) writes() bool { return c.scriptFlags(c.flags())&Write != 0 }

// movedTo tells a client where a slot is served.
func movedTo(number int, owner string) string { return "MOVED " + strconv.Itoa(number) + " " + owner }

// routeMoving is routeKeys for a slot that is on its way to another node, or
// to this one. Channels do not move: none is ever missing.
func (c *Call) routeMoving(
	keys [][]byte, state SlotState, number int, channels bool,
) (bad string, decided bool) {
	if c.Cmd.Name == "MIGRATE" {
		return "", true
	}
	missing, several := 0, false
	for _, key := range keys {
		several = several || !bytes.Equal(key, keys[0])
		if !channels && c.Node.keys.DB(0).LiveKind(key) == datastore.None {
			missing++
		}
	}
	switch {
	case state.Mine && (missing == 0 || missing == len(keys) && state.Migrating == state.Owner): // to itself
		return "", true
	case state.Mine && missing == len(keys):
		return "ASK " + strconv.Itoa(number) + " " + state.Migrating, true
	case state.Mine:
		return errTryAgain, true
	case state.Importing && (c.Session.asking || c.Cmd.Flags&Asking != 0):
		if several && missing > 0 {
			return errTryAgain, true
		}
		return "", true
	}
	return "", false
}
