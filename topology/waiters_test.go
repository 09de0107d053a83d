package topology

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nobody comes to servers that are closed: who waits for clients or their commands is told at once.
func TestWaitUntilClosed(t *testing.T) {
	for want, wait := range map[string]func(context.Context, *Topology) error{
		`clients that wait for "a": 0, not 1`: func(ctx context.Context, top *Topology) error {
			return top.WaitBlocked(ctx, "a", 1)
		},
		"fault 1 has struck 0 times, not 1": func(ctx context.Context, top *Topology) error {
			return top.WaitStruck(ctx, 1, 1)
		},
	} {
		want = "topology: " + want + ": the servers are closed"
		top := start(t, Config{Plan: alone, InMemory: true})
		_, err := top.Inject(Fault{Close: true})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		told := make(chan error, 1)
		go func() { told <- wait(ctx, top) }()
		top.Close()
		require.EqualError(t, <-told, want)
		require.EqualError(t, wait(ctx, top), want)
	}
}
