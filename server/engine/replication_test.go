package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/luaengine"
)

func withLua(cfg *Config) { cfg.Lua = luaengine.New(Resolve) }

// stream is the effects since offset as command lines.
func (f *fixture) stream(offset int64) string {
	raw, ok := f.node.EffectsSince(offset)
	require.True(f.t, ok)
	var words []string
	for _, part := range strings.Split(string(raw), "\r\n") {
		switch {
		case strings.HasPrefix(part, "*"):
			words = append(words, "|")
		case part != "" && part[0] != '$':
			words = append(words, part)
		}
	}
	return strings.Join(words, " ")
}

// What redis-server 7.0.15 sends to a replica for the same commands.
func TestEffectsAreThoseOfRedis(t *testing.T) {
	f := newFixture(t, withLua)
	f.node.AddReplica(1)
	s := f.session()
	for _, step := range []struct{ lines, want string }{
		{"SELECT 2\nset a 1 PX 30", "SELECT 2 SET a 1 PXAT 1700000000030"},
		{"GET missing\nDEL missing\nPING", ""},
		{"MULTI\nset x 1\nset y 1\nEXEC", "| MULTI | set | x | 1 | set | y | 1 | EXEC"},
		{"MULTI\nset x 1\nget x\nEXEC", "| set | x | 1"},
		{`EVAL "redis.call('set','p',1) redis.call('publish','ch','m') redis.call('incr','p')" 0`,
			"| MULTI | set | p | 1 | publish | ch | m | incr | p | EXEC"},
		{`EVAL "redis.call('set','p',1)" 0`, "| set | p | 1"},
		{"publish ch m", "| publish | ch | m"},
		{"MULTI\nSELECT 5\nset q 1\nSELECT 2\nset q 2\nEXEC",
			"| SELECT | 5 | MULTI | set | q | 1 | SELECT | 2 | set | q | 2 | EXEC"},
		{"flushdb", "| flushdb"},
		{`EVAL "redis.set_repl(redis.REPL_NONE) redis.call('set','no',1) redis.set_repl(redis.REPL_ALL)` +
			` redis.call('set','yes',1)" 0`, "| set | yes | 1"},
	} {
		before := f.node.Offset()
		for _, line := range strings.Split(step.lines, "\n") {
			f.do(s, line)
		}
		got := strings.ReplaceAll(f.stream(before), "| ", "")
		require.Equal(t, strings.ReplaceAll(step.want, "| ", ""), got, step.lines)
	}
}

func TestExpiryIsReplicatedAsDeletion(t *testing.T) {
	f := newFixture(t)
	f.node.AddReplica(1)
	s := f.session()
	f.do(s, "SET a 1 PX 10")
	f.clock.advance(20 * time.Millisecond)
	before := f.node.Offset()
	f.do(s, "SET a 2")
	require.Equal(t, "| MULTI | DEL a | SET a 2 | EXEC", f.stream(before))
}

func TestNothingIsRecordedWithoutReplicas(t *testing.T) {
	f := newFixture(t)
	f.do(f.session(), "SET a 1")
	require.Zero(t, f.node.Offset())
	_, ok := f.node.EffectsSince(0)
	require.False(t, ok)
}

func TestReplicaFollows(t *testing.T) {
	master, replica := newFixture(t), newFixture(t)
	ms, rs := master.session(), replica.session()
	master.do(ms, "SET before 1 PX 100000")
	replica.node.LoadSnapshot(master.node.Snapshot())
	replica.node.BecomeReplica("10.0.0.1", 6379)
	master.node.AddReplica(7)
	offset := replica.node.Offset()

	master.expect(ms, "MULTI", "OK", "SET a 1 PX 50", "QUEUED", "SELECT 3", "QUEUED", "SET b 2", "QUEUED",
		"EXEC", "1) OK\n2) OK\n3) OK")
	stream, ok := master.node.EffectsSince(offset)
	require.True(t, ok)
	require.NoError(t, replica.node.Apply(stream))
	require.Equal(t, master.node.Offset(), replica.node.Offset())

	replica.expect(rs, "GET before", `"1"`, "GET a", `"1"`,
		"SET a 2", "(error) READONLY You can't write against a read only replica.")
	replica.clock.advance(time.Second)
	replica.expect(rs, "GET a", "(nil)", "DBSIZE", "(integer) 2")
	replica.node.Tick()
	replica.expect(rs, "DBSIZE", "(integer) 2")

	replica.node.BecomeMaster()
	replica.expect(rs, "GET a", "(nil)", "DBSIZE", "(integer) 1", "SET a 2", "OK", "SELECT 3", "OK", "GET b", `"2"`)
}

