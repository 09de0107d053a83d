package goredis_test

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	adapter "minikv/lockclient/rueidis"
)

// The adapter of rueidis keeps the same contract, so its tests are these.

// newRueidis makes a transport over rueidis with the options of NewClient: it turns
// on the tracking of its cache when it connects.
func newRueidis(t *testing.T, addr string, db int) (lockclient.Transport, error) {
	client, err := adapter.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, SelectDB: db,
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(client.Close)
	return adapter.New(t.Context(), client)
}

// connectRueidis is the connector of rueidis.
func connectRueidis(t *testing.T, addr string) (*proxy, lockclient.Transport) {
	t.Helper()
	p := newProxy(t, addr)
	transport, err := newRueidis(t, p.addr(), 0)
	require.NoError(t, err)
	return p, transport
}

// overRueidis is the Env of rueidis.
func overRueidis(t *testing.T, addr string) sockets {
	return sharing(t, func(_ string, db int) (lockclient.Transport, error) { return newRueidis(t, addr, db) })
}
