package sim

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewriteHashes = flag.Bool("rewrite", false, "write testdata/hashes.txt anew")

// Every architecture must go the same way: the hash of each embedded scenario
// with five seeds is on file. What changes the messages of a lock changes them:
// go test ./sim -run TestHashes -rewrite, on one architecture, for all.
func TestHashes(t *testing.T) {
	const file = "testdata/hashes.txt"
	var b strings.Builder
	b.WriteString("# The hashes of the embedded scenarios with seeds 1 to 5 are these on every machine.\n")
	lua := NewLua()
	for _, s := range Library() {
		fmt.Fprint(&b, s.Name)
		for seed := uint64(1); seed <= 5; seed++ {
			r, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua})
			require.NoError(t, err)
			fmt.Fprintf(&b, " %016x", uint64(r.Hash))
		}
		b.WriteString("\n")
	}
	if *rewriteHashes {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