// A replica that clients may write to refuses what its master's data allows: the two have
// parted, which INFO tells.
// Source: what redis-server 7.0.15 counts for the same commands.
func TestErrorsFromAMasterAreUnexpected(t *testing.T) {
	master, replica := newFixture(t), newFixture(t)
	ms, rs := master.session(), replica.session()
	master.node.AddReplica(1)
	replica.node.BecomeReplica("m", 1)
	replica.expect(rs, "CONFIG SET replica-read-only no", "OK", "RPUSH a 1", "(integer) 1", "GET a",
		"(error) WRONGTYPE Operation against a key holding the wrong kind of value")
	require.Contains(t, replica.do(rs, "INFO stats"), `unexpected_error_replies:0\r\ntotal_error_replies:1\r\n`)

	master.do(ms, "HSET a f v")
	stream, _ := master.node.EffectsSince(0)
	require.NoError(t, replica.node.Apply(stream))
	require.Contains(t, replica.do(rs, "INFO stats"), `unexpected_error_replies:1\r\ntotal_error_replies:2\r\n`)
	replica.expect(rs, "CONFIG RESETSTAT", "OK")
	require.Contains(t, replica.do(rs, "INFO stats"), `unexpected_error_replies:0\r\ntotal_error_replies:0\r\n`)
}

// A replica's stream can be cut anywhere between two commands, and serves
// replicas of its own.
func TestEffectsPassThroughUnchanged(t *testing.T) {
	master, replica := newFixture(t), newFixture(t)
	master.node.AddReplica(1)
	replica.node.BecomeReplica("m", 1)
	ms := master.session()
	for _, line := range []string{"SET a 1", "SELECT 1", "INCR n", "INCR n"} {
		from := master.node.Offset()
		master.do(ms, line)
		stream, _ := master.node.EffectsSince(from)
		require.NoError(t, replica.node.Apply(stream))
	}
	require.Equal(t, master.stream(0), replica.stream(0))
	require.ErrorContains(t, replica.node.Apply([]byte("*1\r\n$4\r\nPI")), "end inside a command")
	require.ErrorContains(t, replica.node.Apply([]byte("*1\r\n+x\r\n")), "expected '$'")
}

func TestBacklogForgets(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Parameters = map[string]string{"repl-backlog-size": "100"} })
	f.node.AddReplica(1)
	s := f.session()
	f.do(s, "SET a 1")
	kept, _ := f.node.EffectsSince(0)
	text := string(kept)
	for range 20 {
		f.do(s, "SET key value")
	}
	_, ok := f.node.EffectsSince(0)
	require.True(t, ok, "replicas may not have been sent it yet")
	f.node.Dirty()
	_, ok = f.node.EffectsSince(0)
	require.False(t, ok)
	_, ok = f.node.EffectsSince(f.node.Offset() - 90)
	require.True(t, ok)
	_, ok = f.node.EffectsSince(f.node.Offset() + 1)
	require.False(t, ok)
	require.Equal(t, text, string(kept), "bytes that were handed out must not change")
}

func TestWait(t *testing.T) {
	f := newFixture(t)
	f.node.AddReplica(1)
	f.node.AddReplica(2)
	s, other := f.session(), f.session()
	f.expect(s, "WAIT 0 0", "(integer) 2", "SET a 1", "OK")
	f.expect(s, "WAIT 1 100", "")
	require.True(t, s.Blocked())
	f.expect(other, "WAIT 2 0", "(integer) 2") // it has written nothing

	f.node.Ack(1, f.node.Offset()-1)
	require.True(t, s.Blocked())
	f.node.Ack(1, f.node.Offset())
	require.False(t, s.Blocked())
	require.Equal(t, "(integer) 1", f.got(s))

	f.expect(s, "WAIT 2 100", "")
	left, ok := f.node.NextDeadline()
	require.True(t, ok)
	require.Equal(t, 100*time.Millisecond, left)
	f.clock.advance(99 * time.Millisecond)
	f.node.Tick()
	require.True(t, s.Blocked())
	f.clock.advance(time.Millisecond)
	f.node.Dirty()
	f.node.Tick()
	require.Equal(t, "(integer) 1", f.got(s))
	require.Equal(t, []*Session{s}, f.node.Dirty())
}

