package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// What nodes send while others have not started yet reaches these, however long that takes.
func TestNodesSendWhileOthersStart(t *testing.T) {
	top, err := Start(Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}, InMemory: true,
		Standing: func(string, cluster.Standing) { time.Sleep(400 * time.Millisecond) }})
	require.NoError(t, err)
	top.Close()
}
