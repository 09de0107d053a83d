package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/lockclient"
)

// A script of which replicas are asked follows the pointer of a slot that is on its way, as that of
// any other script is followed; WAIT then goes to the server that has run it.
func TestReplicatedScriptIsPointedOn(t *testing.T) {
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}, Locks: 1, Sync: true,
		Delay: Range{time.Millisecond, 5 * time.Millisecond}, Lag: Range{time.Millisecond, 5 * time.Millisecond}})
	c := oneClient(w, &Workload{})
	script := &lockclient.Script{Name: "set", Text: "return redis.call('SET', KEYS[1], ARGV[1])", SHA: "0"}
	asked := false
	c.p.spawn(func() {
		to, rt := &transport{p: c.p, group: w.groups[0]}, clientRuntime{c.p}
		c.p.pass(5 * time.Second)
		applyMove(&runner{w: w, clients: w.clients}, Step{Verb: "move", Args: []string{"a", "m1"},
			Opts: []Option{{"step", "open"}}})
		ctx, cancel := rt.WithDeadline(&simCtx{p: c.p, parent: context.Background()}, time.Minute)
		defer cancel()
		for _, text := range []string{"1", "2"} { // the second one is executed where the first one was
			reply, known, confirmed, err := to.EvalReplicated(ctx, script, []string{"a"}, []string{text}, time.Second)
			require.NoError(t, err)
			require.Equal(t, "OK", reply.Text)
			require.Equal(t, []int64{1, 1}, []int64{known, confirmed})
		}
		got, _ := w.nodes[0].engine.Keyspace().DB(0).PeekString([]byte("a"))
		require.Equal(t, "2", got)
		asked = true
	})
	require.NoError(t, w.Run(time.Minute))
	w.Stop()
	require.True(t, asked)
}
