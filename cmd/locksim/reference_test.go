package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

var rewrite = flag.Bool("rewrite", false, "write the documents that the tests check")

// TestScenariosDocument keeps docs/scenarios.md to what a scenario file may say; -rewrite
// writes it.
func TestScenariosDocument(t *testing.T) {
	const file = "../../docs/scenarios.md"
	var b strings.Builder
	b.WriteString("<!-- written by: go test ./cmd/locksim -run TestScenariosDocument -rewrite -->\n" +
		"# Scenario files\n\nA scenario is a world, a story and what is expected of it. `locksim run FILE` runs one, " +
		"`locksim hunt FILE`\nlooks for faults that break it; `locksim help scenario` shows this page on a terminal. An " +
		"example:\n\n```\n" + sim.Sample + "```\n\nThe embedded ones, of `locksim list`, are in " +
		"[sim/scenarios](../sim/scenarios).\n")
	for _, p := range sim.Reference() {
		fmt.Fprintf(&b, "\n## %s\n", p.Title)
		if p.Text != "" {
			b.WriteString("\n" + p.Text + "\n")
		}
		if p.Words != nil {
			b.WriteString("\n| | |\n|---|---|\n")
		}
		for _, w := range p.Words {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(w.Usage, "|", "\\|"), w.About)
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "go test ./cmd/locksim -run %s -rewrite", t.Name())
}

// The example of the reference is a scenario that goes as it says; what is shown fits on a
// terminal, and is all that there is.
func TestReference(t *testing.T) {
	sample, err := sim.ParseScenario("sample", sim.Sample)
	require.NoError(t, err)
	report, err := sample.Run(t.Context(), sim.Options{Seed: sample.Seed})
	require.NoError(t, err)
	require.True(t, report.AsExpected())
	code, out, stderr := locksim("help", "scenario")
	require.Zero(t, code, stderr)
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 100, line)
	}
	_, plural, _ := locksim("help", "scenarios")
	require.Equal(t, out, plural)
	_, offered, _ := locksim("__complete", "help", "s")
	require.Contains(t, offered, "scenario\tWhat a scenario file may say\n")
	require.Contains(t, offered, "serve\t")
	shown := strings.Join(strings.Fields(out), " ")
	for _, p := range sim.Reference() {
		require.Contains(t, shown, strings.Join(strings.Fields(p.Text), " "))
		for _, w := range p.Words {
			require.Contains(t, shown, w.Usage)
			require.Contains(t, shown, strings.Join(strings.Fields(w.About), " "))
		}
	}
}
