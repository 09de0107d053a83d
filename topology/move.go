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

// withOwner calls f with the node that says that it owns a slot, and the names
// of this one and of that one in the cluster.
func (n *Node) withOwner(number int, f func(owner *Node, mine, theirs string) error) error {
	if !n.topology.cfg.Plan.Cluster {
		return errors.New("topology: there are no slots: this is not a cluster")
	}
	if number < 0 || number >= slot.Count {
		return fmt.Errorf("topology: there is no slot %d", number)
	}
	for _, other := range n.topology.nodes {
		owns := false
		other.Do(func(p cluster.Process) { owns = p.(*cluster.Member).Topology().Slot(number).Mine })
		if !owns || other == n {
			continue
		}
		mine, err := n.Command("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		theirs, err := other.Command("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		return f(other, mine.Str, theirs.Str)
	}
	return fmt.Errorf("topology: no other node owns slot %d", number)
}
