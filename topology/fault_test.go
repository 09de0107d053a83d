package topology

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

func TestFaults(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Trace: 100})
	n := top.Node("m1")
	inject := func(words ...string) int {
		f, err := ParseFault(words)
		require.NoError(t, err)
		id, err := top.Inject(f)
		require.NoError(t, err)
		return id
	}
	inject("ON", "set", "KEY", "lock:*", "NTH", "2", "DROPREPLY")
	c := inside(t, n)
	require.Equal(t, "OK", c.do("SET lock:1 a"))
	require.Equal(t, "OK", c.do("SET other a"))
	c.send("SET lock:2 b")
	c.silent()
	c.send("GET lock:2")
	c.silent()
	d := inside(t, n)
	require.Equal(t, `"b"`, d.do("GET lock:2"), "the command ran")
	require.Equal(t, []FaultState{{ID: 1, Seen: 2, Struck: 1,
		Fault: Fault{Command: "set", Key: "lock:*", Nth: 2, DropReply: true}}}, top.Faults())
	top.ClearFaults()

	id := inject("ON", "GET", "CLIENT", "worker", "ERROR", "LOADING wait a moment")
	d.do("CLIENT SETNAME worker")
	require.Equal(t, "(error) LOADING wait a moment", d.do("GET lock:2"))
	require.Equal(t, "(nil)", inside(t, n).do("GET nothing"))
	require.True(t, top.RemoveFault(id))
	require.False(t, top.RemoveFault(id))
	require.Equal(t, `"b"`, d.do("GET lock:2"))

	inject("ON", "INCR", "TIMES", "1", "DROPREPLY", "CLOSE")
	_, err := d.try("INCR n")
	require.Error(t, err)
	e := inside(t, n)
	require.Equal(t, `"1"`, e.do("GET n"))
	inject("ON", "INCR", "TIMES", "1", "CLOSE")
	_, err = e.try("INCR n")
	require.Error(t, err)
	e = inside(t, n)
	require.Equal(t, `"1"`, e.do("GET n"))
	inject("ON", "INCR", "TIMES", "1", "DROPREQUEST")
	e.send("INCR n")
	e.silent()
	e = inside(t, n)
	require.Equal(t, `"1"`, e.do("GET n"))
	inject("ON", "GET", "DELAY", "30")
	begun := time.Now()
	require.Equal(t, `"1"`, e.do("GET n"))
	require.GreaterOrEqual(t, time.Since(begun), 30*time.Millisecond)
}

// A reply that comes late gets lost as well: the element is gone, and nobody has it.
func TestLostReplyOfBlockedPop(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Trace: 100})
	_, err := top.Inject(Fault{Command: "BLPOP", DropReply: true, Close: true})
	require.NoError(t, err)
	waiter, c := inside(t, top.Node("m1")), inside(t, top.Node("m1"))
	waiter.send("BLPOP list 0")
	waitFor(t, top, "list", 1)
	require.Equal(t, "(integer) 1", c.do("RPUSH list a"))
	require.Equal(t, "(integer) 0", c.do("EXISTS list"))
	_, err = waiter.read()
	require.Error(t, err)
	gone := func() bool { return strings.Count(c.do("CLIENT LIST"), "id=") == 1 }
	require.Eventually(t, gone, 10*time.Second, time.Millisecond)
}

// What came before a lost command arrives, and the connection ends with the server.
func TestLossSparesWhatCameBefore(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true})
	_, err := top.Inject(Fault{Command: "INCR", Nth: 3, DropReply: true})
	require.NoError(t, err)
	c := inside(t, top.Node("m1"))
	_, err = c.conn.Write([]byte(strings.Repeat("INCR n\r\n", 5)))
	require.NoError(t, err)
	for _, want := range []string{"(integer) 1", "(integer) 2"} {
		reply, err := c.read()
		require.NoError(t, err)
		require.Equal(t, want, reply)
	}
	c.silent()
	require.Equal(t, `"3"`, inside(t, top.Node("m1")).do("GET n"))
	top.Close()
	_, err = c.read()
	require.Error(t, err)
}

func TestSlowNode(t *testing.T) {
	top := start(t, Config{Plan: plans["nodes"]})
	c := dial(t, top.Node("m1"))
	top.Node("m1").Slow(50 * time.Millisecond)
	began := time.Now()
	c.do("PING")
	require.Greater(t, time.Since(began), 50*time.Millisecond)
	top.Node("m1").Slow(0)
}

// The wait of the command under way ends with the slowness, and with the node.
func TestSlowCommandIsEnded(t *testing.T) {
	const each = 10 * time.Second
	for name, end := range map[string]func(n *Node, c *client){
		"slow": func(n *Node, c *client) {
			n.Slow(0)
			_, err := c.read()
			require.NoError(c.t, err)
		},
		"freeze":  func(n *Node, _ *client) { _ = n.Freeze() },
		"kill":    func(n *Node, _ *client) { n.Kill() },
		"restart": func(n *Node, _ *client) { _ = n.Restart(true) },
		"close":   func(n *Node, _ *client) { n.topology.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			n := start(t, Config{Plan: alone, InMemory: true}).Node("m1")
			c := inside(t, n)
			n.Slow(each)
			c.send("PING")
			c.send("PING")
			underWay := func() bool {
				n.pace.mu.Lock()
				defer n.pace.mu.Unlock()
				return n.pace.next != nil
			}
			require.Eventually(t, underWay, patience, time.Millisecond)
			begun := time.Now()
			end(n, c)
			require.Less(t, time.Since(begun), each/2)
		})
	}
}

