package main

import (
	"fmt"
	"strconv"
	"strings"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/topology"
)

var nodeVerbs = []verb{
	{words: "NODES", run: nodes, help: []string{
		"Return name, address, state (up, down, frozen) and role of every node. The role is nil if the node is",
		"not up."}},
	{words: "KILL", args: "<node>", least: 1, most: 1, run: onNode(kill), help: []string{
		"End a node at once, as SIGKILL does. A node is named as in NODES: m1, r1, s1, or by its address."}},
	{words: "RESTART", args: "<node> [KEEP|LOSE-ALL|LOSE <duration>]", least: 1, most: 3, run: onNode(restart),
		help: []string{
			"Start a node, which is killed first if it is up: with its data (the default), without any, or with what",
			"it had that long before its end, as from a disk that was synced then. LOSE reaches back a minute at",
			"least, or 16 MiB of writes."}},
	{words: "FREEZE", args: "<node>", least: 1, most: 1, run: onNode(freeze), help: []string{
		"Stop a node, as SIGSTOP does: connections stay open, nothing is answered. To thaw it, ask another",
		"node or the control port."}},
	{words: "THAW", args: "<node>", least: 1, most: 1, run: onNode(thaw), help: []string{
		"Let a frozen node go on."}},
	{words: "SLOW", args: "<node> <duration>", least: 2, most: 2, run: onNode(slow), help: []string{
		"Let every command of a node's clients take that long; 0 ends it. On a real clock the node does nothing",
		"else meanwhile, and the next SLOW, FREEZE or KILL ends the wait. On a virtual clock each command waits",
		"by itself."}},
	{words: "FAILOVER", args: "<replica>", least: 1, most: 1, run: failover, help: []string{
		"Begin a failover to a replica, without loss of writes: its master hands over. For one that may lose",
		"writes, HOLD the replica and KILL its master, where Sentinels or a cluster can promote the replica.",
		"In a cluster this is CLUSTER FAILOVER, which soon after another one may come to nothing without a",
		"word, as in Redis; send the replica CLUSTER FAILOVER TAKEOVER then."}},
	{words: "MOVE", args: "<slot> <node> [OPEN|KEYS <count>|CLOSE]", least: 2, most: 4, run: move, help: []string{
		"Move a slot of a cluster to a master, and return how many keys moved. Or take one step of that: OPEN",
		"makes the slot migrating and importing, KEYS moves that many keys, CLOSE gives it its new owner."}},
}

func nodes(t *topology.Topology, _ []string) (resp.Value, error) {
	var list []resp.Value
	for _, n := range t.Nodes() {
		state, role := "up", resp.Value{Kind: resp.Nil}
		awake := n.Try(func(p cluster.Process) { role = resp.Str(cluster.StandingOf(p).Role) })
		switch {
		case n.Down():
			state = "down"
		case !awake:
			state = "frozen"
		}
		list = append(list, resp.Pairs(resp.Str("name"), resp.Str(n.Name()), resp.Str("address"), resp.Str(n.Address()),
			resp.Str("state"), resp.Str(state), resp.Str("role"), role))
	}
	return resp.List(list...), nil
}

func kill(n *topology.Node, _ []string) error {
	n.Kill()
	return nil
}

func restart(n *topology.Node, args []string) error {
	how := "KEEP"
	if len(args) > 0 {
		how = strings.ToUpper(args[0])
	}
	switch {
	case how == "LOSE" && len(args) == 2:
		latest, err := duration(args[1])
		if err != nil {
			return err
		}
		return n.RestartLosing(latest)
	case len(args) > 1:
		return errSyntax
	case how == "KEEP":
		return n.Restart(true)
	case how == "LOSE-ALL":
		return n.Restart(false)
	}
	return errSyntax
}

func freeze(n *topology.Node, _ []string) error { return n.Freeze() }

func thaw(n *topology.Node, _ []string) error { return n.Thaw() }

func slow(n *topology.Node, args []string) error {
	each, err := duration(args[0])
	switch {
	case err != nil:
		return err
	case each < 0:
		return fmt.Errorf("slow %s: expected 0 or more", each)
	}
	n.Slow(each)
	return nil
}

func failover(t *topology.Topology, args []string) (resp.Value, error) {
	n, err := node(t, args[0])
	if err == nil {
		err = allAwake(t)
	}
	if err != nil {
		return resp.Value{}, err
	}
	return okay(n.TakeOver())
}

