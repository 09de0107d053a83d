package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	of := func(p Plan) (list []string) {
		for i, name := range p.Names() {
			if id := ID(i + 1); !p.IsSentinel(id) {
				name += ">" + p.Names()[p.MasterOf(id)-1]
			}
			list = append(list, name)
		}
		require.NoError(t, p.Check())
		require.Len(t, list, p.Size())
		return list
	}
	require.Equal(t, []string{"m1>m1", "m2>m2", "r1>m1", "r2>m1", "r3>m2", "r4>m2", "s1"},
		of(Plan{Masters: 2, Replicas: 2, Sentinels: 1}))
	require.Equal(t, []string{"m1>m1", "m2>m2", "m3>m3", "r1>m2", "r2>m2", "s1"},
		of(Plan{Masters: 3, Replicas: 2, Only: 2, Sentinels: 1}))
	require.NoError(t, Plan{Masters: 1000}.Check())
	require.NoError(t, Plan{Masters: 10, Replicas: 98, Sentinels: 10}.Check())
	require.Error(t, Plan{Masters: 10, Replicas: 98, Sentinels: 11}.Check())
	require.NoError(t, Plan{Masters: 2, Replicas: 1, Only: 2}.Check())
	require.Error(t, Plan{Masters: 2, Replicas: 1, Only: 3}.Check())
	require.Error(t, Plan{Masters: 2, Replicas: 1, Only: 1, Cluster: true}.Check())
}
