package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	commandsDoc  = "../../docs/commands.md"
	commandsHead = `# Commands

Every command and subcommand of redis-server 7.0.15, and whether a node has it.
A command that is absent is answered as redis-server answers an unknown one.
This file is generated from the command table:
` + "`go test ./server/engine -run TestCommandsDocument -rewrite`" + `

| command | |
|---|---|
`
)

// TestCommandsDocument keeps docs/commands.md to the command table; -rewrite
// writes it.
func TestCommandsDocument(t *testing.T) {
	text := commandsHead
	present := 0
	names := docLines(t, "testdata/docs/redis-7.0.15.txt")
	for _, name := range names {
		state := absence(t, name)
		if known(name) {
			state = "yes"
			present++
		}
		require.NotEmpty(t, state, "%s is neither in the table nor in testdata/docs/absent.txt", name)
		text += fmt.Sprintf("| %s | %s |\n", name, state)
	}
	text += fmt.Sprintf("\n%d of %d.\n", present, len(names))
	if rewriting() {
		require.NoError(t, os.WriteFile(commandsDoc, []byte(text), 0o644))
	}
	have, err := os.ReadFile(commandsDoc)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "go test ./server/engine -run TestCommandsDocument -rewrite")
}

// absence is why a command is not there, or "".
func absence(t *testing.T, name string) string {
	for _, line := range docLines(t, "testdata/docs/absent.txt") {
		prefixes, reason, _ := strings.Cut(line, ": ")
		for _, prefix := range strings.Split(prefixes, ", ") {
			if name == prefix || strings.HasPrefix(name, prefix+" ") {
				return reason
			}
		}
	}
	return ""
}

func TestAbsent(t *testing.T) {
	for line, want := range map[string]string{
		"get a": "", "Script debug yes": "SCRIPT DEBUG", "lolwut": "", "acl whoami": "",
		"delex a": "", "client maint_notifications": "", "acl setuser x": "",
		"memory malloc-stats": "", "": "",
	} {
		var cmd [][]byte
		for _, word := range strings.Fields(line) {
			cmd = append(cmd, []byte(word))
		}
		require.Equal(t, want, Absent(cmd), line)
	}
}

func docLines(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
