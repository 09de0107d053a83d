package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

var (
	randomSeed     = flag.Uint64("random.seed", 1, "seed of the random commands")
	randomCommands = flag.Int("random.commands", 3000, "how many random commands are compared")
)

// Random commands are sent to n1 and n2, masters, and n3, the replica of n1. One of n1's
// slots is on its way to n2.
var (
	// randomKeys are in two of n1's slots, in its third, which is on its way, and in two of n2's.
	randomKeys  = []string{"{b}1", "{b}2", "{f}1", "{j}1", "{j}2", "{j}3", "{a}1", "{a}2", "{e}1"}
	randomForms = strings.Split(strings.TrimSpace(`
GET K
GET K
SET K V
SET K V
DEL K
DEL K K
UNLINK K
EXISTS K K
TOUCH K
MGET K K
MSET K V K V
MSETNX K V K V
RPUSH L V
LPOP L
LLEN L
LMOVE L L LEFT RIGHT
BLPOP L 0.01
BLPOP L L 0.01
BLMOVE L L LEFT LEFT 0.01
SADD S V
SINTERCARD 2 S S
SINTERSTORE S S S
PFADD P V
PFMERGE P P
RENAME K K
COPY K K
COPY K K REPLACE
MOVE K 1
OBJECT ENCODING K
SORT L BY nosort
SORT L BY w*
SORT L GET w*
SORT L BY nosort STORE K
TYPE K
EVAL "return redis.call('get',KEYS[1])" 1 K
EVAL "return redis.call('set',KEYS[1],ARGV[1])" 1 K V
EVAL "return redis.call('mget',KEYS[1],KEYS[2])" 2 K K
EVAL "return redis.call('get',ARGV[1])" 0 K
EVAL "return redis.call('get',ARGV[1])" 1 K K
EVAL "return redis.pcall('set',ARGV[1],1)" 1 K K
EVAL "redis.call('get',ARGV[1]) return redis.call('get',ARGV[2])" 0 K K
EVAL "#!lua\nreturn redis.call('set',KEYS[1],ARGV[1])" 1 K V
EVAL "#!lua\nreturn redis.call('mget',ARGV[1],ARGV[2])" 0 K K
EVAL "#!lua flags=allow-cross-slot-keys\nreturn redis.call('mget',ARGV[1],ARGV[2])" 0 K K
EVAL "#!lua flags=allow-cross-slot-keys\nreturn redis.call('mget',ARGV[1],ARGV[2])" 1 K K K
EVAL "#!lua flags=no-cluster\nreturn 1" 1 K
EVAL "#!lua flags=no-writes\nreturn redis.call('get',KEYS[1])" 1 K
EVAL_RO "return redis.call('get',KEYS[1])" 1 K
EVAL "return redis.call('cluster','keyslot','x')" 0
EVAL "return redis.call('spublish',KEYS[1],'m')" 1 K
EVAL "return redis.call('spublish',ARGV[1],'m')" 1 K K
MULTI
MULTI
EXEC
EXEC
DISCARD
WATCH K
WATCH K K
UNWATCH
ASKING
ASKING
ASKING
READONLY
READWRITE
SPUBLISH K V
PUBLISH K V
SELECT 0
SELECT 1
SWAPDB 0 1
DBSIZE
CLUSTER KEYSLOT K
CLUSTER COUNTKEYSINSLOT 3564
CLUSTER GETKEYSINSLOT 3564 0
PUBSUB SHARDNUMSUB K
RESET
CLUSTER SETSLOT 3564 STABLE
CLUSTER SETSLOT 3564 MIGRATING #n2
CLUSTER SETSLOT 3564 MIGRATING #n2
CLUSTER SETSLOT 3564 IMPORTING #n1
CLUSTER SETSLOT 3564 IMPORTING #n1
FUNCTION LOAD REPLACE LIBRARY
FUNCTION LOAD REPLACE LIBRARY
FUNCTION FLUSH
FCALL write 1 K V
FCALL read 1 K
FCALL_RO read 1 K
FCALL read 0 K
FCALL reads 1 K K K
FCALL apart 0 K
PING
SET K V PX 100000
GETEX K PERSIST
GETDEL K
ZADD Z 1 V
ZRANGESTORE Z Z 0 -1
ZMPOP 2 Z Z MIN
ZUNIONSTORE Z 2 Z Z
LMPOP 2 L L LEFT
BZPOPMIN Z Z 0.01
XADD X 5-* f V
XREAD STREAMS X X 0 0
XREAD BLOCK 10 STREAMS X X $ $
XGROUP CREATE X g 0 MKSTREAM
XREADGROUP GROUP g c STREAMS X X > >
SMOVE S S V
BITOP OR K K K
LCS K K
GEOADD G 1 2 V
GEOSEARCHSTORE G G FROMLONLAT 1 2 BYRADIUS 10 km
COPY K K DB 1
MEMORY USAGE K
SORT_RO L BY w*
COMMAND GETKEYS MGET K K
CLUSTER GETKEYSINSLOT 3564 2
CLUSTER REPLICAS #n3
CLUSTER SETSLOT 3564 NODE nobody
CLUSTER SETSLOT 3564 NODE #n3
CLUSTER SETSLOT 3564 MIGRATING #n1
CLUSTER SETSLOT 3564 IMPORTING #n2
CONFIG SET min-replicas-to-write 2
CONFIG SET min-replicas-to-write 0
CONFIG SET min-replicas-to-write 0
SCRIPT LOAD "return redis.call('get',KEYS[1])"
SCRIPT FLUSH
EVALSHA d3c21d0c2b9ca22f82737626a27bcaf5d288f99f 1 K
EVALSHA d3c21d0c2b9ca22f82737626a27bcaf5d288f99f 2 K K
EVAL "return redis.call('readonly')" 0
EVAL "return redis.call('readwrite')" 0
EVAL "return redis.call('asking')" 0
EVAL "return {redis.pcall('set',ARGV[1],1),redis.pcall('set',ARGV[2],1)}" 0 K K
EVAL "#!lua\nreturn {redis.pcall('set',ARGV[1],1),redis.pcall('set',ARGV[2],1)}" 0 K K
EVAL "return redis.call('sort',KEYS[1],'by','w*')" 1 L
EVAL "return redis.call('copy',KEYS[1],ARGV[1])" 1 K K
EVAL_RO "return redis.call('spublish',KEYS[1],'m')" 1 K
RESTORE-ASKING K 0 "\x00\x01x\n\x00\"\x80\x86_\xbd\xe8H\xd0" REPLACE
MIGRATE 127.0.0.1 @n2 K 0 1000
MIGRATE 127.0.0.1 @n2 K 0 1000 COPY
MIGRATE 127.0.0.1 @n2 K 0 1000 REPLACE
MIGRATE 127.0.0.1 @n2 "" 0 1000 KEYS K K`), "\n")
)