// Without a largest lag no replica is too far behind, nor needed at all.
func TestMinReplicasNeedsALag(t *testing.T) {
	f := newFixture(t)
	f.node.AddReplica(1)
	s := f.session()
	f.expect(s, "CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 1", "OK", "SET a 1", "OK")
	f.clock.advance(5 * time.Second)
	f.expect(s, "SET a 1", "(error) NOREPLICAS Not enough good replicas to write.")
	f.expect(s, "CONFIG SET min-replicas-max-lag 0", "OK", "SET a 1", "OK")
}

func TestBecomingAReplicaReleasesBlockedClients(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.do(s, "WAIT 1 0")
	f.node.BecomeReplica("m", 1)
	require.Equal(t, "(error) "+errUnblocked, f.got(s))
	require.True(t, s.Closing())
}

func TestRoleAndInfo(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.node.AddReplica(4)
	f.node.ReplicaAddress(4, "10.0.0.2", 6380)
	f.do(s, "SET a 1")
	f.node.Ack(4, f.node.Offset())
	f.clock.advance(3 * time.Second)
	f.expect(s, "ROLE", "1) \"master\"\n2) (integer) 50\n3) 1) 1) \"10.0.0.2\"\n      2) \"6380\"\n      3) \"50\"")
	require.Contains(t, f.do(s, "INFO replication"),
		`connected_slaves:1\r\nslave0:ip=10.0.0.2,port=6380,state=online,offset=50,lag=3\r\n`)
	f.node.RemoveReplica(4)
	require.Contains(t, f.do(s, "INFO all"), `connected_slaves:0\r\n`)
	f.node.BecomeReplica("10.0.0.3", 7)
	f.expect(s, "ROLE", "1) \"slave\"\n2) \"10.0.0.3\"\n3) (integer) 7\n4) \"connect\"\n5) (integer) -1")
	f.node.SetMasterLink(LinkConnected)
	f.expect(s, "ROLE", "1) \"slave\"\n2) \"10.0.0.3\"\n3) (integer) 7\n4) \"connected\"\n5) (integer) 50")
}

func TestMinReplicas(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.node.AddReplica(1)
	f.expect(s, "CONFIG SET min-slaves-to-write 1", "OK", "SET a 1", "OK")
	f.clock.advance(11 * time.Second)
	f.expect(s, "SET a 1", "(error) "+errNoReplicas, "GET a", `"1"`)
	f.node.Ack(1, 0)
	f.expect(s, "SET a 1", "OK")
}

func TestRestart(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	f.do(s, "SET a 1 PX 1000")
	f.do(s, "SUBSCRIBE c")
	other := f.session()
	sha := f.do(other, `SCRIPT LOAD "return 1"`)
	f.node.Restart(true)
	require.True(t, s.Closing())
	f.clock.advance(500 * time.Millisecond)
	s = f.session()
	f.expect(s, "PTTL a", "(integer) 500", "PUBLISH c m", "(integer) 0",
		"EVALSHA "+sha+" 0", "(error) "+errNoScript)
	f.node.Restart(false)
	s = f.session()
	f.expect(s, "GET a", "(nil)", "CLIENT ID", "(integer) 4")
}

// TestSnapshotBringsFunctions: a replica has its master's libraries, and those only.
func TestSnapshotBringsFunctions(t *testing.T) {
	master, replica := newFixture(t, withLua), newFixture(t, withLua)
	load := func(f *fixture, name string) {
		code := "#!lua name=" + name + "\nredis.register_function{function_name='" + name +
			"', callback=function() return '" + name + "' end, flags={'no-writes'}}"
		f.node.Do(f.session(), words("FUNCTION", "LOAD", code))
	}
	load(master, "here")
	load(replica, "gone")
	replica.node.LoadSnapshot(master.node.Snapshot())
	replica.node.BecomeReplica("10.0.0.1", 6379)
	replica.expect(replica.session(), "FCALL_RO here 0", `"here"`, "FCALL_RO gone 0", "(error) ERR Function not found")
}

