package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/slot"
)

// fakeTopology answers for single slots; others are this node's.
type fakeTopology struct {
	slots              map[int]SlotState
	down, readsAllowed bool
}

func (f *fakeTopology) Slot(number int) SlotState {
	if state, ok := f.slots[number]; ok {
		return state
	}
	return SlotState{Owner: "10.0.0.1:7000", Mine: true}
}

func (f *fakeTopology) Down() (down, readsAllowed bool) { return f.down, f.readsAllowed }

func (f *fakeTopology) Others() int { return 5 }

func newCluster(t *testing.T) (*fixture, *fakeTopology) {
	topology := &fakeTopology{slots: map[int]SlotState{}}
	return newFixture(t, withLua, func(cfg *Config) { cfg.Topology = topology }), topology
}

func TestRedirects(t *testing.T) {
	f, topology := newCluster(t)
	s := f.session()
	topology.slots[slot.OfString("far")] = SlotState{Owner: "10.0.0.2:7001"}
	topology.slots[slot.OfString("lost")] = SlotState{}
	f.expect(s,
		"SET here 1", "OK",
		"GET far", "(error) MOVED 3845 10.0.0.2:7001",
		"GET lost", "(error) CLUSTERDOWN Hash slot not served",
		"MSET {a}1 x {a}2 y", "OK",
		"MSET a x b y", "(error) CROSSSLOT Keys in request don't hash to the same slot",
		// The destination comes last.
		"ZUNIONSTORE lost 1 here", "(error) CROSSSLOT Keys in request don't hash to the same slot",
		"ZUNIONSTORE here 1 lost", "(error) CLUSTERDOWN Hash slot not served",
		"SELECT 1", "(error) ERR SELECT is not allowed in cluster mode",
		"MULTI", "OK", "GET far", "(error) MOVED 3845 10.0.0.2:7001",
		"EXEC", "(error) EXECABORT Transaction discarded because of previous errors.",
		`EVAL "return 1" 2 a b`, "(error) CROSSSLOT Keys in request don't hash to the same slot",
		`EVAL "return redis.pcall('get','far')" 1 here`,
		"(error) ERR Script attempted to access a non local key in a cluster node",
		"READONLY", "OK")
	topology.down = true
	f.expect(s, "GET here", "(error) CLUSTERDOWN The cluster is down")
	topology.readsAllowed = true
	f.expect(s,
		"GET here", `"1"`, "SET here 2", "(error) CLUSTERDOWN The cluster is down and only accepts read commands",
		`EVAL "#!lua\nreturn 1" 1 here`, "(error) CLUSTERDOWN The cluster is down and only accepts read commands",
		`EVAL "#!lua flags=no-writes\nreturn 1" 1 here`, "(integer) 1",
		`EVAL "return 1" 1 here`, "(integer) 1")
}

// Keys of two slots are refused wherever a command has them; what redis-server 7.0.15 takes
// for no keys leads to the command's own error.
func TestCommandsAreRoutedByTheirKeys(t *testing.T) {
	f, _ := newCluster(t)
	s := f.session()
	for _, command := range []string{
		"ZUNIONSTORE a 2 a b", "ZUNIONSTORE b 1 a", "ZDIFF 2 a b", "ZMPOP 2 a b MIN", "SINTERCARD 2 a b",
		"XREAD STREAMS a b 0 0", "XREADGROUP GROUP g c STREAMS a b > >", "SORT a STORE b",
		"GEORADIUS a 1 1 1 m STORE b", "GEORADIUS a 1 1 1 m STOREDIST a STORE b", "GEORADIUSBYMEMBER a m 1 m STOREDIST b",
		"BITOP AND a b", "COPY a b", "LCS a b", "SMOVE a b m", "PFMERGE a b", "ZRANGESTORE a b 0 1", "MSETNX a 1 b 1",
		"EVALSHA 1 2 a b", "FCALL f 2 a b", `MIGRATE h 1 "" 0 1 KEYS a b`, "SSUBSCRIBE a b", "BLMOVE a b LEFT RIGHT 1",
	} {
		require.Equal(t, "(error) "+errCrossSlot, f.do(s, command), command)
	}
	f.expect(s,
		"ZUNIONSTORE b x a", "(error) ERR value is not an integer or out of range",
		"ZUNIONSTORE a 2 a", "(error) ERR syntax error",
		"ZDIFF 3 a b", "(error) ERR syntax error",
		"LMPOP 1 a LEFT COUNT b", "(error) ERR count should be greater than 0",
		"XREAD STREAMS a b 0",
		"(error) ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
		"SORT a LIMIT 0 STORE b", "(error) ERR value is not an integer or out of range",
		`EVAL "return 1" 3 a b`, "(error) ERR Number of keys can't be greater than number of args",
		"SPUBLISH a b", "(integer) 0",
		"TOUCH a a", "(integer) 0")
}

