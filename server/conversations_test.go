package server_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestConversations sends what testdata/conversations.txt says byte for byte, a quoted piece
// on each line, each time on a new connection that then says that it will send no more, and
// compares all that comes back with what redis-server has answered. With REDIS_SERVER
// (host:port, empty) that one is asked; -rewrite records its answers.
func TestConversations(t *testing.T) {
	address := os.Getenv("REDIS_SERVER")
	if address == "" {
		_, address = start(t)
	}
	datadriven.RunTest(t, "testdata/conversations.txt", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "say", d.Cmd)

		pieces := []string{"FLUSHALL\r\n"}
		for line := range strings.SplitSeq(d.Input, "\n") {
			piece, err := strconv.Unquote(line)
			require.NoError(t, err, line)
			pieces = append(pieces, piece)
		}
		var b strings.Builder
		for line := range strings.SplitAfterSeq(strings.TrimPrefix(answers(t, address, pieces), "+OK\r\n"), "\r\n") {
			if line != "" {
				b.WriteString(strconv.Quote(line) + "\n")
			}
		}
		return b.String()
	})
}
