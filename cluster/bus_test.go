package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// agree waits until all nodes but those left out find the cluster working, and
// believe the same of every slot.
func (net *busNet) agree(limit time.Duration, out ...ID) {
	net.t.Helper()
	net.until(limit, "all agree", func() bool {
		var first *busNode
		for _, m := range net.members {
			b := net.bus(m.ID())
			if m.dead || slices.Contains(out, m.ID()) {
				continue
			}
			if b.state != clusterOK {
				return false
			}
			if first == nil {
				first = b
			}
			for number := range b.slots.owner {
				if b.owner(number).name != first.owner(number).name {
					return false
				}
			}
		}
		return true
	})
}

func TestLayoutIsAWorkingCluster(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.expect(1, "SET b 1", "OK", "SET a 1", "(error) MOVED 15495 127.0.0.1:21402")
	net.run(3 * time.Second)
	for id := ID(1); id <= 6; id++ {
		require.Equal(t, clusterOK, net.bus(id).state)
		require.Len(t, net.bus(id).peers, 6)
		for _, p := range net.bus(id).peers {
			require.Zero(t, p.flags&(flagPFail|flagFail))
			require.True(t, p.connected() || p.flags&flagSelf != 0)
		}
	}
	require.Equal(t, []slotRange{{0, 5460}}, net.seen(2, 1).slots.ranges())
	require.Equal(t, []slotRange{{5461, 10922}}, net.seen(2, 2).slots.ranges())
	require.Equal(t, []slotRange{{10923, 16383}}, net.seen(2, 3).slots.ranges())
}

func TestLayoutRefusesBadCounts(t *testing.T) {
	dir := Directory{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	for _, bad := range [][2]int{{0, 0}, {-1, 1}, {3, 1}, {2, 0}, {1, -1}, {16385, 0}} {
		_, err := NewLayout(dir, bad[0], bad[1], source(1), BusConfig{})
		require.Error(t, err, "%v", bad)
	}
}

func TestACrashedMasterIsReplaced(t *testing.T) {
	for seed := range 20 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			net := newClusterNet(t, 3, 1)
			net.run(3*time.Second + time.Duration(seed)*37*time.Millisecond)
			net.expect(1, "SET b 1", "OK")
			net.run(time.Second)
			net.kill(1)
			// Half the timeout passes until a PING is due, all of it until it counts,
			// then the news must get round and the election begins after 0.5 to 1 s.
			net.until(6*time.Second, "the replica is elected", func() bool { return net.bus(4).self.isMaster() })
			net.agree(2*time.Second, 1)
			net.expect(4, "GET b", `"1"`)
			require.EqualValues(t, 7, net.bus(4).self.configEpoch)
			net.restart(1, true)
			net.until(3*time.Second, "it is a replica", func() bool { return net.bus(1).self.isReplica() })
			require.Equal(t, net.name(4), net.bus(1).self.master.name)
			net.agree(5 * time.Second)
		})
	}
}

func TestAMinorityStops(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	net.expect(1, "SET b old", "OK")
	net.run(100 * time.Millisecond)
	net.partition([]ID{1}, []ID{2, 3, 4, 5, 6})
	took := net.until(6*time.Second, "the minority stops", func() bool { return net.bus(1).state == clusterFails })
	require.Greater(t, took, 1500*time.Millisecond)
	const down = "(error) CLUSTERDOWN The cluster is down"
	net.expect(1, "SET b lost", down, "GET b", down)
	net.until(6*time.Second, "the majority goes on", func() bool { return net.bus(4).self.isMaster() })
	net.agree(3*time.Second, 1)
	net.expect(4, "SET b new", "OK")
	net.heal()
	net.until(6*time.Second, "the old master follows", func() bool { return net.bus(1).self.isReplica() })
	net.agree(6 * time.Second)
	net.run(3 * time.Second)
	net.expect(1, "READONLY", "OK", "GET b", `"new"`)
}

func TestAHealedMasterWaitsBeforeItServes(t *testing.T) {
	net := newClusterNet(t, 3, 0)
	net.run(3 * time.Second)
	net.partition([]ID{1}, []ID{2}, []ID{3})
	net.until(6*time.Second, "all stop", func() bool {
		return net.bus(1).state == clusterFails && net.bus(2).state == clusterFails
	})
	net.run(3 * time.Second)
	net.heal()
	took := net.until(20*time.Second, "it serves again", func() bool { return net.bus(1).state == clusterOK })
	require.Greater(t, took, 2*time.Second, "cluster-node-timeout after the partition")
	net.agree(20 * time.Second)
}

