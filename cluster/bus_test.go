package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLayoutIsAWorkingCluster(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	t.Log(net.nodes(1))
	for id := ID(1); id <= 6; id++ {
		require.Equal(t, clusterOK, net.bus(id).state)
		require.Len(t, net.bus(id).peers, 6)
		for _, p := range net.bus(id).peers {
			require.Zero(t, p.flags&(flagPFail|flagFail))
			require.True(t, p.link != nil || p.flags&flagSelf != 0)
		}
	}
	net.expect(1, "SET a 1", "(error) MOVED 15495 127.0.0.1:21402", "SET b 1", "OK")
}

func TestACrashedMasterIsReplaced(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	net.do(1, "SET b 1")
	net.run(2 * time.Second)
	net.kill(1)
	took := net.until(6*time.Second, "replica 4 is master", func() bool { return net.bus(4).self.isMaster() })
	t.Log(took, "\n", net.log)
	net.until(2*time.Second, "all agree", func() bool {
		for id := ID(2); id <= 6; id++ {
			if net.bus(id).owner(0).name != net.name(4) || net.bus(id).state != clusterOK {
				return false
			}
		}
		return true
	})
	t.Log(net.nodes(2))
	net.restart(1, true)
	net.until(3*time.Second, "1 is a replica of 4", func() bool { return net.seen(5, 1).isReplica() })
	t.Log(net.nodes(1))
}
