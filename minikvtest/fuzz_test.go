package minikvtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/minikvtest"
)

// A fuzz test starts its server once, before its inputs.
func FuzzServerForAllInputs(f *testing.F) {
	s := minikvtest.Run(f)
	f.Add("a")
	f.Fuzz(func(t *testing.T, value string) {
		s.Set("key", value)
		s.CheckGet(t, "key", value)
		require.PanicsWithValue(t, "minikvtest: topology: m1: HSET: WRONGTYPE Operation against a key holding the wrong"+
			" kind of value", func() { s.HSet("key", "field", value) })
	})
}
