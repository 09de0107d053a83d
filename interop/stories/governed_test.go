package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/slot"
	"minikv/sim"
)

// In a governed world the servers decide who is master: Sentinels, or a cluster. They
// know each other by their addresses, so that no link can be between them.
func (w *world) governed() bool { return w.story.World.Cluster || w.story.World.Watched > 0 }

// startGoverned starts what a governed world has besides masters and replicas.
func (w *world) startGoverned() {
	if w.story.World.Cluster {
		w.joinCluster()
		return
	}
	spec := &w.story.World
	quorum := spec.Quorum
	if quorum == 0 {
		quorum = spec.Watched/2 + 1
	}
	for i := range spec.Watched {
		name := fmt.Sprintf("s%d", i+1)
		n := &node{name: name, address: w.places.address(name) + ":26379", master: name, folder: w.t.TempDir()}
		file := filepath.Join(n.folder, "sentinel.conf")
		text := fmt.Sprintf("port 26379\nbind %[1]s\nbind-source-addr %[1]s\nprotected-mode no\nsentinel announce-ip %[1]s\n"+
			"sentinel monitor mymaster %[2]s 6379 %[3]d\nsentinel down-after-milliseconds mymaster %[4]d\n",
			w.places.address(name), w.places.address("m1"), quorum, spec.Silence.Milliseconds())
		if spec.Failover > 0 {
			text += fmt.Sprintf("sentinel failover-timeout mymaster %d\n", spec.Failover.Milliseconds())
		}
		require.NoError(w.t, os.WriteFile(file, []byte(text), 0o600))
		n.options = []string{file, "--sentinel"}
		w.nodes[name] = n
		w.start(n)
	}
	for i := range spec.Watched {
		n := w.nodes[fmt.Sprintf("s%d", i+1)]
		w.eventually(n, "SENTINEL MASTER mymaster", fmt.Sprintf("num-slaves:%d", spec.Replicas))
		w.eventually(n, "SENTINEL MASTER mymaster", fmt.Sprintf("num-other-sentinels:%d", spec.Watched-1))
	}
}

// joinCluster makes a cluster of the servers, with redis-cli's slots.
func (w *world) joinCluster() {
	spec := &w.story.World
	for name, n := range w.nodes {
		if name != "m1" {
			w.must(w.nodes["m1"], "CLUSTER", "MEET", w.places.address(n.name), 6379)
		}
	}
	part := float64(slot.Count) / float64(spec.Masters)
	for i := range spec.Masters {
		first, last := int(float64(i)*part+0.5), int(float64(i+1)*part-1+0.5)
		w.must(w.nodes[fmt.Sprintf("m%d", i+1)], "CLUSTER", "ADDSLOTSRANGE", first, last)
	}
	known := fmt.Sprintf("cluster_known_nodes:%d", len(w.nodes))
	for _, n := range w.nodes {
		w.eventually(n, "CLUSTER INFO", known)
		w.eventually(n, "CLUSTER INFO", "cluster_state:ok")
	}
	for _, n := range w.nodes {
		if n.master != n.name {
			w.must(n, "CLUSTER", "REPLICATE", w.must(w.nodes[n.master], "CLUSTER", "MYID"))
		}
	}
	for _, n := range w.nodes {
		for _, replica := range w.nodes {
			if replica.master != replica.name {
				id := w.must(w.nodes[replica.master], "CLUSTER", "MYID")
				w.eventually(n, "CLUSTER NODES", fmt.Sprintf("slave %v", id))
			}
		}
	}
}

// must is the answer to a command that works.
func (w *world) must(n *node, words ...any) any {
	answer, err := n.do(words...)
	require.NoError(w.t, err, "%s: %v", n.name, words)
	return answer
}

// move moves the slot of a key to another master, or does one step of that.
func (w *world) move(s sim.Step) error {
	to, number, step := w.nodes[s.Args[1]], int(slot.Of([]byte(s.Args[0]))), option(s, "step")
	from := w.owner(number)
	if from == nil || from == to {
		return nil
	}
	fromID, toID := w.must(from, "CLUSTER", "MYID"), w.must(to, "CLUSTER", "MYID")
	if step == "" || step == "open" {
		w.must(to, "CLUSTER", "SETSLOT", number, "IMPORTING", fromID)
		w.must(from, "CLUSTER", "SETSLOT", number, "MIGRATING", toID)
	}
	if step == "" || step == "keys" {
		keys, _ := w.must(from, "CLUSTER", "GETKEYSINSLOT", number, 1000).([]any)
		if len(keys) > 0 {
			w.must(from, append([]any{"MIGRATE", w.places.address(to.name), 6379, "", 0, 5000, "KEYS"}, keys...)...)
		}
	}
	if step == "" || step == "close" {
		w.must(to, "CLUSTER", "SETSLOT", number, "NODE", toID)
		w.must(from, "CLUSTER", "SETSLOT", number, "NODE", toID)
	}
	return nil
}

// owner is the master that says it has a slot.
func (w *world) owner(number int) *node {
	for _, n := range w.nodes {
		role, err := n.do("ROLE")
		if list, ok := role.([]any); err != nil || !ok || list[0] != "master" {
			continue
		}
		slots, err := n.do("CLUSTER", "SLOTS")
		list, _ := slots.([]any)
		if err != nil {
			continue
		}
		for _, r := range list {
			r := r.([]any)
			if r[0].(int64) <= int64(number) && int64(number) <= r[1].(int64) && r[2].([]any)[0] == w.places.address(n.name) {
				return n
			}
		}
	}
	return nil
}

// parameters are the options of a governed world's server.
func (w *world) parameters(name string) []string {
	address := w.places.address(name)
	options := []string{"--bind", address, "--bind-source-addr", address, "--port", "6379", "--protected-mode", "no"}
	if w.story.World.Cluster {
		options = append(options, "--cluster-enabled", "yes", "--cluster-announce-ip", address)
		if silence := w.story.World.Silence; silence > 0 {
			options = append(options, "--cluster-node-timeout", strconv.FormatInt(int64(silence/time.Millisecond), 10))
		}
	}
	return options
}
