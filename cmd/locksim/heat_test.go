package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/matrix"
)

const storeAgain = "write it anew: " +
	"locksim matrix --seeds 100 --find 3000 --shrink --format json > sim/matrix/stored.jsonl"

// TestStoredMatrix: the stored matrix has the cells of the rows with their reasons, and
// each of its violations is one, today.
func TestStoredMatrix(t *testing.T) {
	var expected, stored []string
	reasons := map[string]string{}
	for _, r := range matrix.Rows() {
		for i := range r.Cells {
			c := &r.Cells[i]
			expected = append(expected, c.String())
			reasons[c.String()] = c.Reason
		}
	}
	lua := sim.NewLua()
	violated := 0
	for i := range storedCells() {
		c := &storedCells()[i]
		stored = append(stored, c.Name())
		require.Equal(t, reasons[c.Name()], c.Reason, "%s: %s", c.Name(), storeAgain)
		s, err := runOf(c)
		require.NoError(t, err, storeAgain)
		if c.Verdict != "violated" {
			continue
		}
		violated++
		require.NotNil(t, s, c.Name())
		require.True(t, strings.HasPrefix(s.Name, cellPrefix), c.Name())
		again, err := find(s.Name)
		require.NoError(t, err)
		require.Equal(t, s, again)
		r, err := s.Run(t.Context(), sim.Options{Seed: s.Seed, Lua: lua})
		require.NoError(t, err)
		require.Equal(t, "violated", r.Results[0].Verdict.String(), "%s: %s", c.Name(), storeAgain)
	}
	require.Greater(t, violated, 100)
	require.Equal(t, expected, stored, storeAgain)
}

// TestListedDisagreements: what docs/matrix.md lists with its replay line is violated.
func TestListedDisagreements(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "matrix.md"))
	require.NoError(t, err)
	_, list, found := strings.Cut(string(text), "\n## Where runs disagree with what was expected\n")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n## ")
	lines := regexp.MustCompile("`locksim run (matrix:\\S+) --seed (\\d+)`").FindAllStringSubmatch(list, -1)
	require.Len(t, lines, 12)
	for _, line := range lines {
		s, err := find(line[1])
		require.NoError(t, err)
		seed, err := strconv.ParseUint(line[2], 10, 64)
		require.NoError(t, err)
		r, err := s.Run(t.Context(), sim.Options{Seed: seed})
		require.NoError(t, err)
		require.Equal(t, "violated", r.Results[0].Verdict.String(), line[0])
	}
}

// TestRowsAreTold: docs/matrix.md tells what each row is, and names its variants.
func TestRowsAreTold(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "matrix.md"))
	require.NoError(t, err)
	for _, r := range matrix.Rows() {
		_, line, found := strings.Cut(string(text), fmt.Sprintf("\n| %d | %s |", r.Number, r.Title))
		require.True(t, found, r.Number)
		line, _, _ = strings.Cut(line, "\n")
		for _, v := range r.Variants {
			require.Contains(t, line, "`"+v.Name+"`", r.Number)
		}
	}
}

// TestServedMatrix: each cell that was run leads to a run of it, which can be branched.
func TestServedMatrix(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	_, index := get(t, server.URL)
	require.Contains(t, index, `<a href="/matrix">`)
	code, text := get(t, server.URL+"/matrix")
	require.Equal(t, http.StatusOK, code)
	there := strings.Count(text, `<td role="cell" class="`) - strings.Count(text, `class="none"`)
	require.Equal(t, len(storedCells()), there)
	links := regexp.MustCompile(`href="(/run/[^"]+)"`).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(links), 500)

	for name, want := range map[string][]string{
		"cell:2/redisson/mutex": {"mutex, as Redisson&#39;s client behaves, in row 2", "<b>exclusion</b> violated",
			"shortest story", "<code>locksim run cell:2/redisson/mutex</code>", `<a href="/matrix">`},
		"matrix:12/lockclient/mutex/exclusion": {"mutex, as lockclient behaves, in row 12", "<b>exclusion</b> holds",
			"the same search breaks"},
	} {
		code, text := get(t, server.URL+address(name, 1, nil))
		require.Equal(t, http.StatusOK, code, text)
		for _, one := range want {
			require.Contains(t, text, one)
		}
	}
	_, text = get(t, server.URL+address("cell:2/redisson/mutex", 1, []string{"at 10s crash m1"}))
	require.Contains(t, text, "branched")
	for _, bad := range []string{"cell:2/redisson/nothing", "cell:1/redisson/mutex"} {
		code, text := get(t, server.URL+address(bad, 1, nil))
		require.Equal(t, http.StatusUnprocessableEntity, code, text)
	}
	code, out, stderr := locksim("run", "cell:2/redisson/mutex")
	require.Zero(t, code, stderr)
	require.Contains(t, out, "replay: locksim run cell:2/redisson/mutex\n")
}

// TestMatrixFile: the matrix as a file leads to what was found, and with --pages to
// a page of each violation.
func TestMatrixFile(t *testing.T) {
	pages := filepath.Join(t.TempDir(), "cells")
	args := []string{"matrix", "--rows", "29", "--seeds", "60", "--format", "html"}
	code, text, stderr := locksim(append(args, "--pages", pages, "--shrink")...)
	require.Equal(t, exitExpected, code, stderr)
	links := regexp.MustCompile(`href="([^"]+[.]html)"`).FindAllStringSubmatch(text, -1)
	require.Len(t, links, 3, "violated cells")
	for _, link := range links {
		one, err := os.ReadFile(link[1])
		require.NoError(t, err)
		require.Contains(t, string(one), " violated:")
		require.Contains(t, string(one), "in row 29")
	}
	code, text, stderr = locksim(args...)
	require.Equal(t, exitExpected, code, stderr)
	require.Contains(t, text, "locksim matrix --seeds 60 --find 0 --root 1 --rows 29. A row is")
	require.Contains(t, text, `<a href="#29/redisson/mutex" class="cell"`)
	require.Contains(t, text, `<li id="29/redisson/mutex">`)
	require.Contains(t, text, "replay: locksim run matrix:29/redisson/mutex/guard --seed ")
	code, _, stderr = locksim(append(args, "--pages", filepath.Join(stderr, "heat_test.go", "x"))...)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "heat_test.go")
}

// TestMatrixCommand: the file of a part of the matrix names that part.
func TestMatrixCommand(t *testing.T) {
	require.Equal(t, "locksim matrix --seeds 9 --find 0 --root 2", (&matrixFlags{seeds: 9, root: 2}).command())
	const part = "locksim matrix --seeds 9 --find 5 --root 1 --rows 2,12 " +
		"--cells 2/redisson/mutex,12/redisson/fair --orders"
	f := matrixFlags{seeds: 9, find: 5, root: 1, rows: []int{2, 12}, orders: true}
	f.cells = []string{"2/redisson/mutex", "12/redisson/fair"}
	require.Equal(t, part, f.command())
}
