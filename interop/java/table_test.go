package java

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// document has the table between these two lines.
const (
	document   = "../../docs/interop.md"
	tableBegin = "<!-- interop/run.sh -rewrite writes what follows -->\n\n"
	tableEnd   = "\n<!-- to here -->\n"
)

// table is what a run found, a column for each Redisson on each server.
type table struct {
	columns []string
	rows    []string
	cells   map[[2]string]string // by row and column
}

// set notes a result. Rows and columns appear in the order of their first one.
func (t *table) set(row, column, cell string) {
	t.columns = add(t.columns, column)
	t.rows = add(t.rows, row)
	t.cells[[2]string{row, column}] = cell
}

func add(names []string, name string) []string {
	for _, known := range names {
		if known == name {
			return names
		}
	}
	return append(names, name)
}

// markdown pads its columns, so that it can be read on a terminal too.
func (t *table) markdown() string {
	lines := [][]string{append([]string{"kind, direction"}, t.columns...)}
	lines = append(lines, make([]string, len(t.columns)+1))
	for _, row := range t.rows {
		line := []string{row}
		for _, column := range t.columns {
			line = append(line, t.cells[[2]string{row, column}])
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(t.columns)+1)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var text strings.Builder
	for n, line := range lines {
		filler := " "
		if n == 1 {
			filler = "-"
		}
		for i, cell := range line {
			fmt.Fprintf(&text, "|%s%s%s%s", filler, cell, strings.Repeat(filler, widths[i]-len(cell)), filler)
		}
		text.WriteString("|\n")
	}
	return text.String()
}

var times = regexp.MustCompile(`\d+ ms *`)

// compare requires the document to have this table, whatever times it shows, or
// writes it there.
func (t *table) compare(test *testing.T, rewrite bool) {
	content, err := os.ReadFile(document)
	require.NoError(test, err)
	before, rest, found := strings.Cut(string(content), tableBegin)
	require.True(test, found, "%s has no %q", document, tableBegin)
	recorded, after, found := strings.Cut(rest, tableEnd)
	require.True(test, found, "%s has no %q", document, tableEnd)
	if rewrite {
		require.NoError(test, os.WriteFile(document, []byte(before+tableBegin+t.markdown()+tableEnd+after), 0o644))
		return
	}
	assert.Equal(test, times.ReplaceAllString(recorded, "TIME"), times.ReplaceAllString(t.markdown(), "TIME"),
		"if this is as it should be: interop/run.sh -rewrite")
}
