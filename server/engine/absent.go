package engine

import (
	_ "embed"
	"strings"
)

// allCommands is every command and subcommand of redis-server 7.0.15, a line
// each, as COMMAND LIST and COMMAND DOCS there name them.
//
//go:embed testdata/docs/redis-7.0.15.txt
var allCommands string

// Absent returns the name of the command or subcommand that cmd calls if redis-server
// 7.0.15 knows it and this package does not; "" otherwise.
func Absent(cmd [][]byte) string {
	if len(cmd) == 0 {
		return ""
	}
	name := upperASCII(string(cmd[0]))
	if len(cmd) > 1 {
		if whole := name + " " + upperASCII(string(cmd[1])); inRedis(whole) {
			name = whole
		}
	}
	if !inRedis(name) || known(name) {
		return ""
	}
	return name
}

func inRedis(name string) bool { return strings.Contains("\n"+allCommands+"\n", "\n"+name+"\n") }

// known reports whether the table has a command or subcommand, or another
// package registers it.
func known(name string) bool {
	words := strings.Fields(name)
	cmd := byName([]byte(words[0]))
	switch {
	case cmd == nil || len(words) == 1:
		return cmd != nil
	case cmd.Sub == nil: // it knows its subcommands itself
		return true
	}
	return cmd.sub([]byte(words[1])) != nil
}
