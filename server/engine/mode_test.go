package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// A node of another mode has that mode's commands and no others, and its
// handlers answer them.
func TestMode(t *testing.T) {
	quiet := NewMode("quiet", []string{"PING", "INFO", "HELLO"}, []Command{
		{Name: "HUM", Arity: 1, Flags: Fast},
	})
	node := New(Config{
		Clock: &manualClock{wall: goldenStart}, Mode: quiet,
		Handlers: Handlers{
			"hum": func(*Call) resp.Value { return resp.Str("mm") },
			"info": func(c *Call) resp.Value {
				return c.Info([]InfoSection{{Name: "Modules"}, {Name: "Noise", Text: func() string { return "level:1\r\n" }}})
			},
		},
		Random: func() uint64 { return 1 },
	})
	session := node.NewSession("127.0.0.1:50000")
	ask := func(words ...string) string {
		cmd := make([][]byte, len(words))
		for i, word := range words {
			cmd[i] = []byte(word)
		}
		session.Out = nil
		node.Do(session, cmd)
		return string(session.Out)
	}
	require.Equal(t, "+PONG\r\n", ask("PING"))
	require.Equal(t, "$2\r\nmm\r\n", ask("hum"))
	require.Equal(t, "-ERR unknown command 'GET', with args beginning with: 'a' \r\n", ask("GET", "a"))
	require.Equal(t, "$31\r\n# Modules\r\n\r\n# Noise\r\nlevel:1\r\n\r\n", ask("INFO"))
	require.Contains(t, ask("HELLO"), "mode\r\n$5\r\nquiet\r\n")
	require.NotContains(t, ask("HELLO"), "role")
}