// The link to the master is down from CLIENT KILL on, before the shell closes its
// connection: a cluster's replica counts from there how old its data is.
func TestKilledLinkIsDownAtOnce(t *testing.T) {
	f := newFixture(t)
	f.node.BecomeReplica("127.0.0.1", 7000)
	f.node.SetMasterLink(LinkConnected)
	s := f.session()
	f.expect(s, "CLIENT KILL TYPE master", "(integer) 1", "CLIENT LIST TYPE master", `""`)
	_, _, killed := f.node.MasterLink()
	f.clock.advance(20 * time.Second)
	require.True(t, f.node.CutOff())
	require.False(t, f.node.CutOff())
	f.node.SetMasterLink(LinkConnect)
	state, _, down := f.node.MasterLink()
	require.Equal(t, LinkConnect, state)
	require.Equal(t, killed, down)
	require.NotZero(t, down)

	f.node.AddReplica(1)
	f.node.ReplicaAddress(1, "::1", 7000)
	f.expect(s, "CLIENT KILL [::1]:7000", "OK")
	require.Empty(t, f.node.Replicas())
}

// A replica outside of the process is counted, listed and killed as those of the topology
// are, no pause holds back what it acknowledges, and it may come back.
// Source: what redis-server 7.0.15 answers to the same commands.
func TestReplicasOutside(t *testing.T) {
	f := newFixture(t)
	s, r := f.session(), f.session()
	f.expect(r, "REPLCONF listening-port 7000", "OK")
	sync := func(r *Session, cmd, counts string) {
		f.node.Do(r, words(strings.Fields(cmd)...))
		r.Out = r.Out[:0]
		require.Contains(t, f.do(s, "INFO stats"), counts, cmd)
		require.Contains(t, f.do(s, "INFO clients"), `connected_clients:1\r\n`)
	}
	sync(r, "PSYNC ? -1", `sync_full:1\r\nsync_partial_ok:0\r\nsync_partial_err:0\r\n`)
	require.Regexp(t, `^"[^\\]* flags=S .* user=default [^\\]*\\n"$`, f.do(s, "CLIENT LIST TYPE replica"))
	require.Regexp(t, `^"[^\\]* flags=N [^\\]*\\n"$`, f.do(s, "CLIENT LIST TYPE normal"))

	f.expect(s, "SET a 1", "OK", "CLIENT PAUSE 3000", "OK")
	f.do(r, "REPLCONF ACK 7")
	require.False(t, r.Blocked())
	f.clock.advance(3 * time.Second)
	f.tick()
	require.Contains(t, f.do(s, "INFO replication"), `slave0:ip=127.0.0.1,port=7000,state=online,offset=7,lag=3\r\n`)

	f.expect(s, "CLIENT KILL TYPE master", "(integer) 0", "CLIENT KILL TYPE replica", "(integer) 1")
	require.True(t, r.Closing())
	f.node.Close(r)
	require.Contains(t, f.do(s, "INFO replication"), `connected_slaves:0\r\n`)
	for _, again := range [][2]string{
		{"PSYNC " + f.node.ReplicationID() + " 1", `sync_full:1\r\nsync_partial_ok:1\r\nsync_partial_err:0\r\n`},
		{"PSYNC another 1", `sync_full:2\r\nsync_partial_ok:1\r\nsync_partial_err:1\r\n`},
		{"PSYNC " + f.node.ReplicationID() + " 100000", `sync_full:3\r\nsync_partial_ok:1\r\nsync_partial_err:2\r\n`},
		{"SYNC", `sync_full:4\r\nsync_partial_ok:1\r\nsync_partial_err:2\r\n`},
	} {
		sync(f.session(), again[0], again[1])
	}
	for capa, want := range map[string]string{"eof": `\+CONTINUE`, "PSYNC2": `\+CONTINUE ` + f.node.ReplicationID()} {
		r = f.session()
		f.do(r, "REPLCONF capa eof capa "+capa)
		f.node.Do(r, words("PSYNC", f.node.ReplicationID(), "1"))
		require.Regexp(t, "^"+want+"\r\n", string(r.Out))
	}
}

