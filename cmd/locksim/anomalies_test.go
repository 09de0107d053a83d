package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/lockclient/locktest"
	"minikv/sim"
)

// docs/anomalies.md names scenarios and contracts that exist, and marks those
// scenarios whose guards the mutations take out.
func TestAnomaliesAreShown(t *testing.T) {
	text, err := os.ReadFile("../../docs/anomalies.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, s := range sim.Library() {
		known[s.Name] = true
	}
	for _, c := range locktest.Contracts() {
		known[c.Name] = true
	}
	guarded := map[string]bool{}
	for _, m := range mutations {
		if strings.HasPrefix(m.scenario, "matrix:") {
			continue // the world of a cell, which docs/matrix.md tells of
		}
		require.True(t, known[m.scenario], m.scenario)
		require.Contains(t, string(text), "`"+m.scenario+"` †")
		guarded[m.scenario] = true
	}
	for _, m := range serverMutations {
		require.Contains(t, string(text), "| "+strings.Replace(m.guard, ": ", " | ", 1)+" | `"+m.scenario+"`")
	}
	named := regexp.MustCompile("`([a-z]+(?:_[a-z]+){2,})`( †)?")
	for _, line := range strings.Split(string(text), "\n") {
		for _, name := range named.FindAllStringSubmatch(line, -1) {
			require.True(t, known[name[1]], "%s: %s", name[1], line)
			require.Equal(t, guarded[name[1]], name[2] != "", "%s: %s", name[1], line)
		}
	}
}
