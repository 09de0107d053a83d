package cluster

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

// Random commands to a Sentinel that watches m1 and r1, and other masters besides, which
// come and go. N is the name of a master, O of another than mymaster, A an address; no two have the same.
var (
	sentinelForms = strings.Split(strings.TrimSpace(`
SENTINEL MONITOR other 127.0.0.1 1 1
SENTINEL MONITOR o.2 127.0.0.1 @r1 I
SENTINEL MONITOR o.2 localhost 2 2
SENTINEL MONITOR o.2 ::1 2 2
SENTINEL MONITOR O 127.0.0.1 0 I
SENTINEL MONITOR O W 65536 I
SENTINEL MONITOR W 127.0.0.1 3 0
SENTINEL MONITOR O 127.0.0.1 3 W
SENTINEL MONITOR O 127.0.0.1 W I
SENTINEL REMOVE O
SENTINEL REMOVE W
SENTINEL MASTERS
SENTINEL MASTERS W
SENTINEL MASTER N
SENTINEL MASTER N
SENTINEL MASTER W
SENTINEL REPLICAS mymaster
SENTINEL SLAVES mymaster
SENTINEL SENTINELS N
SENTINEL REPLICAS W
SENTINEL GET-MASTER-ADDR-BY-NAME N
SENTINEL GET-MASTER-ADDR-BY-NAME W
SENTINEL IS-MASTER-DOWN-BY-ADDR A I *
SENTINEL IS-MASTER-DOWN-BY-ADDR A I W
SENTINEL IS-MASTER-DOWN-BY-ADDR A I #s1
SENTINEL IS-MASTER-DOWN-BY-ADDR A I 0123456789012345678901234567890123456789
SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 W I *
SENTINEL RESET W
SENTINEL RESET o*
SENTINEL RESET [
SENTINEL CKQUORUM mymaster
SENTINEL CKQUORUM W
SENTINEL FLUSHCONFIG
SENTINEL SET N quorum I
SENTINEL SET N quorum I quorum I
SENTINEL SET N down-after-milliseconds 60000 quorum W
SENTINEL SET N down-after-milliseconds LONG
SENTINEL SET N failover-timeout LONG
SENTINEL SET N failover-timeout W
SENTINEL SET N parallel-syncs I
SENTINEL SET N master-reboot-down-after-period I
SENTINEL SET O auth-user W
SENTINEL SET O auth-pass W
SENTINEL SET O auth-pass W quorum I W W
SENTINEL SET N notification-script W
SENTINEL SET N client-reconfig-script W
SENTINEL SET O rename-command W W
SENTINEL SET O rename-command PING PONG
SENTINEL SET O rename-command W
SENTINEL SET N W W
SENTINEL SET N W
SENTINEL SET W quorum I
SENTINEL CONFIG GET *
SENTINEL CONFIG GET W
SENTINEL CONFIG GET a*
SENTINEL CONFIG GET announce-port
SENTINEL CONFIG GET resolve-hostnames announce-ip
SENTINEL CONFIG SET announce-hostnames yes
SENTINEL CONFIG SET announce-hostnames W
SENTINEL CONFIG SET resolve-hostnames no
SENTINEL CONFIG SET resolve-hostnames W
SENTINEL CONFIG SET announce-port I
SENTINEL CONFIG SET announce-port W
SENTINEL CONFIG SET announce-ip W
SENTINEL CONFIG SET sentinel-user W
SENTINEL CONFIG SET sentinel-pass W
SENTINEL CONFIG SET loglevel W
SENTINEL CONFIG SET loglevel notice
SENTINEL CONFIG SET W W
SENTINEL CONFIG SET announce-port I announce-ip W
SENTINEL CONFIG SET W
SENTINEL CONFIG W W
SENTINEL CONFIG W
SENTINEL DEBUG
SENTINEL DEBUG W W
SENTINEL DEBUG info-period 10000
SENTINEL DEBUG INFO-PERIOD W
SENTINEL DEBUG election-timeout 10000 W
SENTINEL DEBUG tilt-period 30000 script-max-runtime LONG
SENTINEL INFO-CACHE W
SENTINEL PENDING-SCRIPTS
SENTINEL MYID
SENTINEL MYID W
SENTINEL HELP
SENTINEL HELP W
SENTINEL W
SENTINEL W W
SENTINEL
SENTINEL SIMULATE-FAILURE W
SENTINEL SIMULATE-FAILURE HELP
SENTINEL SIMULATE-FAILURE HELP W
SENTINEL SIMULATE-FAILURE
SENTINEL FAILOVER nobody
ROLE
ROLE W
INFO nosuch
INFO errorstats
PING
PING W
PING W W
ECHO W
GET W
SET W W
EVAL W W
MULTI
CONFIG GET W
SELECT I
PUBLISH W W
PUBLISH __sentinel__:hello W
PUBLISH __sentinel__:hello 127.0.0.1,1,2,3,4,5,6,7
AUTH W
AUTH W W
HELLO 2
HELLO W
HELLO I W
CLIENT GETNAME
CLIENT SETNAME W
CLIENT W
CLIENT NO-EVICT W
CLIENT REPLY W
CLIENT TRACKING W
COMMAND COUNT
COMMAND INFO W
COMMAND INFO sentinel|W publish
COMMAND GETKEYS PUBLISH W W
COMMAND GETKEYS W W
COMMAND W
ACL WHOAMI
ACL LIST
ACL CAT W
ACL SETUSER W on
ACL SETUSER W W
ACL GETUSER W
ACL DELUSER W
ACL DRYRUN default PUBLISH W W
ACL W
UNSUBSCRIBE W
PUNSUBSCRIBE W
RESET`), "\n")
	sentinelWords = []string{
		"nobody", "x y", "", "-1", "0", "a", "yes", "no", "1e3", "9223372036854775808", "é", "o\\r\\nx", "a*b", "other",
		"ping", "PUBLISH", "default", "verbose",
	}
)

