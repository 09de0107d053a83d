package minikvtest

import (
	"bufio"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// watched is a test that is seen to fail.
type watched struct {
	testing.TB
	said   []string
	after  []func()
	failed bool
}

func (w *watched) Helper()                 {}
func (w *watched) Failed() bool            { return w.failed }
func (w *watched) Cleanup(f func())        { w.after = append(w.after, f) }
func (w *watched) note(text string)        { w.said = append(w.said, text) }
func (w *watched) Logf(f string, a ...any) { w.note(fmt.Sprintf(f, a...)) }

func (w *watched) Errorf(f string, a ...any) {
	w.failed = true
	w.note(fmt.Sprintf(f, a...))
}

func (w *watched) Fatalf(f string, a ...any) {
	w.Errorf(f, a...)
	runtime.Goexit()
}

// watch runs f as a test, and returns what that said.
func watch(t *testing.T, f func(tb testing.TB)) string {
	w := &watched{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(w)
	}()
	<-done
	for _, after := range w.after {
		after()
	}
	return strings.Join(w.said, "\n")
}

func client(t *testing.T, s *Server) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Dialer: s.DialContext, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRunServesOverTCP(t *testing.T) {
	s := Run(t, Param("requirepass", "p@ss:word/?#"))
	options, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	c := redis.NewClient(options)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.Set(t.Context(), "a", "1", 0).Err())
	s.CheckGet(t, "a", "1")
	require.Equal(t, s.Addr(), s.Host()+":"+s.Port())
}

// Subtests that share servers fail for themselves.
func TestSubtestsShareServers(t *testing.T) {
	var within, of *watched
	said := watch(t, func(tb testing.TB) {
		of = tb.(*watched)
		s := Run(tb, Param("requirepass", "secret"))
		require.Equal(t, s.URL(), s.In(tb).URL())
		told := watch(t, func(tb testing.TB) {
			within = tb.(*watched)
			in := s.In(tb)
			in.Set("a", "1")
			require.Equal(t, s.Addr(), in.Servers.Node("m1").Addr())
			in.LPush("a", "2")
			t.Error("goes on")
		})
		require.Contains(t, told, "WRONGTYPE")
		s.CheckGet(t, "a", "1") // the servers live on
	})
	require.True(t, within.failed)
	require.False(t, of.failed)
	require.Empty(t, said)
}

func TestHelpers(t *testing.T) {
	s := Run(t, Virtual(), Seed(1))
	s.Set("text", "abc")
	value, ok := s.Get("text")
	require.True(t, ok)
	require.Equal(t, "abc", value)
	_, ok = s.Get("none")
	require.False(t, ok)
	s.SetTTL("text", 90*time.Second)
	require.Equal(t, 90*time.Second, s.TTL("text"))
	require.Equal(t, 5, s.Incr("n", 5))
	require.Equal(t, 5.5, s.IncrByFloat("n", 0.5))
	s.HSet("hash", "a", "1", "b", "2")
	require.Equal(t, "2", s.HGet("hash", "b"))
	require.Equal(t, []string{"a", "b"}, s.HKeys("hash"))
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, s.HGetAll("hash"))
	require.Equal(t, 1, s.HDel("hash", "a", "x"))
	require.Equal(t, 9, s.HIncrBy("hash", "b", 7))
	require.Equal(t, 2, s.Push("list", "1", "2"))
	require.Equal(t, 3, s.LPush("list", "0"))
	s.CheckList(t, "list", "0", "1", "2")
	last, ok := s.Pop("list")
	require.True(t, ok)
	require.Equal(t, "2", last)
	first, ok := s.LPop("list")
	require.True(t, ok)
	require.Equal(t, "0", first)
	require.Equal(t, 2, s.SAdd("set", "b", "a"))
	s.CheckSet(t, "set", "b", "a")
	require.True(t, s.SIsMember("set", "a"))
	require.Equal(t, 1, s.SRem("set", "a"))
	require.True(t, s.ZAdd("zset", 1.5, "m"))
	require.Equal(t, []Scored{{"m", 1.5}}, s.ZMembers("zset"))
	score, ok := s.ZScore("zset", "m")
	require.True(t, ok)
	require.Equal(t, 1.5, score)
	_, ok = s.ZScore("zset", "x")
	require.False(t, ok)
	require.False(t, s.ZRem("zset", "x"))
	require.True(t, s.ZAdd("zset", 2, "x"))
	require.True(t, s.ZRem("zset", "x"))
	require.Equal(t, "5-1", s.XAdd("stream", "5-1", "k", "v"))
	require.Equal(t, []Entry{{"5-1", []string{"k", "v"}}}, s.Stream("stream"))
	require.True(t, s.PFAdd("hll", "a", "b"))
	require.Equal(t, 2, s.PFCount("hll"))
	helpersOfAllTypes(t, s)
}