// allAwake is asked before what takes several nodes: a frozen one would be waited for.
func allAwake(t *topology.Topology) error {
	for _, n := range t.Nodes() {
		if n.Frozen() {
			return fmt.Errorf("%s is frozen", n.Name())
		}
	}
	return nil
}

// move is MOVE slot node [OPEN|KEYS count|CLOSE].
func move(t *topology.Topology, args []string) (resp.Value, error) {
	slot, err := strconv.Atoi(args[0])
	if err != nil {
		return resp.Value{}, fmt.Errorf("slot %q: expected a number", args[0])
	}
	to, err := node(t, args[1])
	if err != nil {
		return resp.Value{}, err
	}
	if err := allAwake(t); err != nil {
		return resp.Value{}, err
	}
	if len(args) == 2 {
		return moveAll(to, slot)
	}
	switch step := strings.ToUpper(args[2]); {
	case step == "OPEN" && len(args) == 3:
		return okay(to.OpenSlot(slot))
	case step == "CLOSE" && len(args) == 3:
		return okay(to.CloseSlot(slot))
	case step == "KEYS" && len(args) == 4:
		count, err := strconv.Atoi(args[3])
		if err != nil || count < 1 {
			return resp.Value{}, fmt.Errorf("keys %q: expected a number from 1", args[3])
		}
		moved, err := to.MoveKeys(slot, count)
		return resp.Int(int64(moved)), err
	}
	return resp.Value{}, errSyntax
}

// moveAll moves a slot with all its keys.
func moveAll(to *topology.Node, slot int) (resp.Value, error) {
	const atOnce = 100
	if err := to.OpenSlot(slot); err != nil {
		return resp.Value{}, err
	}
	total := 0
	for {
		moved, err := to.MoveKeys(slot, atOnce)
		if err != nil {
			return resp.Value{}, err
		}
		if total += moved; moved == 0 {
			return resp.Int(int64(total)), to.CloseSlot(slot)
		}
	}
}

var networkVerbs = []verb{
	{words: "PARTITION", args: "<node>[,<node> ...] <node>[,<node> ...] [ONEWAY]", least: 2, most: 3, run: partition,
		help: []string{
			"Cut the connections between the nodes of the first list and those of the second; with ONEWAY only what",
			"the first send to the second. What nodes send each other waits until HEAL. Clients are not cut off."}},
	{words: "HEAL", run: heal, help: []string{
		"End all partitions: what has waited is delivered."}},
	{words: "HOLD", args: "<replica>", least: 1, most: 1, run: onNode(hold), help: []string{
		"Hold back what masters send to a replica."}},
	{words: "RELEASE", args: "<replica>", least: 1, most: 1, run: onNode(release), help: []string{
		"Deliver what HOLD has held back."}},
	{words: "DROP", args: "<from> <to> <count>", least: 3, most: 3, run: drop, help: []string{
		"Lose the next <count> messages from one node to another: as over TCP, they and what follows arrive a",
		"second later."}},
	{words: "DELAY", args: "<from> <to> <count> <duration>", least: 4, most: 4, run: delay, help: []string{
		"Let the next <count> messages from one node to another come <duration> later."}},
}

func partition(t *topology.Topology, args []string) (resp.Value, error) {
	a, b := strings.Split(strings.ToLower(args[0]), ","), strings.Split(strings.ToLower(args[1]), ",")
	switch {
	case len(args) == 2:
		return okay(t.Partition(a, b))
	case strings.EqualFold(args[2], "ONEWAY"):
		return okay(t.PartitionOneWay(a, b))
	}
	return resp.Value{}, errSyntax
}

func heal(t *topology.Topology, _ []string) (resp.Value, error) {
	t.Heal()
	return done, nil
}

func hold(n *topology.Node, _ []string) error { return n.HoldReplication() }

func release(n *topology.Node, _ []string) error {
	n.ReleaseReplication()
	return nil
}

func drop(t *topology.Topology, args []string) (resp.Value, error) {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return resp.Value{}, fmt.Errorf("count %q: expected a number", args[2])
	}
	return okay(t.Drop(strings.ToLower(args[0]), strings.ToLower(args[1]), count))
}

func delay(t *topology.Topology, args []string) (resp.Value, error) {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return resp.Value{}, fmt.Errorf("count %q: expected a number", args[2])
	}
	by, err := duration(args[3])
	if err != nil {
		return resp.Value{}, err
	}
	return okay(t.Delay(strings.ToLower(args[0]), strings.ToLower(args[1]), count, by))
}