// TestSentinelAgainstRedis sends random commands to a Sentinel of ours and to one of
// REDIS_BINARY, and compares the replies. Of masters other than mymaster it compares what
// they are set to: what they are like comes to be known a moment later.
func TestSentinelAgainstRedis(t *testing.T) {
	binary := redisserver.Binary(t)
	t.Parallel() // most of the time it waits
	t.Logf("replay: REDIS_BINARY=%s go test ./cluster -run TestSentinelAgainstRedis -random.seed=%d "+
		"-random.commands=%d", binary, *randomSeed, *randomCommands)
	cfg := deployment{replicas: 1, sentinels: 1, quorum: 1, downAfter: time.Hour, failoverTimeout: time.Hour}
	real := newRandomSentinel(t, cfg, newRealWorld(t, binary, cfg))
	ours := newRandomSentinel(t, cfg, newVirtualWorld(t, cfg, 1))
	random := rand.New(rand.NewPCG(*randomSeed, 0))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	var past []string
	for range *randomCommands {
		words := strings.Split(pick(sentinelForms...), " ")
		for i, word := range words {
			switch word {
			case "N":
				words[i] = pick("mymaster", "mymaster", "other", "o.2")
			case "O":
				words[i] = pick("other", "o.2")
			case "A":
				words[i] = pick("127.0.0.1 @m1", "127.0.0.1 @r1", "127.0.0.1 1", "127.0.1 2", "::1 1", "::1 2",
					"localhost 1", "localhost 2")
			case "I":
				words[i] = pick("1", "2", "3", "0", "7", "65536")
			case "LONG":
				words[i] = pick("60000", "3600000", "100000000000")
			default:
				if begin, ok := strings.CutSuffix(word, "W"); ok {
					words[i] = begin + `"` + pick(sentinelWords...) + `"`
				}
			}
		}
		line := strings.Join(words, " ")
		past = append(past, line)
		want, got := real.reply(line), ours.reply(line)
		require.Equal(t, want, got, "after\n%s", strings.Join(past[max(0, len(past)-40):], "\n"))
	}
}

// randomSentinel is a Sentinel that is asked.
type randomSentinel struct {
	t      *testing.T
	target sentinelTarget
	names  namer
}

func newRandomSentinel(t *testing.T, cfg deployment, target sentinelTarget) *randomSentinel {
	return &randomSentinel{t, target, meetEachOther(t, cfg, target)}
}

func (r *randomSentinel) reply(line string) string {
	cmd, ok := resp.SplitArgs([]byte(r.names.unmask(line)))
	require.True(r.t, ok, line)
	v := r.target.ask("s1", cmd)
	hideVolatile(v)
	hideUnsettled(v)
	for i := range v.List {
		hideUnsettled(v.List[i])
	}
	sortHashes(line, v, r.names)
	return r.names.mask(resp.Describe(v))
}

// hideUnsettled leaves of what is said of a master, other than mymaster, what it is set to.
func hideUnsettled(v resp.Value) {
	if len(v.List) < 4 || v.List[0].Str != "name" || v.List[1].Str == "mymaster" {
		return
	}
	set := []string{
		"name", "ip", "port", "down-after-milliseconds", "config-epoch", "quorum", "failover-timeout", "parallel-syncs",
	}
	for i := 0; i+1 < len(v.List); i += 2 {
		if !slices.Contains(set, v.List[i].Str) {
			v.List[i], v.List[i+1] = resp.Str("~"), resp.Str("~")
		}
	}
}
