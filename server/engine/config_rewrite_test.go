package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestConfigurationIsRewritten wants the file that redis-server 7.0.15 makes, but
// for the order of the lines that are added.
func TestConfigurationIsRewritten(t *testing.T) {
	text := "# a comment\nPORT 22108\nbind 127.0.0.1\n\n\nsave 900 1\nsave 300 10\nmaxmemory 100mb\ninclude other.conf\n" +
		"hash-max-ziplist-entries 20\nhash-max-listpack-entries 21\nclient-output-buffer-limit pubsub 1mb 0 60\n" +
		"user alice on >pw ~*\nnotify-keyspace-events KEA\nmasterauth x\ntimeout 0\n"
	e := newEngineTarget()
	e.node.cfg.Rewrites = memoryFile{&text}
	e.connect("c", 2)
	do := func(words ...string) {
		e.send("c", bytesOf(words))
		v, ok := e.next("c", true)
		require.True(t, ok)
		require.Equal(t, "OK", resp.Describe(v))
	}
	do("CONFIG", "SET", "maxmemory", "1500", "save", "900 1", "hash-max-listpack-entries", "21",
		"repl-backlog-size", "2mb",
		"client-output-buffer-limit", "replica 1k 2k 3", "maxmemory-clients", "5%", "shutdown-on-sigterm", "nosave now",
		"bind", "127.0.0.1 ::1", "requirepass", "foo")
	do("ACL", "SETUSER", "bob", "on", "+get")
	do("CONFIG", "REWRITE")
	want := "# a comment\nport 6379\nbind 127.0.0.1 ::1\n\nsave 900 1\n\nmaxmemory 1500\ninclude other.conf\n" +
		"hash-max-listpack-entries 21\n\nclient-output-buffer-limit normal 0 0 0\nuser bob on resetchannels -@all +get\n" +
		"notify-keyspace-events \"\"\n\ntimeout 0\n\n" + rewriteSignature + "\n" +
		"client-output-buffer-limit replica 1000 2000 3\n" +
		"dir \"" + e.node.Parameter("dir") + "\"\nenable-debug-command yes\nlatency-tracking-info-percentiles 50 99 99.9\n" +
		"maxmemory-clients 5%\nrepl-backlog-size 2mb\nrequirepass \"foo\"\nshutdown-on-sigterm nosave now\n" +
		"user default on #2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae ~* &* +@all\n"
	require.Equal(t, want, text)
	do("CONFIG", "REWRITE")
	require.Equal(t, want+"\n", text, "nothing has changed; the end of the last line counts as a line")
}

// What timers read of the configuration follows it.
func TestNumberFollowsTheConfiguration(t *testing.T) {
	f := newFixture(t)
	require.Equal(t, int64(60), f.node.Number("repl-timeout"))
	f.expect(f.session(), "CONFIG SET repl-timeout 5", "OK")
	require.Equal(t, int64(5), f.node.Number("repl-timeout"))
}