func TestEpochsThatCollideAreMadeDifferent(t *testing.T) {
	net := newBusNet(t, 5)
	for id := ID(1); id <= 5; id++ {
		net.expect(id, "CLUSTER BUMPEPOCH", "BUMPED 1", fmt.Sprintf("CLUSTER ADDSLOTS %d", id), "OK")
	}
	for id := ID(2); id <= 5; id++ {
		net.expect(id, "CLUSTER MEET 127.0.0.1 21400", "OK")
	}
	distinct := func() bool {
		used := map[uint64]bool{}
		for id := ID(1); id <= 5; id++ {
			used[net.bus(id).self.configEpoch] = true
		}
		return len(used) == 5
	}
	net.until(20*time.Second, "all epochs differ", distinct)
	net.run(5 * time.Second)
	require.True(t, distinct())
	for id := ID(1); id <= 5; id++ {
		for other := ID(1); other <= 5; other++ {
			require.Equal(t, net.bus(other).self.configEpoch, net.seen(id, other).configEpoch)
		}
	}
}

func TestAManualFailoverLosesNoWrite(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	written := 0
	write := func() {
		s := net.send(1, "w"+strconv.Itoa(written), fmt.Sprintf("RPUSH b %d", written))
		written++
		_ = s
	}
	for range 50 {
		write()
		net.run(time.Millisecond)
	}
	net.expect(4, "CLUSTER FAILOVER", "OK")
	for range 400 {
		write()
		net.run(time.Millisecond)
	}
	net.until(3*time.Second, "the replica is master", func() bool { return net.bus(4).self.isMaster() })
	net.agree(3 * time.Second)
	net.run(time.Second)
	acknowledged := 0
	for i := range written {
		reply := net.got(net.clients["1/w"+strconv.Itoa(i)])
		if strings.HasPrefix(reply, "(integer)") {
			acknowledged++
		} else {
			require.Equal(t, "(error) MOVED 3300 127.0.0.1:21403", reply)
		}
	}
	require.Greater(t, acknowledged, 50)
	require.Less(t, acknowledged, written)
	net.expect(4, "LLEN b", fmt.Sprintf("(integer) %d", acknowledged))
	net.run(3 * time.Second)
	net.expect(1, "READONLY", "OK", "LLEN b", fmt.Sprintf("(integer) %d", acknowledged))
}

func TestTheReplicaWithMoreDataIsElected(t *testing.T) {
	net := newClusterNet(t, 3, 2) // 1 has the replicas 4 and 5
	net.run(3 * time.Second)
	net.cut = func(from, to ID) bool { return from == 1 && to == 4 || from == 4 && to == 1 }
	net.expect(1, "SET b 1", "OK")
	net.run(900 * time.Millisecond)
	net.kill(1)
	net.until(8*time.Second, "5 is master", func() bool { return net.bus(5).self.isMaster() })
	net.agree(3 * time.Second)
	require.True(t, net.bus(4).self.isReplica())
	net.expect(5, "GET b", `"1"`)
}

func TestAReplicaOutOfTouchIsNotElected(t *testing.T) {
	for _, factor := range []string{"1", "0"} { // 0: however old its data is
		net := newClusterNet(t, 3, 1, "cluster-replica-validity-factor", factor)
		net.run(3 * time.Second)
		net.cut = func(from, to ID) bool { return from == 1 && to == 4 || from == 4 && to == 1 }
		net.run(90 * time.Second) // the link is given up after repl-timeout
		net.kill(1)
		net.run(20 * time.Second)
		require.Equal(t, factor == "0", net.bus(4).self.isMaster())
		if factor == "0" {
			continue
		}
		require.Equal(t, clusterFails, net.bus(2).state)
		net.expect(4, "CLUSTER FAILOVER FORCE", "OK")
		net.until(5*time.Second, "it is forced", func() bool { return net.bus(4).self.isMaster() })
	}
}