// helpersOfAllTypes goes on after a key of each type has been made.
func helpersOfAllTypes(t *testing.T, s *Server) {
	require.Equal(t, []string{"hash", "hll", "list", "n", "set", "stream", "text", "zset"}, s.Keys())
	require.Equal(t, "zset", s.Type("zset"))
	require.True(t, s.Copy("set", 3, "other"))
	require.Equal(t, []string{"b"}, s.DB(3).SMembers("other"))
	require.True(t, s.Del("hll"))
	require.Equal(t, "hash (hash)\n  1) \"b\"\n  2) \"9\"\nlist (list)\n  1) \"1\"\nn (string)\n  \"5.5\"\n"+
		"set (set)\n  1) \"b\"\nstream (stream)\n  1) 1) \"5-1\"\n     2) 1) \"k\"\n        2) \"v\"\n"+
		"text (string, for 1m30s)\n  \"abc\"\nzset (zset)\n  1) \"m\"\n  2) \"1.5\"\n", s.Dump())
	s.FlushDB()
	require.Empty(t, s.Keys())
	require.True(t, s.DB(3).Exists("other"))
	s.SwapDB(0, 3)
	require.True(t, s.Exists("other"))
	s.FlushAll()
	require.False(t, s.Exists("other"))
	require.Equal(t, 0, s.Publish("channel", "hello"))
	require.Equal(t, "OK", s.Do("SET", "a", "b"))
	require.Equal(t, "standalone", s.Info("redis_mode"))
	require.Equal(t, "1", s.Info("connected_clients"), "who asks")
}

// SetTime of miniredis, as docs/migration-from-miniredis.md has it, also when it is used again.
func TestSetTime(t *testing.T) {
	s := Run(t, Virtual())
	for _, date := range []time.Time{time.Unix(2e9, 0), time.Unix(1e9, 0), time.Unix(4e9, 0)} {
		s.SetClockOffset(date.Sub(s.Clock().Now()))
		s.Clock().Advance(time.Minute)
		require.Equal(t, fmt.Sprintf("1) \"%d\"\n2) \"0\"", date.Unix()+60), s.Do("TIME"))
	}
}

func TestHelpersWithPassword(t *testing.T) {
	s := Run(t, Param("requirepass", "secret"))
	s.Set("a", "1")
	s.DB(2).Set("a", "2")
	s.CheckGet(t, "a", "1")
	s.DB(2).CheckGet(t, "a", "2")
	require.ErrorContains(t, client(t, s).Get(t.Context(), "a").Err(), "NOAUTH")
}

