package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/trace"
)

// A node that kills a client's sessions closes its connection, as redis-server does: what is under way
// fails at once, what comes after it goes over a new connection, and subscriptions are made anew.
func TestKilledConnections(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
		w, n := p.w, p.w.groups[0].master
		to := &transport{p: p, group: w.groups[0]}
		limited, cancel := rt.WithDeadline(root, time.Minute)
		defer cancel()
		heard, lost := 0, 0
		_, err := to.Subscribe(limited, "news", false, func(string) { heard++ }, func() { lost++ })
		require.NoError(t, err)
		_, err = to.Do(limited, "a", "SET", "a", "1")
		require.NoError(t, err)

		w.at(w.now+time.Second, func() {
			n.meddle(trace.Event{Kind: trace.Command, Actor: w.nemesis, Peer: n.actor}, "CLIENT", "KILL", "TYPE", "normal")
		})
		_, err = to.Do(limited, "", "BLPOP", "none", "0")
		require.ErrorIs(t, err, errReset)
		require.NotErrorIs(t, err, lockclient.ErrNotSent)
		require.Equal(t, time.Second, w.now.Truncate(100*time.Millisecond))

		_, err = to.Do(limited, "a", "GET", "a")
		require.NoError(t, err)
		p.pass(time.Second)
		require.Equal(t, 1, lost)
		_, err = to.Do(limited, "", "PUBLISH", "news", "1")
		require.NoError(t, err)
		p.pass(time.Second)
		require.Equal(t, 1, heard)
	}))
}