// A restarted master waits for the others to correct it before it serves; a replica need not.
// Source: clusterUpdateState of Redis 7.0.
func TestHowSoonARestartedNodeServes(t *testing.T) {
	for id, wait := range map[ID]time.Duration{1: 2 * time.Second, 4: 0} {
		net := newClusterNet(t, 3, 1)
		net.run(3 * time.Second)
		net.kill(id)
		net.restart(id, true)
		took := net.until(3*time.Second, "it serves", func() bool { return net.bus(id).state == clusterOK })
		require.GreaterOrEqual(t, took, wait)
		require.Less(t, took, wait+500*time.Millisecond)
	}
}

// Nor do those of masters without slots count, or of an earlier election.
// Source: clusterProcessPacket of Redis 7.0.
func TestWhoseVotesCount(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	e, voter := &net.bus(4).election, net.seen(4, 2)
	e.epoch = 20
	vote := func(epoch uint64) int {
		e.voted(voter, &packet{currentEpoch: epoch})
		return e.votes
	}
	require.Equal(t, 0, vote(19))
	require.Equal(t, 1, vote(20))
	require.Equal(t, 2, vote(21))
	net.bus(4).deleteSlotsOf(voter)
	require.Equal(t, 2, vote(20))
	e.voted(net.seen(4, 5), &packet{currentEpoch: 20}) // a replica
	require.Equal(t, 2, e.votes)
}

func TestInfoCountsPackets(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(10 * time.Second)
	count := func(name string) int {
		found := regexp.MustCompile("cluster_stats_messages_" + name + `:(\d+)\r\n`).FindStringSubmatch(
			net.bus(1).runInfo(nil).Str)
		require.NotNil(t, found, name)
		n, _ := strconv.Atoi(found[1])
		return n
	}
	require.Positive(t, count("ping_sent"))
	require.Positive(t, count("pong_received"))
	require.Equal(t, count("ping_sent")+count("pong_sent"), count("sent"))
	require.Equal(t, count("ping_received")+count("pong_received"), count("received"))
	require.LessOrEqual(t, count("pong_received"), count("ping_sent"))
}

func TestAnOrphanedMasterIsGivenAReplica(t *testing.T) {
	net := newClusterNet(t, 3, 2)
	net.run(3 * time.Second)
	net.kill(4)
	net.kill(5) // those of 1
	alone := func() bool { return net.seen(6, 4).failed() && net.seen(6, 5).failed() }
	net.until(10*time.Second, "1 is without replicas", alone)
	took := net.until(20*time.Second, "1 has a replica again", func() bool {
		return len(net.bus(1).self.replicas) == 3
	})
	require.Greater(t, took, 4500*time.Millisecond)
	net.run(5 * time.Second)
	adopted := 0
	for id := ID(6); id <= 9; id++ {
		if net.bus(id).self.master.name == net.name(1) {
			adopted++
		}
	}
	require.Equal(t, 1, adopted)
	for _, master := range []ID{2, 3} {
		own := net.seen(1, master).replicas
		require.NotContains(t, own, net.bus(1).self.replicas[2], "it is no replica of its former master")
	}
}

func TestALostCopyOfARestartedMaster(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	net.expect(1, "SET b 1", "OK")
	net.run(100 * time.Millisecond)
	net.kill(1)
	net.restart(1, false) // before anybody has noticed
	net.until(5*time.Second, "it serves", func() bool { return net.bus(1).state == clusterOK })
	net.expect(1, "GET b", "(nil)") // Redis has that flaw, too: an empty master wins over its replica
	require.True(t, net.bus(1).self.isMaster())
}

func TestAForgottenNodeStaysAway(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	name := net.name(6)
	for id := ID(1); id <= 5; id++ {
		if id != 3 {
			net.expect(id, "CLUSTER FORGET "+name, "OK")
		}
	}
	net.run(10 * time.Second)
	require.Nil(t, net.bus(1).byName[name])
	net.run(60 * time.Second)
	require.NotNil(t, net.bus(1).byName[name], "node 3 still tells of it")
}

func TestRunsAreEqual(t *testing.T) {
	story := func() string {
		net := newClusterNet(t, 3, 2)
		net.run(3 * time.Second)
		net.kill(1)
		net.run(10 * time.Second)
		net.restart(1, true)
		net.run(10 * time.Second)
		return strings.Join(net.log, "\n") + net.nodes(1) + net.nodes(5)
	}
	require.Equal(t, story(), story())
}

