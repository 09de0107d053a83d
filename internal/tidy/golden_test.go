package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// TestGolden checks small modules that break the rules. Each command is
//
//	check
//	-- FOLDER/FILE --
//	SOURCE
//
// with as many files as needed, in a module with this module's dependencies. A
// line "@N TEXT" of a source stands for N lines of TEXT. A folder without a
// doc.go gets one, unless the command is "check bare".
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, golden string) {
		t.Parallel()
		datadriven.RunTest(t, golden, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "check", d.Cmd)
			root := t.TempDir()
			writeModule(t, root, d.Input, !d.HasArg("bare"))
			found, err := Check(root)
			require.NoError(t, err)
			return lines(found)
		})
	})
}

func writeModule(t *testing.T, root, archive string, documented bool) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(moduleRoot, name))
		require.NoError(t, err)
		write(t, filepath.Join(root, name), text)
	}
	files := txtar.Parse([]byte(archive)).Files
	for _, f := range files {
		if documented && filepath.Ext(f.Name) == ".go" {
			doc := filepath.Join(root, filepath.Dir(f.Name), "doc.go")
			write(t, doc, []byte("// Package x is here.\npackage x\n"))
		}
	}
	for _, f := range files {
		write(t, filepath.Join(root, f.Name), repeatLines(f.Data))
	}
}

func write(t *testing.T, name string, text []byte) {
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, text, 0o644))
}

var repeated = regexp.MustCompile(`(?m)^([ \t]*)@(\d+) (.*\n)`)

func repeatLines(text []byte) []byte {
	return repeated.ReplaceAllFunc(text, func(line []byte) []byte {
		parts := repeated.FindSubmatch(line)
		n, _ := strconv.Atoi(string(parts[2])) // the pattern allows digits only
		return []byte(strings.Repeat(string(parts[1])+string(parts[3]), n))
	})
}
