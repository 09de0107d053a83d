package topology

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// What is late keeps its place, a lost message comes a second later, and rules are about one
// direction. Whoever dies has sent what it has sent, and nobody hears of it across a partition.
func TestLateAndLostMessages(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}, InMemory: true, Virtual: true, Trace: 100})
	require.Equal(t, "127.0.0.1:1", top.Node("m1").Address())
	m, r := inside(t, top.Node("m1")), inside(t, top.Node("r1"))
	after := func(d time.Duration, want string) {
		t.Helper()
		require.NoError(t, top.Clock().Advance(d))
		require.Equal(t, want, r.do("GET a"))
	}
	const ms = time.Millisecond
	require.NoError(t, top.Delay("m1", "r1", 2, 300*ms))
	m.do("SET a 0")
	after(290*ms, "(nil)")
	after(20*ms, `"0"`)
	m.do("SET a 1")
	m.do("SET a 2") // does not overtake
	after(290*ms, `"0"`)
	after(20*ms, `"2"`)
	require.NoError(t, top.Drop("m1", "r1", 1))
	m.do("SET a 3")
	after(990*ms, `"2"`)
	after(20*ms, `"3"`)
	require.NoError(t, top.Delay("r1", "m1", 1, time.Second))
	m.do("SET a 4")
	after(ms, `"4"`)
	var told []string
	for _, e := range top.Trace().Since(0) {
		if strings.Contains(e.Text, "messages") {
			told = append(told, e.Text)
		}
	}
	require.Equal(t, []string{
		"the next 2 messages from m1 to r1: late by 300ms", "the next 1 messages from m1 to r1: lost",
		"the next 1 messages from r1 to m1: late by 1s",
	}, told)

	require.NoError(t, top.Delay("m1", "r1", 1, 300*ms))
	m.do("SET a 5")
	top.Node("m1").Kill()
	after(290*ms, `"4"`)
	require.Contains(t, r.do("INFO replication"), "master_link_status:up")
	after(20*ms, `"5"`)
	require.Contains(t, r.do("INFO replication"), "master_link_status:down")
	require.NoError(t, top.Node("m1").Restart(false))
	require.NoError(t, top.Clock().Advance(3*time.Second))
	require.Contains(t, r.do("INFO replication"), "master_link_status:up")
	require.NoError(t, top.Partition([]string{"m1"}, []string{"r1"}))
	top.Node("m1").Kill()
	require.NoError(t, top.Clock().Advance(10*time.Second))
	require.Contains(t, r.do("INFO replication"), "master_link_status:up")
	top.Heal()
	require.NoError(t, top.Clock().Advance(2*time.Second))
	require.Contains(t, r.do("INFO replication"), "master_link_status:down")
}

// When a partition ends, what several nodes have sent arrives in their order, each time.
func TestOrderOfHealing(t *testing.T) {
	const senders = 8
	top := start(t, Config{Plan: cluster.Plan{Masters: 1 + senders}, InMemory: true, Virtual: true, Delay: time.Hour})
	names := cluster.Plan{Masters: 1 + senders}.Names()
	require.NoError(t, top.Partition(names[1:], names[:1]))
	for from := cluster.ID(1 + senders); from > 1; from-- {
		conn := cluster.Conn{Dialer: from, Lane: cluster.Client, Number: 1}
		top.network.sendAll([]cluster.Message{{From: from, To: 1, Conn: conn, Body: cluster.Dial{}}})
	}
	top.Heal()
	var order []cluster.ID
	inbox, arrival := top.Node("m1").inbox, top.Clock().Now().Add(time.Hour)
	inbox.mu.Lock()
	for m, some := inbox.queue.take(arrival); some; m, some = inbox.queue.take(arrival) {
		order = append(order, m.From)
	}
	inbox.mu.Unlock()
	require.Len(t, order, senders)
	require.True(t, slices.IsSorted(order), "%v", order)
}
