package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/lockclient/locktest"
)

// virtual is a locktest.Env in simulated time, over three masters: all processes
// of a contract are tasks of one simulated process.
type virtual struct{ p *process }

func (v virtual) Context() context.Context {
	return &simCtx{p: v.p, parent: context.Background()}
}

func (v virtual) Runtime() lockclient.Runtime { return clientRuntime(v) }

func (v virtual) Transport(master int) (lockclient.Transport, error) {
	return &transport{p: v.p, group: v.p.w.groups[master]}, nil
}

func (v virtual) Stall() time.Duration { return 0 }

func (v virtual) Stalled() time.Duration { return 0 }

// Every kind keeps its contracts in simulated time, where nothing but what it
// does itself can make it late.
func TestContracts(t *testing.T) {
	lua := NewLua()
	for _, kind := range locktest.Kinds() {
		for _, contract := range locktest.Contracts() {
			if !contract.Applies(kind) {
				continue
			}
			for seed := range uint64(3) {
				w := NewWorld(Config{Seed: seed, Lua: lua, Plan: cluster.Plan{Masters: 3}, Locks: 1,
					Delay: Range{time.Millisecond, 5 * time.Millisecond}})
				p := oneClient(w, &Workload{}).p
				var broken error
				ended := false
				w.at(0, func() {
					p.spawn(func() {
						broken = contract.Run(virtual{p}, kind)
						ended = true
					})
				})
				err := w.Run(time.Hour)
				w.Stop()
				require.NoError(t, err, "%s: %s: seed %d", kind.Name, contract.Name, seed)
				require.True(t, ended, "%s: %s: seed %d", kind.Name, contract.Name, seed)
				if broken != nil {
					t.Errorf("seed %d: %v", seed, broken)
				}
			}
		}
	}
}
