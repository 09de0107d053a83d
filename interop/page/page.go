package page

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// document is the page, from a folder of interop.
const document = "../../docs/interop.md"

// Table is a table in Markdown. It pads its columns, so that it can be read on a
// terminal too. Every line has as many cells as the header.
func Table(header []string, lines [][]string) string {
	all := append([][]string{header, make([]string, len(header))}, lines...)
	widths := make([]int, len(header))
	for _, line := range all {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for n, line := range all {
		filler := " "
		if n == 1 {
			filler = "-"
		}
		for i, cell := range line {
			padding := strings.Repeat(filler, widths[i]-utf8.RuneCountInString(cell))
			fmt.Fprintf(&text, "|%s%s%s%s", filler, cell, padding, filler)
		}
		text.WriteString("|\n")
	}
	return text.String()
}

// Read is the text of a section.
func Read(t *testing.T, section string) string {
	_, text, _ := cut(t, section)
	return text
}

// Write replaces the text of a section.
func Write(t *testing.T, section, text string) {
	before, _, after := cut(t, section)
	require.NoError(t, os.WriteFile(document, []byte(before+text+after), 0o644))
}

// cut takes the document apart; before and after have the section's comments.
func cut(t *testing.T, section string) (before, text, after string) {
	content, err := os.ReadFile(document)
	require.NoError(t, err)
	begin := "<!-- interop/run.sh -rewrite writes " + section + " -->\n\n"
	end := "\n<!-- end of " + section + " -->\n"
	before, rest, found := strings.Cut(string(content), begin)
	require.True(t, found, "%s has no %q", document, begin)
	text, after, found = strings.Cut(rest, end)
	require.True(t, found, "%s has no %q", document, end)
	return before + begin, text, end + after
}