// randomLibrary has a function of each kind that matters to a cluster.
const randomLibrary = `"#!lua name=l\n` +
	`redis.register_function('write',function(k,a) return redis.call('set',k[1],a[1]) end)\n` +
	`redis.register_function{function_name='read',flags={'no-writes'},callback=function(k,a) ` +
	`return redis.call('get',k[1] or a[1]) end}\n` +
	`redis.register_function{function_name='reads',flags={'allow-cross-slot-keys'},callback=function(k,a) ` +
	`return {redis.call('get',a[1]),redis.call('get',a[2])} end}\n` +
	`redis.register_function{function_name='apart',flags={'no-cluster'},callback=function(k,a) return 1 end}"`

// TestClusterAgainstRedis sends random commands to the nodes of a cluster of ours and of
// processes of REDIS_BINARY, and compares the replies.
func TestClusterAgainstRedis(t *testing.T) {
	binary := redisserver.Binary(t)
	t.Parallel() // most of the time it waits
	t.Logf("replay: REDIS_BINARY=%s go test ./cluster -run TestClusterAgainstRedis -random.seed=%d "+
		"-random.commands=%d", binary, *randomSeed, *randomCommands)
	const nodes, timeout = 4, 15_000
	real := newRandomCluster(t, newRealCluster(t, binary, nodes, timeout), nodes)
	ours := newRandomCluster(t, virtualCluster{newBusNet(t, nodes, goldenParameters(timeout)...)}, nodes)
	random := rand.New(rand.NewPCG(*randomSeed, 0))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	var past []string
	for range *randomCommands {
		node, client := ID(1+random.IntN(3)), pick([]string{"a", "b"})
		words := strings.Split(pick(randomForms), " ")
		for i, word := range words {
			switch word {
			case "K":
				words[i] = pick(randomKeys)
			case "L", "S", "P", "Z", "X", "G":
				words[i] = pick(randomKeys) + word
			case "LIBRARY":
				words[i] = randomLibrary
			case "V":
				words[i] = pick([]string{"x", "y", "1"})
			}
		}
		if words[0] == "MIGRATE" {
			node = 1 // not to itself
		}
		line := strings.Join(words, " ")
		past = append(past, fmt.Sprintf("n%d %s  %s", node, client, line))
		want, got := real.reply(node, client, line), ours.reply(node, client, line)
		require.Equal(t, want, got, "after\n%s", strings.Join(past[max(0, len(past)-40):], "\n"))
	}
}

// newRandomCluster makes a cluster in which a slot is on its way.
func newRandomCluster(t *testing.T, target clusterTarget, nodes int) *clusterGolden {
	g := &clusterGolden{t: t, target: target}
	g.nameNodes(nodes)
	g.form(2, 1)
	slot := g.one(1, "CLUSTER KEYSLOT {j}").Int
	require.Equal(t, "OK", g.one(1, fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING #n2", slot)).Str)
	require.Equal(t, "OK", g.one(2, fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING #n1", slot)).Str)
	return g
}

// reply is what a node replies; n3 once it has all that its master has.
func (g *clusterGolden) reply(node ID, client, line string) string {
	const master, replica = 1, 3
	if node == replica {
		sent := g.offset(master)
		require.Eventually(g.t, func() bool { return g.offset(replica) >= sent }, 10*time.Second, time.Millisecond)
	}
	cmd, ok := resp.SplitArgs([]byte(g.names.unmask(line)))
	require.True(g.t, ok, line)
	v, sent := g.target.ask(node, client, cmd)
	require.True(g.t, sent, "no reply: %s", line)
	return g.show(v)
}

// offset is up to where a node has its master's effects.
func (g *clusterGolden) offset(node ID) int {
	v, _ := g.target.ask(node, "control", [][]byte{[]byte("INFO"), []byte("replication")})
	found := regexp.MustCompile(`master_repl_offset:(\d+)`).FindStringSubmatch(v.Str)
	require.NotNil(g.t, found)
	n, err := strconv.Atoi(found[1])
	require.NoError(g.t, err)
	return n
}