func TestSlowOnVirtualClock(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true})
	top.Node("m1").Slow(time.Second)
	c := inside(t, top.Node("m1"))
	c.send("PING")
	require.Eventually(t, func() bool { _, some := top.clock.nextAlarm(); return some }, 10*time.Second, time.Millisecond)
	require.NoError(t, top.Clock().Advance(999*time.Millisecond))
	c.silent()
	require.NoError(t, top.Clock().Advance(time.Millisecond))
	reply, err := c.read()
	require.NoError(t, err)
	require.Equal(t, "PONG", reply)
}

func TestDelayOnVirtualClock(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true})
	_, err := top.Inject(Fault{Command: "INCR", Delay: 10 * time.Second})
	require.NoError(t, err)
	c, d := inside(t, top.Node("m1")), inside(t, top.Node("m1"))
	c.send("INCR n")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	require.NoError(t, top.WaitStruck(ctx, 1, 1))
	require.ErrorContains(t, top.WaitStruck(ctx, 9, 1), "there is no fault 9")
	require.Equal(t, "(nil)", d.do("GET n"), "others go on")
	require.NoError(t, top.Clock().Advance(10*time.Second))
	require.Equal(t, `"1"`, d.do("GET n"))
}

func TestFaultsAsText(t *testing.T) {
	for text, bad := range map[string]string{
		"ON EVALSHA KEY orders:* NTH 2 DROPREPLY":                   "",
		"ON SET CLIENT 7 NODE m1 TIMES 3 PERCENT 50 DELAY 1s CLOSE": "",
		"KEY a ERROR x DELAY 5ms":                                   "",
		"ON GET":                                                    "DROPREPLY, DUPLICATE or CLOSE",
		"ON":                                                        "ON: unknown word",
		"DROPREPLY DROPREQUEST":                                     "expected DROPREQUEST or DROPREPLY",
		"NTH 0 CLOSE":                                               `NTH "0": expected a number from 1`,
		"PERCENT 101 CLOSE":                                         "101 percent: expected 1 to 100",
		"DELAY soon":                                                `"soon": expected milliseconds or, for example, 1m30s`,
		"OFF GET CLOSE":                                             `unknown word "OFF"`,
		"ON GET on SET CLOSE":                                       "ON is given twice",
		"ON GET CLOSE CLOSE":                                        "CLOSE is given twice",
		"ERROR x DROPREPLY":                                         "ERROR does not go with DROPREQUEST",
		"ON SET DUPLICATE DROPREPLY CLOSE":                          "",
		"DUPLICATE CLOSE":                                           "DUPLICATE does not go with",
		"DUPLICATE DROPREQUEST":                                     "DUPLICATE does not go with",
		"DUPLICATE ERROR x":                                         "DUPLICATE does not go with",
		"DELAY 99999999999999999":                                   "too long",
		"DELAY -5":                                                  "expected more than 0",
	} {
		f, err := ParseFault(strings.Fields(text))
		if bad != "" {
			require.ErrorContains(t, err, bad, text)
			continue
		}
		require.NoError(t, err)
		again, err := ParseFault(strings.Fields(strings.ReplaceAll(f.String(), `"`, "")))
		require.NoError(t, err)
		require.Equal(t, f, again)
	}
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}, InMemory: true})
	for _, one := range []struct {
		fault Fault
		bad   string
	}{
		{Fault{Node: "m9", Close: true}, `unknown node "m9"`},
		{Fault{Error: "ERR two\nlines"}, "expected one line"},
		{Fault{Nth: -1, Close: true}, "NTH and TIMES count from 1"},
		{Fault{Times: -1, Close: true}, "NTH and TIMES count from 1"},
	} {
		_, err := top.Inject(one.fault)
		require.ErrorContains(t, err, one.bad)
	}
	_, err := top.Inject(Fault{Node: "m2", Error: "ERR not here"})
	require.NoError(t, err)
	require.Equal(t, "PONG", inside(t, top.Node("m1")).do("PING"))
	require.Equal(t, "(error) ERR not here", inside(t, top.Node("m2")).do("PING"))
}

// A server closes while commands are delayed, on either clock, and nobody waits for them.
func TestCloseWhileDelayed(t *testing.T) {
	for _, virtual := range []bool{false, true} {
		top := start(t, Config{Plan: alone, InMemory: true, Virtual: virtual})
		_, err := top.Inject(Fault{Delay: time.Hour})
		require.NoError(t, err)
		c := inside(t, top.Node("m1"))
		c.send("PING")
		require.Eventually(t, func() bool { return top.Faults()[0].Struck == 1 }, 10*time.Second, time.Millisecond)
		require.NoError(t, top.Node("m1").Restart(true))
		_, err = c.read()
		require.Error(t, err)
		c = inside(t, top.Node("m1"))
		c.send("PING")
		require.Eventually(t, func() bool { return top.Faults()[0].Struck == 2 }, 10*time.Second, time.Millisecond)
		top.Close()
		_, err = c.read()
		require.Error(t, err)
	}
}

// By chance, and with a seed always the same.
func TestFaultsByChance(t *testing.T) {
	var seen []string
	for range 2 {
		top := start(t, Config{Plan: alone, InMemory: true, Seed: 3})
		_, err := top.Inject(Fault{Command: "GET", Percent: 50, Error: "ERR bad luck"})
		require.NoError(t, err)
		c := inside(t, top.Node("m1"))
		var replies []string
		for range 40 {
			replies = append(replies, c.do("GET a"))
		}
		seen = append(seen, strings.Join(replies, ","))
	}
	require.Equal(t, seen[0], seen[1])
	unlucky := strings.Count(seen[0], "bad luck")
	require.Greater(t, unlucky, 8)
	require.Less(t, unlucky, 32)
}