func TestASlotMovesUnderWrites(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.run(3 * time.Second)
	for i := range 40 {
		net.expect(1, fmt.Sprintf("SET {b}%d 0", i), "OK")
	}
	net.expect(2, "CLUSTER SETSLOT 3300 IMPORTING "+net.name(1), "OK")
	net.expect(1, "CLUSTER SETSLOT 3300 MIGRATING "+net.name(2), "OK")
	for i := range 40 {
		moving := net.send(1, "mover", fmt.Sprintf("MIGRATE 127.0.0.1 21401 {b}%d 0 1000", i))
		require.True(t, moving.Blocked())
		writers := []string{}
		for w := range 3 { // while the key is on its way they must wait
			client := fmt.Sprintf("w%d-%d", i, w)
			writers = append(writers, client)
			s := net.send(1, client, fmt.Sprintf("INCR {b}%d", (i+w)%40))
			require.Equal(t, i+w < 40, s.Blocked(), "one that has gone before is asked for elsewhere")
		}
		net.run(20 * time.Millisecond)
		require.Equal(t, "OK", net.got(moving))
		for w, client := range writers {
			key := fmt.Sprintf("{b}%d", (i+w)%40)
			reply := net.got(net.clients["1/"+client])
			if strings.HasPrefix(reply, "(error) ASK 3300 127.0.0.1:21401") {
				net.expect(2, "ASKING", "OK")
				reply = net.do(2, "INCR "+key)
			}
			require.Regexp(t, `^\(integer\)`, reply)
		}
	}
	net.expect(2, "CLUSTER SETSLOT 3300 NODE "+net.name(2), "OK")
	net.expect(1, "CLUSTER SETSLOT 3300 NODE "+net.name(2), "OK")
	net.agree(5 * time.Second)
	for i := range 40 {
		net.expect(2, fmt.Sprintf("GET {b}%d", i), `"3"`)
	}
}

func TestMigrateGivesUp(t *testing.T) {
	net := newClusterNet(t, 3, 0)
	net.run(time.Second)
	net.expect(1, "SET b 1", "OK", "CLUSTER SETSLOT 3300 MIGRATING "+net.name(2), "OK")
	net.expect(2, "CLUSTER SETSLOT 3300 IMPORTING "+net.name(1), "OK")
	const unread = "(error) IOERR error or timeout reading to target instance"
	net.partition([]ID{1, 3}, []ID{2})
	start := net.now
	net.expect(1, "MIGRATE 127.0.0.1 21401 b 0 300", unread, "GET b", `"1"`)
	require.InDelta(t, 300, (net.now - start).Milliseconds(), 10)
	net.heal()
	waiting := net.send(1, "m", "MIGRATE 127.0.0.1 21401 b 0 1000")
	net.kill(2)
	net.run(20 * time.Millisecond)
	require.Equal(t, unread, net.got(waiting))
	net.expect(1, "GET b", `"1"`, "SET b 2", "OK")
	net.expect(1, "MULTI", "OK", "MIGRATE 127.0.0.1 21401 b 0 300", "QUEUED",
		"EXEC", "1) (error) IOERR error or timeout writing to target instance")
}

func TestBlockedClientsAreSentAfterTheirSlot(t *testing.T) {
	net := newClusterNet(t, 3, 0)
	net.run(3 * time.Second)
	waiting := net.send(1, "w", "BLPOP b 0")
	other := net.send(1, "o", "BLPOP f 0")
	require.True(t, waiting.Blocked() && other.Blocked())
	net.expect(1, "CLUSTER SETSLOT 3300 NODE "+net.name(2), "OK")
	net.run(200 * time.Millisecond)
	require.Equal(t, "(error) MOVED 3300 127.0.0.1:21401", net.got(waiting))
	require.True(t, other.Blocked())
	net.kill(3)
	net.until(10*time.Second, "the cluster is down", func() bool { return net.bus(1).state == clusterFails })
	net.run(200 * time.Millisecond)
	require.Equal(t, "(error) CLUSTERDOWN The cluster is down", net.got(other))
}

func TestACloseLookAtOneMaster(t *testing.T) {
	net := newClusterNet(t, 1, 1)
	net.run(3 * time.Second)
	net.kill(2)
	net.run(10 * time.Second)
	require.Equal(t, flagPFail, net.seen(1, 2).flags&(flagPFail|flagFail))
	require.Equal(t, clusterOK, net.bus(1).state)
}

