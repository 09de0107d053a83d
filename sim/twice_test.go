package sim

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/topology"
)

// tale is what each node goes through: its standings, one after the other.
type tale struct {
	mu    sync.Mutex
	nodes map[string][]string
}

func (t *tale) told(name string, s cluster.Standing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes == nil {
		t.nodes = map[string][]string{}
	}
	t.nodes[name] = append(t.nodes[name], s.String())
}

// tells reports whether node's latest standing contains text.
func (t *tale) tells(name, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.nodes[name]
	return len(list) > 0 && strings.Contains(list[len(list)-1], text)
}

// failover is one crash of m1 in a topology.
type failover struct {
	plan  cluster.Plan
	own   func(name string) map[string]string
	ended func(t *tale) bool
}

// virtually tells the failover in a simulated world.
func (f failover) virtually(t *testing.T, seed uint64) *tale {
	told := &tale{}
	w := NewWorld(Config{Seed: seed, Plan: f.plan, Locks: 1, Standing: told.told, Nodes: f.own,
		Delay: Range{time.Millisecond, 5 * time.Millisecond}, Lag: Range{time.Millisecond, 5 * time.Millisecond}})
	w.at(crashAfter, w.nodes[0].crash)
	require.NoError(t, w.Run(time.Minute))
	w.Stop()
	require.True(t, f.ended(told), told.nodes)
	return told
}

// really tells it by a topology, whose goroutines have the timers of the computer's
// clock. This is in a bubble, where that stands still while one of them can go on: what
// a node does within its timeout must not depend on what else the machine is busy with.
func (f failover) really(t *testing.T) *tale {
	told := &tale{}
	synctest.Test(t, func(t *testing.T) {
		top, err := topology.Start(topology.Config{Plan: f.plan, Own: f.own, Standing: told.told, InMemory: true,
			Delay: time.Millisecond})
		require.NoError(t, err)
		defer top.Close()
		time.Sleep(crashAfter)
		top.Node("m1").Kill()
		for began := time.Now(); !f.ended(told) && time.Since(began) < time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
	})
	return told
}

// crashAfter leaves the nodes time to greet each other.
const crashAfter = 3 * time.Second

// The same crash, told by the simulator and by a topology: every node goes through
// the same roles, epochs and states, in 20 of 20 runs.
func TestToldTwice(t *testing.T) {
	const runs = 20
	for name, f := range map[string]failover{
		"cluster 3x1": {
			plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true},
			own:  func(string) map[string]string { return map[string]string{"cluster-node-timeout": "2000"} },
			ended: func(t *tale) bool {
				for _, n := range []string{"m2", "m3", "r1", "r2", "r3"} {
					if !t.tells(n, "epoch=7 ok") {
						return false
					}
				}
				return true
			},
		},
		"sentinel 1x2": {
			plan: cluster.Plan{Masters: 1, Replicas: 2, Sentinels: 3, DownAfter: 2 * time.Second},
			own: func(name string) map[string]string {
				return map[string]map[string]string{"r1": {"replica-priority": "10"}}[name]
			},
			ended: func(t *tale) bool {
				return t.tells("s1", "names 2") && t.tells("s2", "names 2") && t.tells("s3", "names 2") &&
					t.tells("r2", "follows 2")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expected := f.virtually(t, 1)
			t.Log(expected.nodes)
			for range runs {
				require.Equal(t, expected.nodes, f.really(t).nodes)
			}
			for seed := uint64(2); seed <= runs; seed++ {
				require.Equal(t, expected.nodes, f.virtually(t, seed).nodes, "seed %d", seed)
			}
		})
	}
}
