package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFaultsEndInAgreement crashes, restarts, cuts off and fails over nodes at
// random. At every moment no two masters may hold a slot by the same
// configEpoch; when the faults have ended all nodes must agree.
func TestFaultsEndInAgreement(t *testing.T) {
	for seed := range 12 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			draw := source(uint64(seed)*77 + 5)
			pick := func(n int) int { return int(draw() >> 20 % uint64(n)) }
			net := newClusterNet(t, 3, 2)
			net.run(2 * time.Second)
			won := map[uint64]string{} // who has become master by an epoch
			for range 25 {
				net.fault(pick)
				for range 20 {
					net.run(time.Duration(50+pick(200)) * time.Millisecond)
					net.onlyOneByEpoch(won)
				}
			}
			net.heal()
			for _, m := range net.members {
				if m.dead {
					net.restart(m.ID(), true)
				}
			}
			net.agree(60 * time.Second)
			net.run(20 * time.Second)
			net.agree(0)
			net.onlyOneByEpoch(won)
			for _, m := range net.members {
				b := net.bus(m.ID())
				if b.self.isReplica() {
					require.True(t, b.self.master.isMaster(), "node %d\n%s", m.ID(), net.nodes(m.ID()))
				}
			}
		})
	}
}

// fault does one thing to the nodes. At most two of them are dead at a time.
func (net *busNet) fault(pick func(n int) int) {
	id := ID(1 + pick(len(net.members)))
	dead := 0
	for _, m := range net.members {
		if m.dead {
			dead++
		}
	}
	m := net.members[id-1]
	switch what := pick(6); {
	case m.dead:
		net.restart(id, what > 0)
	case what < 2 && dead < 2:
		net.kill(id)
	case what < 4:
		var here, there []ID
		for _, m := range net.members {
			if pick(2) == 0 {
				here = append(here, m.ID())
			} else {
				there = append(there, m.ID())
			}
		}
		net.partition(here, there)
	case what == 4:
		net.heal()
	default:
		net.do(id, "CLUSTER FAILOVER "+[]string{"FORCE", ""}[pick(2)])
	}
}

// onlyOneByEpoch checks that elections had one winner each.
func (net *busNet) onlyOneByEpoch(won map[uint64]string) {
	for _, m := range net.members {
		b := net.bus(m.ID())
		if !b.self.isMaster() || b.self.slotCount == 0 {
			continue
		}
		epoch := b.self.configEpoch
		if won[epoch] == "" {
			won[epoch] = b.self.name
		}
		if won[epoch] != b.self.name {
			require.Fail(net.t, fmt.Sprintf("two masters by epoch %d", epoch), strings.Join(net.log, "\n"))
		}
	}
}
