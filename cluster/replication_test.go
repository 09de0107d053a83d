package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Replication between a master, node 1, and its replica, node 2, over a virtual network.

// behind is how much of what the master has sent the replica has not acknowledged.
func (net *busNet) behind() int64 {
	node := net.members[0].Node()
	return node.Offset() - node.Replicas()[0].Offset
}

// The answer to REPLCONF GETACK does not count the question: who has done anything
// since, if only a read, waits for another answer.
func TestTheAnswerToAWaitDoesNotCountTheQuestion(t *testing.T) {
	net := newClusterNet(t, 1, 1)
	net.run(3*time.Second + 50*time.Millisecond)
	net.expect(1, "SET b 1", "OK", "WAIT 1 0", "(integer) 1")
	require.EqualValues(t, len(getAckEffect), net.behind())
	net.partition([]ID{1}, []ID{2})
	net.expect(1, "WAIT 1 100", "(integer) 1") // of the SET
	net.expect(1, "GET b", `"1"`, "WAIT 1 100", "(integer) 0")
	net.heal()
	net.expect(1, "WAIT 1 0", "(integer) 1")
	net.run(time.Second)
	require.Zero(t, net.behind(), "once a second the replica tells all that it has")
}

// A client's pause holds back the question of WAIT, and not the PINGs by which replicas
// know that their master is there.
func TestAPauseHoldsBackQuestionsNotPings(t *testing.T) {
	net := newClusterNet(t, 1, 1, "repl-ping-replica-period", "1")
	net.run(3*time.Second + 50*time.Millisecond)
	net.expect(1, "SET b 1", "OK", "CLIENT PAUSE 300 WRITE", "OK")
	waiting := net.send(1, "w", "WAIT 1 0") // it has written nothing
	require.Equal(t, "(integer) 1", net.got(waiting))
	net.send(1, "a", "WAIT 1 0")
	net.run(290 * time.Millisecond)
	require.True(t, net.clients["1/a"].Blocked())
	net.run(20 * time.Millisecond)
	require.Equal(t, "(integer) 1", net.got(net.clients["1/a"]))

	net.expect(1, "CLIENT PAUSE 10000 WRITE", "OK")
	before := net.members[0].Node().Offset()
	net.run(3 * time.Second)
	require.EqualValues(t, 3*len(pingEffect), net.members[0].Node().Offset()-before)
}

// Nor does it hold back what an attached replica acknowledges: one that has been silent
// for repl-timeout would be sent away.
func TestAPauseHoldsBackNoAcknowledgements(t *testing.T) {
	net := newClusterNet(t, 1, 1)
	net.run(3*time.Second + 50*time.Millisecond)
	net.expect(1, "CLIENT PAUSE 100000", "OK")
	net.run(70 * time.Second)
	require.Len(t, net.members[0].Node().Replicas(), 1)
}

// While a replica must reach the offset of its master to take over, there is no PING,
// which would move that; FAILOVER without an end holds none back.
func TestAFailoverHoldsBackPings(t *testing.T) {
	net := newClusterNet(t, 1, 1, "repl-ping-replica-period", "1")
	net.run(3*time.Second + 50*time.Millisecond)
	net.cut = func(from, _ ID) bool { return from == 1 }
	net.expect(2, "CLUSTER FAILOVER", "OK")
	net.run(50 * time.Millisecond)
	require.True(t, net.members[0].standsStill())
	node := net.members[0].Node()
	before := node.Offset()
	net.run(3 * time.Second)
	require.Equal(t, before, node.Offset())

	w := newVirtualWorld(t, deployment{replicas: 1}, 1)
	w.sleep(3*time.Second + 50*time.Millisecond)
	w.command("m1", "CONFIG SET repl-ping-replica-period 1")
	w.command("m1", "SET a 1")
	w.find("r1").cut[1] = true
	node = w.find("m1").proc.(*Member).Node()
	for _, one := range []struct {
		command string
		pings   int
	}{{"FAILOVER TIMEOUT 60000", 0}, {"FAILOVER", 3}} {
		require.Equal(t, "OK", w.command("m1", one.command).Str)
		before := node.Offset()
		w.sleep(3 * time.Second)
		require.EqualValues(t, one.pings*len(pingEffect), node.Offset()-before, one.command)
		w.command("m1", "FAILOVER ABORT")
	}
}

// Who was to take over and has another history since, as after a restart, refuses; then the
// master goes on as one, and both its replicas follow it.
func TestARefusedTakeoverEndsTheFailover(t *testing.T) {
	w := newVirtualWorld(t, deployment{replicas: 2}, 1)
	w.sleep(3 * time.Second)
	w.freeze("r1")
	w.command("m1", "SET a 1")
	w.command("m1", fmt.Sprintf("FAILOVER TO 127.0.0.1 %d TIMEOUT 500 FORCE", w.find("r1").port))
	w.sleep(time.Second)
	require.Equal(t, "slave", w.command("m1", "ROLE").List[0].Str)
	w.stop("r1")
	w.start("r1")
	w.sleep(5 * time.Second)
	require.Equal(t, "ERR No failover in progress.", w.command("m1", "FAILOVER ABORT").Str)
	require.Equal(t, "OK", w.command("m1", "SET a 2").Str)
	require.Len(t, w.command("m1", "ROLE").List[2].List, 2)
	w.sleep(time.Second)
	require.Equal(t, "2", w.command("r1", "GET a").Str)
}