func TestMeetingNobody(t *testing.T) {
	net := newBusNet(t, 2)
	net.expect(1, "CLUSTER MEET 127.0.0.1 9999", "OK", "CLUSTER MEET 127.0.0.1 9999", "OK")
	require.Len(t, net.bus(1).peers, 2, "asked twice, there is one handshake")
	require.Contains(t, net.nodes(1), "127.0.0.1:9999@19999 handshake - ")
	net.run(2500 * time.Millisecond)
	require.Len(t, net.bus(1).peers, 1, "given up after the node timeout")
}

func TestResetOfAReplicaLeavesNothing(t *testing.T) {
	net := newClusterNet(t, 3, 1)
	net.expect(1, "SET b 1", "OK")
	net.run(3 * time.Second)
	net.expect(4, "DBSIZE", "(integer) 1", "CLUSTER RESET HARD", "OK", "DBSIZE", "(integer) 0")
	require.Len(t, net.bus(4).peers, 1)
	require.True(t, net.bus(4).self.isMaster())
	require.False(t, net.members[3].Node().IsReplica())
	net.run(10 * time.Second)
	require.Len(t, net.bus(4).peers, 1, "the others know its former name only")
	net.expect(1, "GET b", `"1"`)
}

func TestWhoGetsAVote(t *testing.T) {
	net := newClusterNet(t, 3, 2) // 4 and 5 are replicas of 1, 6 and 7 of 2
	net.run(3 * time.Second)
	b := net.bus(3)
	for _, id := range []ID{1, 2} {
		net.seen(3, id).flags |= flagFail
	}
	ask := func(candidate ID, epoch uint64) *packet {
		master := net.seen(3, candidate).master
		return &packet{currentEpoch: epoch, configEpoch: master.configEpoch, slots: master.slots}
	}
	denial := func(candidate ID, msg *packet) string { return b.election.denial(net.seen(3, candidate), msg) }
	b.currentEpoch = 20
	require.Equal(t, "reqEpoch (19) < curEpoch(20)", denial(4, ask(4, 19)))
	require.Equal(t, "it is a master node", denial(1, ask(4, 20)))
	require.Equal(t, "its master is up", denial(8, ask(8, 20)))
	old := ask(4, 20)
	old.configEpoch = 0
	require.Equal(t, "slot 0 epoch (1) > reqEpoch (0)", denial(4, old))
	require.Empty(t, denial(4, ask(4, 20)))
	b.election.vote(net.seen(3, 4), ask(4, 20))
	require.Equal(t, "already voted for epoch 20", denial(6, ask(6, 20)))
	b.currentEpoch = 21
	require.Empty(t, denial(6, ask(6, 21)))
	require.Equal(t, "can't vote about this master before 4000 milliseconds", denial(5, ask(5, 21)))
	net.now += 4 * time.Second
	require.Empty(t, denial(5, ask(5, 21)))
	forced := ask(8, 21)
	forced.forced = true
	require.Empty(t, denial(8, forced))
	b.deleteSlotsOf(b.self)
	require.Equal(t, "I'm not a master with slots", denial(5, ask(5, 21)))
}

// That a connection is refused is no sign by itself: the timeout begins with the PING
// that would have been due anyway, half a timeout after the latest PONG or sooner.
// Seen on redis-server 7.0.15: with 5 s, a master that was killed is silent for all
// after 5.1 to 7.6 s.
func TestACrashIsNoticedByPings(t *testing.T) {
	const timeout = 15 * time.Second
	var earliest, latest time.Duration = timeout * 2, 0
	for seed := range 20 {
		net := newClusterNet(t, 3, 1, "cluster-node-timeout", "15000")
		net.run(20*time.Second + time.Duration(seed)*137*time.Millisecond)
		net.kill(1)
		took := net.until(timeout*2, "it is silent", func() bool { return net.seen(2, 1).flags&(flagPFail|flagFail) != 0 })
		earliest, latest = min(earliest, took), max(latest, took)
	}
	require.Less(t, earliest, timeout+time.Second)
	require.Greater(t, latest, timeout+2*time.Second)
	require.LessOrEqual(t, latest, timeout*3/2+busPeriod)
}
