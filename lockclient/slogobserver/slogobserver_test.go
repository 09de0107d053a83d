package slogobserver_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/slogobserver"
)

// What an operator should see is a warning: losses and errors, but not that a
// lock was taken by somebody else.
func TestNew(t *testing.T) {
	var log bytes.Buffer
	observe := slogobserver.New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	for _, e := range []lockclient.Event{
		{Kind: lockclient.Acquired, Wait: time.Second, Attempts: 2},
		{Kind: lockclient.Failed, Wait: time.Second, Attempts: 1, Err: fmt.Errorf("x: %w", lockclient.ErrNotAcquired)},
		{Kind: lockclient.Failed, Attempts: 1, Err: lockclient.ErrUnknown},
		{Kind: lockclient.Renewed},
		{Kind: lockclient.Unrenewed, Err: lockclient.ErrUnknown},
		{Kind: lockclient.Released, Held: time.Minute},
		{Kind: lockclient.GivenBack, Err: lockclient.ErrUnknown},
		{Kind: lockclient.GivenBack},
		{Kind: lockclient.Lost, Held: time.Minute},
	} {
		e.Key, e.Owner = "k", "o"
		observe(e)
	}
	require.Equal(t, `level=DEBUG msg="lock acquired" key=k owner=o wait=1s attempts=2
level=DEBUG msg="lock failed" key=k owner=o wait=1s attempts=1 error="x: lock not acquired"
level=WARN msg="lock failed" key=k owner=o wait=0s attempts=1 error="outcome unknown"
level=DEBUG msg="lock renewed" key=k owner=o
level=WARN msg="lock unrenewed" key=k owner=o error="outcome unknown"
level=DEBUG msg="lock released" key=k owner=o held=1m0s
level=WARN msg="lock given back" key=k owner=o error="outcome unknown"
level=DEBUG msg="lock given back" key=k owner=o
level=WARN msg="lock lost" key=k owner=o held=1m0s
`, log.String())
}
