package engine

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keyEvent is what a subscriber of all patterns is told of a key.
var keyEvent = regexp.MustCompile(`"__keyevent@0__:(\w+)"\n4\) "(\w+)"`)

// TestExpiredKeysThatAReplicaMayWrite sends commands to a replica that clients may write to,
// where a and b are there, but have expired, and c has not. It compares the replies, the
// events, how many keys there are then, and how many have expired.
// Source: what redis-server 7.0.15 does with the same commands.
func TestExpiredKeysThatAReplicaMayWrite(t *testing.T) {
	for _, one := range []struct {
		kind, cmd, reply, events string
		keys, expired            string
	}{
		{"SET # 5", "GET a", "(nil)", "", "3", "0"},
		{"SET # 5", "INCR a", "(integer) 1", "expired a incrby a", "3", "1"},
		{"HSET # f v", "INCR a", "(integer) 1", "expired a incrby a", "3", "1"},
		{"SET # 5", "SET a 1 XX", "(nil)", "expired a", "2", "1"},
		{"SET # 5", "SET a x y", "(error) ERR syntax error", "", "3", "0"},
		{"SET # 5", "MSET a 1 b 2", "OK", "expired a set a expired b set b", "3", "2"},
		{"SET # 5", "PERSIST a", "(integer) 0", "expired a", "2", "1"},
		{"SET # 5", "GETEX a PERSIST", "(nil)", "", "3", "0"},
		{"SET # 5", "GETDEL a", "(nil)", "del a", "2", "0"},
		{"RPUSH # 1 2", "GETDEL a", "(nil)", "del a", "2", "0"},
		{"SET # 5", "DEL a b c", "(integer) 3", "del a del b del c", "0", "0"},
		{"SET # 5", "RENAME c a", "OK", "expired a rename_from c rename_to a", "2", "1"},
		{"SET # 5", "COPY a c", "(integer) 0", "", "3", "0"},
		{"RPUSH # 1 2", "LMOVE c a LEFT RIGHT", `"1"`, "expired a rpush a lpop c", "3", "1"},
		{"RPUSH # 1 2", "LMOVE a b LEFT RIGHT", "(nil)", "expired a", "2", "1"},
		{"SADD # 1", "SUNIONSTORE a b", "(integer) 0", "del a", "2", "0"},
		{"SADD # 1", "SUNIONSTORE a b c", "(integer) 1", "expired a sunionstore a", "3", "1"},
		{"SADD # 1", "SINTERSTORE a a c", "(integer) 0", "del a", "2", "0"},
		{"XADD # 1-1 f v", "XACK a g 1-1", "(integer) 0", "", "3", "0"},
		{"XADD # 1-1 f v", "XDEL a 1-1", "(integer) 0", "expired a", "2", "1"},
		{"SET # 5", `EVAL "redis.call('get','a') return redis.call('incr','a')" 0`,
			"(integer) 1", "expired a incrby a", "3", "1"},
	} {
		f := newFixture(t, withLua)
		s := f.session()
		for _, key := range []string{"a", "b", "c"} {
			f.do(s, strings.ReplaceAll(one.kind, "#", key))
		}
		f.expect(s, "PEXPIRE a 50", "(integer) 1", "PEXPIRE b 50", "(integer) 1")
		f.node.BecomeReplica("m", 1)
		f.clock.advance(time.Second)
		f.expect(s, "CONFIG SET replica-read-only no notify-keyspace-events EA", "OK")
		watcher := f.session()
		f.do(watcher, "PSUBSCRIBE *")

		f.expect(s, one.cmd, one.reply)
		events := ""
		for _, event := range keyEvent.FindAllStringSubmatch(f.got(watcher), -1) {
			events += event[1] + " " + event[2] + " "
		}
		require.Equal(t, one.events, strings.TrimSpace(events), one.cmd)
		f.expect(s, "DBSIZE", "(integer) "+one.keys)
		require.Contains(t, f.do(s, "INFO stats"), `expired_keys:`+one.expired+`\r\n`, one.cmd)
	}
}
