package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// examples are the commands that the README and the commands' help show, each with where.
func examples(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, file := range []string{"README.md", "docs/matrix.md"} {
		for _, block := range regexp.MustCompile("(?ms)^```(?:sh)?\n(.*?)^```").FindAllStringSubmatch(
			contents(t, "../../"+file), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", "")) {
				line, _, _ = strings.Cut(line, " #")
				if line = strings.TrimPrefix(strings.TrimSpace(line), "nice "); strings.HasPrefix(line, "locksim ") {
					list[line] = file
				}
			}
		}
	}
	for _, c := range newRoot().Commands() {
		for line := range strings.Lines(c.Example) {
			list[strings.TrimSpace(line)] = c.Name() + " --help"
		}
	}
	return list
}

// Each example does what it says, in a folder that has the files which it names: long
// searches are made short, and a server is not waited for.
func TestExamples(t *testing.T) {
	list := examples(t)
	require.Greater(t, len(list), 30)
	t.Chdir(t.TempDir())
	pause, err := sim.Find("pause_outlives_lease")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"my.scenario": pause.Text(), "found.scenario": pause.Text(),
		"my.lua": "return redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[1])", "before.redis": "set lock:1 other\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	for _, example := range []string{"locksim hunt contention --faults pause,amnesia --root 7",
		"locksim run contention --trace jsonl > events.jsonl"} { // what others read
		require.Contains(t, list, example)
		runExample(t, example)
	}
	for _, example := range slices.Sorted(maps.Keys(list)) { //tidy:unordered sorted
		if !strings.Contains(example, " serve") {
			t.Run(list[example], func(t *testing.T) { runExample(t, example) })
		}
	}
}

// runExample runs a command as a shell would.
func runExample(t *testing.T, example string) {
	t.Helper()
	command, file, _ := strings.Cut(example, " > ")
	command = strings.Replace(command, "--clients 10000 --for 60s", "--clients 100 --for 5s", 1)
	command = strings.Replace(command, " --orders", "", 1)
	command = regexp.MustCompile(`--(seeds|find) \d{3,}`).ReplaceAllString(command, "--$1 4")
	if strings.HasPrefix(command, "locksim matrix ") {
		if !strings.Contains(command, " --rows ") && !strings.Contains(command, " --cells ") {
			command += " --cells 2/redisson/mutex"
		}
		command += " --seeds 4" // the last one counts
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), strings.Fields(command)[1:], &out, &errs)
	require.Contains(t, []int{exitExpected, exitDiffers}, code, "%s\n%s", command, errs.String())
	if file != "" {
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o666))
	}
}