func TestFailuresAreClear(t *testing.T) {
	for what, one := range map[string]struct {
		f    func(t testing.TB)
		says string
	}{
		"type":      {func(t testing.TB) { s := Run(t); s.Set("a", "1"); s.List("a") }, "WRONGTYPE"},
		"parameter": {func(t testing.TB) { Run(t, Param("maxmemory", "lots")) }, `parameter maxmemory "lots"`},
		"user":      {func(t testing.TB) { Run(t, User("a", "+nosuch")) }, `user "a": Error loading ACL rule '+nosuch'`},
		"unknown":   {func(t testing.TB) { Run(t, Param("no-such", "1")) }, `parameter no-such "1"`},
		"clock":     {func(t testing.TB) { Run(t).Clock().Advance(1) }, "the clock is the computer's"},
		"nodes":     {func(t testing.TB) { RunNodes(t, 0) }, "0 masters: expected at least 1"},
		"node":      {func(t testing.TB) { RunNodes(t, 2).Node("m3") }, `there is no node "m3": there are m1, m2`},
		"fault":     {func(t testing.TB) { Run(t).Inject(On("GET")) }, "expected DELAY, ERROR"},
		"failover":  {func(t testing.TB) { Run(t).Failover() }, "m1 has no replica"},
		"replica":   {func(t testing.TB) { RunReplicated(t, 1).Node("r1").Failover() }, "r1 is a replica"},
		"past":      {func(t testing.TB) { Run(t).Restart(LoseLast(time.Second)) }, "Config.Remember"},
		"rate":      {func(t testing.TB) { Run(t).SetClockRate(0) }, "clock rate 0"},
		"side":      {func(t testing.TB) { RunNodes(t, 2).Partition([]string{"m1"}, []string{"m1"}) }, "m1 is on both sides"},
		"down":      {func(t testing.TB) { s := Run(t); s.Kill(); s.Set("a", "1") }, "m1 is down"},
		"get":       {func(t testing.TB) { s := Run(t); s.CheckGet(t, "a", "1") }, `"a": have (nil), want "1"`},
		"list":      {func(t testing.TB) { s := Run(t); s.CheckList(t, "a", "1") }, `list "a": have [], want ["1"]`},
		"set":       {func(t testing.TB) { s := Run(t); s.CheckSet(t, "a", "1") }, `set "a": have [], want ["1"]`},
		"field":     {func(t testing.TB) { Run(t).Info("no_such") }, `INFO has no field "no_such"`},
		"nobody":    {func(t testing.TB) { s := Run(t); s.Kill(); s.NodeFor("a") }, `no master that runs has the key "a"`},
		"database":  {func(t testing.TB) { Run(t).DB(99).FlushDB() }, "ERR DB index is out of range"},
		"select":    {func(t testing.TB) { RunCluster(t, 1, 0).Nodes()[0].DB(1).Get("a") }, "not allowed in cluster mode"},
		"closed":    {func(t testing.TB) { s := Run(t); s.Servers.Close(); s.Restart() }, "restart m1: server: closed"},
		"nth":       {func(t testing.TB) { Run(t).Inject(On("GET").Nth(0).Close()) }, "Nth(0): expected a number from 1"},
		"percent":   {func(t testing.TB) { Run(t).Inject(On("GET").Percent(0).Close()) }, "Percent(0)"},
		"delay":     {func(t testing.TB) { Run(t, Delay(-1)) }, "delay -1ns, lag 0s: expected at least 0"},
		"silence":   {func(t testing.TB) { RunSentinel(t, 1, DownAfter(1)) }, "down after 1ns: expected at least 1ms"},
		"late":      {func(t testing.TB) { RunNodes(t, 2).DelayMessages("m1", "m2", 1, -1) }, "delay -1ns"},
		"moved":     {func(t testing.TB) { RunCluster(t, 3, 0).Node("m1").Set("a", "1") }, "MOVED 15495"},
		"frozen":    {func(t testing.TB) { s := Run(t); s.Kill(); s.Freeze() }, "m1 is down"},
		"thawed":    {func(t testing.TB) { s := Run(t); s.Kill(); s.Thaw() }, "m1 is down"},
		"still":     {func(t testing.TB) { s := Run(t); s.Freeze(); s.Get("a") }, "m1 is frozen and answers nothing: Thaw"},
		"handover": {func(t testing.TB) { s := RunReplicated(t, 1); s.Node("m1").Freeze(); s.Node("m1").Failover() },
			"m1 is frozen"},
		"words":  {func(t testing.TB) { Run(t).Inject(On("CLIENT SETNAME").Close()) }, "without a subcommand"},
		"begin":  {func(t testing.TB) { Run(t, StartAt(time.Unix(-1, 0))) }, "expected 1970 or later"},
		"unit":   {func(t testing.TB) { s := Run(t); s.Set("a", "1"); s.SetTTL("a", 30) }, "30ns: expected at least 1ms"},
		"held":   {func(t testing.TB) { Run(t).HoldReplication() }, "hold m1: expected a replica"},
		"future": {func(t testing.TB) { Run(t, Remember()).Restart(LoseLast(-1)) }, "lose -1ns: expected 0 or more"},
		"itself": {func(t testing.TB) { RunNodes(t, 2).DropMessages("m1", "m1", 1) }, "m1 sends itself no messages"},
		"ttl":    {func(t testing.TB) { Run(t).SetTTL("a", time.Second) }, `the TTL of "a": there is no such key`},
		"absent": {func(t testing.TB) {
			c, _ := Run(t, Strict()).Dial()
			_, _ = c.Write([]byte("CLIENT NOSUCH\r\nSCRIPT DEBUG NO\r\n"))
			in := bufio.NewReader(c)
			_, _ = in.ReadString('\n')
			_, _ = in.ReadString('\n')
		}, "m1: SCRIPT DEBUG is not supported"},
	} {
		said := watch(t, one.f)
		require.Contains(t, said, one.says, what)
		require.NotContains(t, said, "NOSUCH is not supported")
	}
}

