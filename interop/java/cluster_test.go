package java

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"minikv/cluster"
	"minikv/internal/slot"
	"minikv/lockclient"
	"minikv/topology"
)

// The host that nodes announce, where their wires are, and the one where they are
// themselves, on the same ports. No connection comes from either, so that what listens
// there finds its port free when it comes back; and both are this process's alone, as those
// of another one may otherwise be on a port whose node is down here.
var wireHost, nodeHost = ownHost(2), ownHost(3)

func ownHost(last byte) string {
	pid := os.Getpid()
	return net.IPv4(127, byte(pid>>8), byte(pid), last).String()
}

func behindWire(address string) string { return strings.Replace(address, wireHost, nodeHost, 1) }

// connectCluster connects to nodes of a cluster beside their wires.
func connectCluster(t *testing.T, addresses []string) *lockclient.Client {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, behindWire(address))
		}})
	return clientOver(t, rdb, false)
}

// warm are keys that have each master learn the scripts.
func (s *stage) warm() (keys []string) {
	if !s.cluster {
		return []string{"warm"}
	}
	for i := range masters {
		if s.strange && i > 0 {
			break
		}
		key := ""
		for n := 0; key == "" || !s.owns(i, key); n++ {
			key = fmt.Sprint("warm:", n)
		}
		keys = append(keys, key)
	}
	return keys
}

// owns reports whether a master of a cluster has the slot of a key.
func (s *stage) owns(master int, key string) (mine bool) {
	s.node("m%d", master).Do(func(p cluster.Process) {
		mine = p.(*cluster.Member).Topology().Slot(slot.OfString(key)).Mine
	})
	return mine
}

// scanInterval is scanInterval, as Redisson has it by default.
const scanInterval = 5 * time.Second

// beginning is when the story begins: so that Redisson asks for the slots when it shall.
func (s *stage) beginning() time.Time {
	soon := time.Now().Add(ahead)
	if s.scan == 0 {
		return soon
	}
	begun := s.lastScan().Add(scanInterval - s.scan)
	if begun.Before(soon) {
		begun = begun.Add(scanInterval)
	}
	return begun
}

// lastScan is when it has asked for the slots last.
func (s *stage) lastScan() (last time.Time) {
	for _, w := range s.wires {
		w.mu.Lock()
		if w.scanned.After(last) {
			last = w.scanned
		}
		w.mu.Unlock()
	}
	return last
}

// event does what happens to servers, and to clients that stand still.
func (s *stage) event(m mishap) func() {
	replica := s.node("r%d", m.master)
	return map[string]func(){
		"deleted":  func() { s.servers[m.master].Del(context.Background(), lockKey) },
		"endless":  func() { s.servers[m.master].Persist(context.Background(), lockKey) },
		"unknown":  func() { s.servers[m.master].ScriptFlush(context.Background()) },
		"told":     func() { s.servers[m.master].Publish(context.Background(), lockChannel, "0") },
		"reads":    func() { s.servers[m.master].SlaveOf(context.Background(), "127.0.0.1", "1") },
		"writes":   func() { s.servers[m.master].SlaveOf(context.Background(), "NO", "ONE") },
		"held":     func() { _ = replica.HoldReplication() },
		"flows":    func() { replica.ReleaseReplication() },
		"crashed":  func() { replica.Kill() },
		"promoted": func() { s.promote(replica) },
		"freed":    func() { s.free(replica) },
		"opened":   func() { s.openSlot(m.master) },
		"taken":    func() { s.openSlot(m.master); s.moveKeys(m.master) },
		"closed":   func() { s.closeSlot(m.master) },
		"moved":    func() { s.openSlot(m.master); s.closeSlot(m.master) },
		"still":    func() { s.agent.stop(m.by) },
		"down":     func() { s.end(m.master) },
		"up":       func() { s.begin(m.master) },
	}[m.what]
}

// end has a master be down: behind its wire, and in a cluster also for the others.
func (s *stage) end(master int) {
	s.wires[master].down()
	if s.cluster {
		s.node("m%d", master).Kill()
	}
}

// promote has a replica be master, whoever else is: nothing of what the nodes notice by
// themselves is as punctual.
func (s *stage) promote(replica *topology.Node) {
	_, err := replica.Command("CLUSTER", "FAILOVER", "TAKEOVER")
	assert.NoError(s.wires[0].t, err)
}

// free ends the lock on a node, and tells those who wait for it.
func (s *stage) free(n *topology.Node) {
	for _, command := range [][]string{{"DEL", lockKey}, {"SPUBLISH", lockChannel, "0"}} {
		_, err := n.Command(command...)
		assert.NoError(s.wires[0].t, err)
	}
}

func (s *stage) begin(master int) {
	if s.cluster {
		_ = s.node("m%d", master).Restart(true)
	}
	s.wires[master].up()
}

// The steps of moving the lock's slot to a master. The end of it takes along the keys
// that are left.

func (s *stage) openSlot(master int) {
	assert.NoError(s.wires[0].t, s.node("m%d", master).OpenSlot(slot.OfString(lockKey)))
}

func (s *stage) moveKeys(master int) {
	_, err := s.node("m%d", master).MoveKeys(slot.OfString(lockKey), 1000)
	assert.NoError(s.wires[0].t, err)
}

func (s *stage) closeSlot(master int) {
	s.moveKeys(master)
	assert.NoError(s.wires[0].t, s.node("m%d", master).CloseSlot(slot.OfString(lockKey)))
}