// The connections between a cluster's nodes count among those of maxclients.
func TestMaxClientsOfACluster(t *testing.T) {
	f, _ := newCluster(t)
	s := f.session()
	f.expect(s, "CONFIG SET maxclients 12", "OK")
	require.Contains(t, f.do(s, "INFO clients"), "cluster_connections:10\\r\\n")
	require.Empty(t, f.node.Full())
	last := f.session()
	require.Equal(t, "ERR max number of clients + cluster connections reached", f.node.Full())
	require.Contains(t, f.do(s, "INFO stats"), "rejected_connections:1\\r\\n")
	f.node.Close(last)
	require.Empty(t, f.node.Full())
	f.expect(s, "CONFIG RESETSTAT", "OK")
	require.Contains(t, f.do(s, "INFO stats"), "rejected_connections:0\\r\\n")
}

func TestMovingSlots(t *testing.T) {
	f, topology := newCluster(t)
	s := f.session()
	number := slot.OfString("{a}")
	f.do(s, "SET {a}1 x")
	topology.slots[number] = SlotState{Owner: "me", Mine: true, Migrating: "10.0.0.2:7001"}
	f.expect(s,
		"GET {a}1", `"x"`,
		"GET {a}2", "(error) ASK 15495 10.0.0.2:7001",
		"MGET {a}1 {a}2", "(error) TRYAGAIN Multiple keys request during rehashing of slot")
	topology.slots[number] = SlotState{Owner: "10.0.0.2:7001", Importing: true}
	f.expect(s,
		"GET {a}1", "(error) MOVED 15495 10.0.0.2:7001",
		"ASKING", "OK", "GET {a}1", `"x"`,
		"GET {a}1", "(error) MOVED 15495 10.0.0.2:7001",
		"ASKING", "OK", "MGET {a}1 {a}2", "(error) TRYAGAIN Multiple keys request during rehashing of slot")
}

// A key that has expired is missing, and stays where it is until a command runs on it.
func TestExpiredKeysOfMovingSlots(t *testing.T) {
	f, topology := newCluster(t)
	s := f.session()
	f.do(s, "SET {a}1 x PX 3")
	topology.slots[slot.OfString("{a}")] = SlotState{Owner: "me", Mine: true, Migrating: "10.0.0.2:7001"}
	f.clock.advance(20 * time.Millisecond)
	f.expect(s,
		"GET {a}1", "(error) ASK 15495 10.0.0.2:7001",
		"MGET {a}1 {a}2", "(error) ASK 15495 10.0.0.2:7001", "DBSIZE", "(integer) 1")
	delete(topology.slots, slot.OfString("{a}"))
	f.expect(s, "GET {a}1", "(nil)", "DBSIZE", "(integer) 0")
}

func TestReadsOnAClusterReplica(t *testing.T) {
	f, topology := newCluster(t)
	s := f.session()
	f.node.BecomeReplica("10.0.0.1", 7000)
	topology.slots[slot.OfString("a")] = SlotState{Owner: "10.0.0.1:7000", MyMaster: true}
	f.expect(s,
		"GET a", "(error) MOVED 15495 10.0.0.1:7000",
		"READONLY", "OK", "GET a", "(nil)", "SET a 1", "(error) MOVED 15495 10.0.0.1:7000",
		"READWRITE", "OK", "GET a", "(error) MOVED 15495 10.0.0.1:7000")
}

func TestWithoutCluster(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	for _, command := range []string{"CLUSTER INFO", "CLUSTER HELP", "READONLY", "READWRITE", "ASKING"} {
		require.Equal(t, "(error) ERR This instance has cluster support disabled", f.do(s, command), command)
	}
	f.expect(s, "CLUSTER foo", "(error) ERR unknown subcommand 'foo'. Try CLUSTER HELP.",
		"CLUSTER", "(error) ERR wrong number of arguments for 'cluster' command")
}
