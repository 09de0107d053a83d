package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// How Sentinels watch servers, and what they do to their clients.

// A crash is found after down-after-milliseconds and at most two crons; silence up to a
// PING later, of which there is one each second or each down-after-milliseconds.
// Source: with 500 ms, 3 s and 8 s Sentinels of redis-server 7.0.15 found crashes after
// 0.52 to 0.61, 3.01 to 3.09 and 8.02 to 8.09 s, and frozen masters after 0.57 to 0.83,
// 3.06 to 3.92 and 8.06 to 8.76 s.
func TestHowSoonAMasterIsFoundDown(t *testing.T) {
	const crons = 200 * time.Millisecond
	for _, downAfter := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 8 * time.Second} {
		cfg := usual
		cfg.downAfter = downAfter
		ping := min(downAfter, time.Second)
		latest := time.Duration(0)
		for seed := range 20 {
			for _, frozen := range []bool{false, true} {
				w := startSet(t, cfg, uint64(seed))
				w.sleep(time.Duration(seed) * 137 * time.Millisecond)
				begun, limit := w.now, downAfter+crons
				if frozen {
					w.freeze("m1")
					limit += ping
				} else {
					w.stop("m1")
				}
				for !w.sentinel("s1").masters[0].is(instSDown) {
					require.LessOrEqual(t, w.now-begun, limit)
					w.sleep(time.Millisecond)
				}
				require.Greater(t, w.now-begun, downAfter)
				latest = max(latest, w.now-begun)
			}
		}
		require.Greater(t, latest, downAfter+ping/2)
	}
}

// What SENTINEL MASTER says was so long ago was at most a period ago while all is well.
func TestAgesOfWhatIsSeen(t *testing.T) {
	w := startSet(t, usual, 1)
	for range 30 {
		w.sleep(777 * time.Millisecond)
		m := fields(w.command("s1", "SENTINEL MASTER mymaster"))
		for name, most := range map[string]int64{
			"last-ok-ping-reply": 1200, "last-ping-reply": 1200, "info-refresh": 10200,
		} {
			require.NotEmpty(t, m[name], name)
			require.GreaterOrEqual(t, leadingInt(m[name]), int64(0), name)
			require.LessOrEqual(t, leadingInt(m[name]), most, name)
		}
		other := fields(w.command("s1", "SENTINEL SENTINELS mymaster").List[0])
		require.LessOrEqual(t, leadingInt(other["last-hello-message"]), int64(2200))
		cached := w.command("s1", "SENTINEL INFO-CACHE mymaster").List[1].List[0].List[0].Int
		require.Equal(t, leadingInt(m["info-refresh"]), cached)
	}
}

// A subscription over which nothing comes is made anew.
// Source: sentinelCheckSubjectivelyDown of Redis 7.0.
func TestASilentSubscriptionIsMadeAnew(t *testing.T) {
	w := startSet(t, usual, 1)
	s := w.sentinel("s1")
	w.sleep(20 * time.Second)
	link := s.masters[0].link
	conn, now := link.pubsub.Conn(), s.now()
	link.pubsubActive = now - s.periods.publish*3 - 1
	s.checkConnections(s.masters[0], now)
	require.Nil(t, link.pubsub)
	w.sleep(time.Second)
	require.NotNil(t, link.pubsub)
	require.NotEqual(t, conn, link.pubsub.Conn())
	link.pubsubActive = s.now() - s.periods.publish*3 - 1
	s.checkConnections(s.masters[0], s.now())
	require.NotNil(t, link.pubsub, "not so soon")
}

// Who answers that it loads its data, or that its master is down, is there; who is busy
// with a script is not, and is told once to end it.
// Source: sentinelPingReplyCallback of Redis 7.0.
func TestWhatCountsAsAnAnswer(t *testing.T) {
	s := startSet(t, usual, 1).sentinel("s1")
	m := s.masters[0]
	for _, one := range []struct {
		reply    resp.Value
		there    bool
		commands int64 // that are sent to a master that was found down
	}{
		{resp.Simple("PONG"), true, 0},
		{resp.Err("LOADING Redis is loading the dataset in memory"), true, 0},
		{resp.Err("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), true, 0},
		{resp.Err("BUSY Redis is busy running a script."), false, 1},
		{resp.Err("NOAUTH Authentication required."), false, 0},
		{resp.Str("PONG"), false, 0},
	} {
		for _, down := range []bool{false, true} {
			m.flags = instMaster
			if down {
				m.flags |= instSDown
			}
			m.link.pingPending = 1
			before := m.link.pending
			s.receivePong(m, one.reply)
			s.receivePong(m, one.reply)
			require.Equal(t, one.there, m.link.pingPending == 0, one.reply.Str)
			if down {
				before += one.commands
			}
			require.Equal(t, before, m.link.pending, one.reply.Str)
		}
	}
}

// Servers that get another master, or become one, lose their clients and their
// subscribers, so that these ask anew who the master is.
// Source: sentinelSendSlaveOf of Redis 7.0.
func TestAFailoverDropsClients(t *testing.T) {
	w := startSet(t, usual, 1)
	clients := map[string]*[2]bool{}
	for _, name := range []string{"m1", "r1", "r2"} {
		p := w.find(name)
		subscriber := p.proc.NewSession("127.0.0.1:50001")
		p.proc.Do(subscriber, [][]byte{[]byte("SUBSCRIBE"), []byte("a")})
		client := p.proc.NewSession("127.0.0.1:50002")
		gone := &[2]bool{}
		clients[name] = gone
		for until := time.Duration(0); until < 20*time.Second; until += 100 * time.Millisecond {
			w.at(w.now+until, func() {
				gone[0], gone[1] = gone[0] || client.Closing(), gone[1] || subscriber.Closing()
			})
		}
	}
	require.Equal(t, "OK", w.command("s1", "SENTINEL FAILOVER mymaster").Str)
	w.sleep(20 * time.Second)
	for name, gone := range clients {
		require.Equal(t, [2]bool{true, true}, *gone, name)
	}
	require.Equal(t, "slave", w.command("m1", "ROLE").List[0].Str)
}
