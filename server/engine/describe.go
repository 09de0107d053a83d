package engine

import (
	"strings"

	"minikv/internal/resp"
)

// describeCommand is a command as a person would type it: plain words bare,
// anything else in quotes.
func describeCommand(args [][]byte) string {
	var text strings.Builder
	for i, arg := range args {
		if i > 0 {
			text.WriteByte(' ')
		}
		if isPlain(arg) {
			text.Write(arg)
		} else {
			text.WriteString(resp.Quote(string(arg)))
		}
	}
	return text.String()
}

// isPlain reports whether arg needs no quotes.
func isPlain(arg []byte) bool {
	for _, b := range arg {
		if b <= ' ' || b > '~' || b == '"' || b == '\'' || b == '\\' {
			return false
		}
	}
	return len(arg) > 0
}
