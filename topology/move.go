package topology

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"minikv/cluster"
	"minikv/internal/slot"
)

// The steps of moving a slot of a cluster to this node from the one that owns
// it, in their order: OpenSlot, MoveKeys until there are none left, CloseSlot.

// OpenSlot begins to move a slot of the cluster to this node: the slot is importing here,
// and migrating at its owner. MoveKeys and CloseSlot follow. It returns an error if no
// other node owns the slot.
func (n *Node) OpenSlot(number int) error {
	return n.withOwner(number, func(owner *Node, mine, theirs string) error {
		if _, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(number), "IMPORTING", theirs); err != nil {
			return err
		}
		_, err := owner.Command("CLUSTER", "SETSLOT", strconv.Itoa(number), "MIGRATING", mine)
		return err
	})
}

// MoveKeys moves at most count keys of the slot to this node, and returns how many there
// were; 0 when all are moved.
func (n *Node) MoveKeys(number, count int) (moved int, err error) {
	err = n.withOwner(number, func(owner *Node, _, _ string) error {
		keys, err := owner.Command("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(number), strconv.Itoa(count))
		if err != nil || len(keys.List) == 0 {
			return err
		}
		host, port, err := net.SplitHostPort(n.address)
		if err != nil {
			return fmt.Errorf("topology: move keys: %w", err)
		}
		args := []string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}
		for _, key := range keys.List {
			args = append(args, key.Str)
		}
		moved = len(keys.List)
		_, err = owner.Command(args...)
		return err
	})
	return moved, err
}

// CloseSlot makes this node the owner of the slot.
func (n *Node) CloseSlot(number int) error {
	return n.withOwner(number, func(owner *Node, mine, _ string) error {
		if _, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(number), "NODE", mine); err != nil {
			return err
		}
		_, err := owner.Command("CLUSTER", "SETSLOT", strconv.Itoa(number), "NODE", mine)
		return err
	})
}

// SlotOwner returns the node of a cluster that owns a slot, as the nodes that run say now.
// Where several say so, it is the one with the highest config epoch, as one that was
// replaced goes on until it has heard of that. It returns nil if no node says so, or this
// is not a cluster.
func (t *Topology) SlotOwner(number int) *Node { return t.slotOwner(number, nil) }

// slotOwner is SlotOwner among the other nodes than one.
func (t *Topology) slotOwner(number int, except *Node) (owner *Node) {
	var highest uint64
	for _, n := range t.nodes {
		if n == except {
			continue
		}
		n.Try(func(p cluster.Process) {
			m, ok := p.(*cluster.Member)
			if !ok {
				return
			}
			epoch, claims := m.ClaimOn(number)
			if claims && (owner == nil || epoch > highest) {
				owner, highest = n, epoch
			}
		})
	}
	return owner
}

// withOwner calls f with the other node that owns a slot, and the names of this one and of
// that one in the cluster.
func (n *Node) withOwner(number int, f func(owner *Node, mine, theirs string) error) error {
	if !n.topology.cfg.Plan.Cluster {
		return errors.New("topology: there are no slots: this is not a cluster")
	}
	if number < 0 || number >= slot.Count {
		return fmt.Errorf("topology: there is no slot %d", number)
	}
	owner := n.topology.slotOwner(number, n)
	if owner == nil {
		return fmt.Errorf("topology: no other node owns slot %d", number)
	}
	mine, err := n.Command("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	theirs, err := owner.Command("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	return f(owner, mine.Str, theirs.Str)
}