// A replica outside of the process is sent away when it asks for anything that has a reply.
// Source: what redis-server 7.0.15 answers to the same commands.
func TestReplicasOutsideAskForNothing(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s, "SET a 1", "OK")
	monitor := f.session()
	f.expect(monitor, "MONITOR", "OK")
	f.node.Do(monitor, words("SYNC"))
	require.Empty(t, f.node.Replicas())
	f.node.Close(monitor)

	pending := f.session()
	f.node.Do(pending, words("PING"))
	f.node.Do(pending, words("SYNC"))
	require.Equal(t, "+PONG\r\n-ERR SYNC and PSYNC are invalid with pending output\r\n", string(pending.Out))

	for line, leaves := range map[string]bool{"GET a": true, "FLUSHALL": true, "PING": true, "NOSUCH": true, "MULTI": true,
		"SUBSCRIBE x": true, "REPLCONF capa eof": true, "REPLCONF": true, "MONITOR": false, "PSYNC ? -1": false,
		"REPLCONF ACK 1": false, "CLIENT REPLY OFF": false} {
		r := f.session()
		f.node.Do(r, words("PSYNC", "?", "-1"))
		r.Out = r.Out[:0]
		f.node.Do(r, words(strings.Fields(line)...))
		require.Empty(t, r.Out, line)
		require.Equal(t, leaves, r.Closing(), line)
		f.node.Close(r)
	}
	f.expect(s, "GET a", `"1"`)
	require.Empty(t, f.node.monitors)
}

// The parts of the data file that a replica outside of the process has asked for, as redis-cli
// does with --rdb, --functions-rdb and --replica.
func TestPartsOfAFile(t *testing.T) {
	f := newFixture(t, withLua)
	f.expect(f.session(), "SET key 1", "OK",
		"FUNCTION LOAD '#!lua name=l\nredis.register_function(\"f\", function() return 1 end)'", `"l"`)
	for _, c := range []struct {
		asks            string
		keys, libraries bool
		stays           bool
	}{
		{"rdb-only 1", true, true, false},
		{"rdb-only 1 rdb-only 0", true, true, true},
		{"rdb-only 1 rdb-filter-only functions", false, true, false},
		{`rdb-filter-only "functions functions"`, false, true, true},
		{`rdb-filter-only ""`, false, false, true},
		{`rdb-filter-only functions rdb-filter-only ""`, false, false, true},
	} {
		r := f.session()
		f.expect(r, "REPLCONF capa eof "+c.asks, "OK")
		f.node.Do(r, words("SYNC"))
		require.Equal(t, c.keys, strings.Contains(string(r.Out), "key"), c.asks)
		require.Equal(t, c.libraries, strings.Contains(string(r.Out), "name=l"), c.asks)
		require.Equal(t, c.stays, !r.Closing(), c.asks)
		require.Equal(t, c.stays, len(f.node.Replicas()) == 1, c.asks)
		f.node.Close(r)
	}
}

// What the data file tells of the past of keys, where the policy of eviction asks for it.
func TestPastInAFile(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s, "SET key 1", "OK")
	f.clock.advance(50 * time.Second)
	value := "\x00\x03key\xc0\x01" // as of a string
	require.Contains(t, string(f.node.File()), "\xfb\x01\x00"+value)
	f.expect(s, "CONFIG SET maxmemory-policy volatile-lru", "OK")
	require.Contains(t, string(f.node.File()), "\xfb\x01\x00\xf8\x32"+value)
	f.expect(s, "CONFIG SET maxmemory-policy allkeys-lfu", "OK")
	f.node.keys.DB(0).SetUses([]byte("key"), 200)
	require.Contains(t, string(f.node.File()), "\xfb\x01\x00\xf9\xc8"+value)
}

// One whose place in the stream is no longer there is sent away once, not at each look.
func TestReplicaOutsideWithoutItsHistory(t *testing.T) {
	f, other := newFixture(t), newFixture(t)
	other.node.AddReplica(1)
	other.expect(other.session(), "SET a 1", "OK")
	r := f.session()
	f.node.Do(r, words("PSYNC", "?", "-1"))
	f.node.BecomeReplica("there", 7)
	f.node.LoadSnapshot(other.node.Snapshot())
	require.Contains(t, f.node.Dirty(), r)
	require.True(t, r.Closing())
	require.Empty(t, f.node.Replicas())
	require.Empty(t, f.node.Dirty())
}