func TestFailureShowsTrace(t *testing.T) {
	said := watch(t, func(tb testing.TB) {
		s := Run(tb, Virtual(), TraceLines(4))
		c := client(t, s)
		require.NoError(t, c.SetNX(t.Context(), "lock", "me", 30*time.Second).Err())
		require.Len(t, s.Locks(), 1)
		require.Equal(t, "lock", s.Locks()[0].Key)
		s.Inject(On("SETT").Delay(time.Second))
		s.Inject(On("GET").Nth(2).Delay(time.Second))
		s.Inject(On("GET").Nth(1).Duplicate())
		s.Clock().Advance(time.Second)
		require.NoError(t, c.Get(t.Context(), "lock").Err())
		tb.Errorf("wrong")
	})
	require.Contains(t, said, "what the servers saw:\n…")
	require.Contains(t, said, "lock is held by me until 30.000s\n    0.000s     advances by 1s\n"+
		"    1.000s m1  client 1 get lock")
	require.Contains(t, said, "fault that struck nothing (commands that matched: 0): ON SETT DELAY 1s")
	require.Contains(t, said, "fault that struck nothing (commands that matched: 1): ON GET NTH 2 DELAY 1s")
	require.Equal(t, 2, strings.Count(said, "struck nothing"))
	said = watch(t, func(tb testing.TB) {
		require.NoError(t, client(t, Run(tb, TraceLines(0))).Ping(t.Context()).Err())
		tb.Errorf("wrong")
	})
	require.Equal(t, "wrong", said)
}

func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Run(t)
		c := client(t, s)
		require.NoError(t, c.Set(t.Context(), "a", "1", time.Hour).Err())
		begun := time.Now()
		require.ErrorIs(t, c.BLPop(t.Context(), 50*time.Minute, "list").Err(), redis.Nil)
		require.Equal(t, 50*time.Minute, time.Since(begun).Round(time.Second))
		s.CheckGet(t, "a", "1")
		time.Sleep(11 * time.Minute)
		require.False(t, s.Exists("a"))
	})
}

// Who uses servers from another bubble is told so: their goroutines may not meet.
func TestServersOfAnotherBubble(t *testing.T) {
	outside := Run(t)
	synctest.Test(t, func(t *testing.T) {
		inside := Run(t)
		require.Equal(t, inside.Addr(), inside.In(t).Addr())
		_, err := inside.Dial()
		require.NoError(t, err)

		const says = "the servers do not run in this bubble of testing/synctest: call Run within synctest.Test"
		require.Contains(t, watch(t, func(tb testing.TB) { outside.In(tb) }), says)
		_, err = outside.Dial()
		require.ErrorContains(t, err, says)
		_, err = outside.DialRueidis(t.Context(), outside.Addr(), nil, nil)
		require.ErrorContains(t, err, says)
		c := client(t, outside)
		require.ErrorContains(t, c.Ping(t.Context()).Err(), says)
	})
}

func TestClusterInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := RunCluster(t, 3, 1)
		c := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: s.Addrs(), Dialer: s.DialContext, ClusterStateReloadInterval: time.Second,
		})
		defer func() { _ = c.Close() }()
		for i := range 20 {
			require.NoError(t, c.Set(t.Context(), fmt.Sprint("k", i), i, 0).Err())
		}
		next := s.NodeFor("k1").Failover(Crash())
		require.True(t, next.IsMaster())
		require.Eventually(t, func() bool { return c.Get(t.Context(), "k1").Err() == nil }, time.Minute, time.Second)
		next.CheckGet(t, "k1", "1")
	})
}

// Nodes know at once what they tell each other only now and then.
func TestClusterIsGrown(t *testing.T) {
	s := RunCluster(t, 3, 1)
	require.Contains(t, s.Node("m2").Do("CLUSTER", "SLOTS"), s.Node("r1").Port())
	require.Equal(t, "30", s.Node("m1").Info("uptime_in_seconds"))
}

