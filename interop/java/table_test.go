package java

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"minikv/interop/page"
)

// section of docs/interop.md has the table.
const section = "what wakes whom"

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

// markdown is the table as the document has it.
func (t *table) markdown() string {
	var lines [][]string
	for _, row := range t.rows {
		line := []string{row}
		for _, column := range t.columns {
			line = append(line, t.cells[[2]string{row, column}])
		}
		lines = append(lines, line)
	}
	return page.Table(append([]string{"kind, direction"}, t.columns...), lines)
}

var times = regexp.MustCompile(`\d+ ms *`)

// compare requires the document to have this table, whatever times it shows, or
// writes it there.
func (t *table) compare(test *testing.T, rewrite bool) {
	if rewrite {
		page.Write(test, section, t.markdown())
		return
	}
	recorded := page.Read(test, section)
	assert.Equal(test, times.ReplaceAllString(recorded, "TIME"), times.ReplaceAllString(t.markdown(), "TIME"),
		"if this is as it should be: interop/run.sh -rewrite")
}