// A replica gets what its master has sent it once that is no longer cut off, lost or late.
func TestMessages(t *testing.T) {
	s := RunReplicated(t, 1, Virtual())
	master, replica := s.Node("m1"), s.Node("r1")
	for _, one := range []struct {
		value string
		meet  func()
		late  time.Duration // the replica does not have the value until then
	}{
		{"cut", func() { s.PartitionOneWay([]string{"m1"}, []string{"r1"}) }, -1},
		{"not cut", func() { s.PartitionOneWay([]string{"r1"}, []string{"m1"}) }, 0},
		{"lost", func() { s.DropMessages("m1", "r1", 1) }, time.Second},
		{"late", func() { s.DelayMessages("m1", "r1", 1, 300*time.Millisecond) }, 300 * time.Millisecond},
	} {
		one.meet()
		before := replica.Do("GET", "key")
		master.Set("key", one.value)
		switch {
		case one.late < 0:
			s.Clock().Advance(5 * time.Second)
			require.Equal(t, before, replica.Do("GET", "key"), one.value)
		case one.late > 0:
			s.Clock().Advance(one.late - time.Millisecond)
			require.Equal(t, before, replica.Do("GET", "key"), one.value)
			s.Clock().Advance(time.Millisecond)
		}
		s.Heal()
		replica.CheckGet(t, "key", one.value)
	}
}

func TestVerbs(t *testing.T) {
	s := RunCluster(t, 2, 0, Virtual(), Seed(3), Remember())
	a := s.NodeFor("key")
	b := s.Nodes()[0]
	if a == b {
		b = s.Nodes()[1]
	}
	a.Set("key", "1")
	b.Restart()
	b.MoveSlot("key")
	require.Equal(t, b, s.NodeFor("key"))
	require.Equal(t, b, s.Node(b.Addr()))
	b.CheckGet(t, "key", "1")
	s.Clock().Advance(10 * time.Second)
	b.Set("key", "2")
	s.Clock().Advance(time.Second)
	b.Restart(LoseLast(5 * time.Second))
	s.Clock().Advance(5 * time.Second)
	b.CheckGet(t, "key", "1")
	b.Restart(LoseData())
	s.Clock().Advance(5 * time.Second)
	_, ok := b.Get("key")
	require.False(t, ok)
	b.Restart()
	b.Kill()
	require.True(t, b.Down())
	_, err := b.Dial()
	require.Error(t, err)
	b.Restart()
	require.False(t, b.Down())
	b.SetClockOffset(time.Hour)
	s.Clock().Jump(-time.Hour)
}

func TestFrozenNodeAnswersLater(t *testing.T) {
	s := Run(t, Virtual())
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	defer func() { _ = c.Close() }()
	require.NoError(t, c.Set(t.Context(), "a", "1", time.Minute).Err())
	s.Freeze()
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, c.Get(soon, "a").Err())
	s.Clock().Advance(2 * time.Minute)
	s.Thaw()
	require.Eventually(t, func() bool { return !s.Exists("a") }, 10*time.Second, time.Millisecond)
}

// Every condition and every effect of a rule can be said.
func TestFaultsInWords(t *testing.T) {
	s := RunNodes(t, 2)
	for want, f := range map[string]Fault{
		"ON SET KEY a* CLIENT w NODE m2 NTH 2 TIMES 3 PERCENT 50 DELAY 1s CLOSE": On("SET").Key("a*").Client("w").
			Node("m2").Nth(2).Times(3).Percent(50).Delay(time.Second).Close(),
		"ON GET ERROR \"LOADING wait\"": On("GET").Error("LOADING wait"),
		"ON GET DROPREQUEST":            On("GET").DropRequest(),
		"ON GET DROPREPLY CLOSE":        On("GET").DropReply().Close(),
		"ON INCR DUPLICATE":             On("INCR").Duplicate(),
	} {
		rule := s.Inject(f)
		require.Equal(t, want, s.top.Faults()[0].Fault.String())
		rule.Remove()
		require.Zero(t, rule.Struck())
	}
}

// A cluster of three masters and three replicas starts and ends in less than 20 ms.
func TestStartIsCheap(t *testing.T) {
	const limit, tries = slower * 20 * time.Millisecond, 200 // other programs may disturb some
	fastest := time.Hour
	for i := 0; i < tries && fastest >= limit; i++ {
		begun := time.Now()
		watch(t, func(tb testing.TB) { RunCluster(tb, 3, 1) })
		fastest = min(fastest, time.Since(begun))
	}
	t.Log("a cluster 3x1:", fastest)
	require.Less(t, fastest, limit)
}
