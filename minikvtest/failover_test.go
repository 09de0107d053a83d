package minikvtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestFailovers(t *testing.T) {
	for name, start := range map[string]func() *Servers{
		"replicated": func() *Servers { return RunReplicated(t, 2, Virtual()) },
		"sentinel":   func() *Servers { return RunSentinel(t, 2, Virtual(), DownAfter(time.Second)) },
		"cluster":    func() *Servers { return RunCluster(t, 3, 1, Virtual(), DownAfter(time.Second)) },
		"real":       func() *Servers { return RunCluster(t, 3, 1) },
		"password": func() *Servers {
			return RunSentinel(t, 2, Virtual(), DownAfter(time.Second), Param("RequirePass", "secret"))
		},
		"users": func() *Servers {
			const replica, sentinel = "+psync +replconf +ping", "allchannels +multi +slaveof +exec +subscribe " +
				"+config|rewrite +role +publish +info +client|setname +client|kill +script|kill"
			return RunSentinel(t, 2, Virtual(), DownAfter(time.Second), User("default", "off"),
				User("app", "on", ">pw", "~*", "+get"), User("ops", strings.Fields("on >a "+replica+" "+sentinel)...),
				Param("masteruser", "ops"), Param("masterauth", "a"))
		},
		"password in a cluster": func() *Servers { return RunCluster(t, 3, 1, Virtual(), Param("requirepass", "a b")) },
	} {
		for _, crash := range []bool{false, true} {
			s := start()
			master := s.NodeFor("key")
			master.Set("key", "1")
			var options []FailoverOption
			if crash {
				options = append(options, Crash())
				master.HoldReplication()
				master.Set("key", "2")
			}
			next := master.Failover(options...)
			require.NotEqual(t, master, next, name)
			next.CheckGet(t, "key", "1")
			require.Equal(t, crash, master.Down(), name)
		}
	}
}

// One failover may follow another, back and forth, and each leaves one master that
// everybody names.
func TestFailoversInARow(t *testing.T) {
	for name, start := range map[string]func() *Servers{
		"replicated":  func() *Servers { return RunReplicated(t, 2, Virtual()) },
		"one replica": func() *Servers { return RunSentinel(t, 1, Virtual()) },
		"sentinel":    func() *Servers { return RunSentinel(t, 2, Virtual(), DownAfter(time.Second)) },
		"cluster":     func() *Servers { return RunCluster(t, 3, 1, Virtual()) },
		"slow": func() *Servers {
			return RunCluster(t, 3, 2, Virtual(), Lag(3*time.Second), Delay(200*time.Millisecond))
		},
		"real": func() *Servers { return RunCluster(t, 3, 1, InMemory()) },
	} {
		s := start()
		master := s.NodeFor("key")
		for range 4 {
			master.Do("INCR", "key")
			before := master
			master = before.Failover()
			require.NotEqual(t, before, master, name)
			require.Equal(t, master, s.NodeFor("key"), name)
		}
		master.CheckGet(t, "key", "4")
	}
}

// A cluster that fails over loses no write that was confirmed.
func TestFailoverLosesNothing(t *testing.T) {
	s := RunCluster(t, 3, 1, InMemory())
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs(), Dialer: s.DialContext})
	defer func() { _ = c.Close() }()
	ended, confirmed := make(chan struct{}), make(chan int64)
	go func() {
		var count int64
		for {
			select {
			case <-ended:
				confirmed <- count
				return
			default:
				if c.Incr(context.Background(), "key").Err() == nil {
					count++
				}
			}
		}
	}()
	for range 20 {
		s.NodeFor("key").Failover()
	}
	close(ended)
	count := <-confirmed
	require.Positive(t, count)
	value, err := c.Get(t.Context(), "key").Int64()
	require.NoError(t, err)
	require.GreaterOrEqual(t, value, count)
}

// A master of a cluster that was replaced while it was down still says, when it starts
// again, that its slots are its own: their owner is the one that was elected.
func TestReplacedMasterOwnsNothing(t *testing.T) {
	s := RunCluster(t, 3, 1, Virtual(), DownAfter(time.Second))
	for _, key := range []string{"a", "b", "c"} { // each with another master
		old := s.NodeFor(key)
		old.Kill()
		s.Clock().Advance(10 * time.Second)
		next := s.NodeFor(key)
		require.NotEqual(t, old, next)
		var others []string
		for _, n := range s.Nodes() {
			if n != old {
				others = append(others, n.Name())
			}
		}
		s.Partition([]string{old.Name()}, others)
		old.Restart()
		require.True(t, old.IsMaster(), "nobody has told it")
		require.Equal(t, next.Name(), s.NodeFor(key).Name())
		s.Heal()
		s.Clock().Advance(10 * time.Second)
		require.False(t, old.IsMaster())
	}
}

// A frozen master is none, and who asks for masters does not wait for it.
func TestFrozenMasterIsReplaced(t *testing.T) {
	s := RunSentinel(t, 1, Virtual(), DownAfter(time.Second))
	s.Node("m1").Set("orders", "1")
	s.Node("m1").Freeze()
	s.Clock().Advance(10 * time.Second)
	require.False(t, s.Node("m1").IsMaster())
	require.Equal(t, "r1", s.NodeFor("orders").Name())
	s.Node("s1").Freeze()
	s.Node("m1").Thaw()
	s.Clock().Advance(20 * time.Second)
	require.False(t, s.Node("m1").IsMaster(), "the Sentinels have made it a replica")
	require.Equal(t, "m1", s.Node("r1").Failover().Name())
}

// Sentinels replace a master that is frozen, and tell clients, who ask them alone.
func TestSentinelsReplaceAFrozenMaster(t *testing.T) {
	s := RunSentinel(t, 1, Virtual(), DownAfter(time.Second))
	sentinel := s.Node("s1")
	require.Equal(t, []string{sentinel.Addr(), s.Node("s2").Addr(), s.Node("s3").Addr()}, s.Addrs())
	require.False(t, sentinel.IsMaster())
	s.Node("m1").Freeze()
	next := s.Node("m1").Failover()
	require.Equal(t, "r1", next.Name())
	require.Contains(t, sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"), next.Port())
}

// When a failover is over each Sentinel tells who asks of the new master, and has told who
// listens; one that is cut off cannot know of it.
func TestSentinelsTellOfAFailover(t *testing.T) {
	for name, w := range map[string]struct {
		options  []Option
		how      []FailoverOption
		cutOff   bool
		replicas int
	}{
		"by command":          {[]Option{Virtual()}, nil, false, 2},
		"after a crash":       {[]Option{Virtual()}, []FailoverOption{Crash()}, false, 2},
		"of the only replica": {[]Option{Virtual()}, []FailoverOption{Crash()}, false, 1},
		"on the real clock":   {nil, nil, false, 1},
		"as others notice it": {[]Option{Virtual(), DownAfter(time.Second)}, []FailoverOption{Crash()}, false, 2},
		"one is cut off":      {[]Option{Virtual()}, nil, true, 1},
	} {
		s := RunSentinel(t, w.replicas, w.options...)
		told := map[string]*redis.PubSub{}
		for _, n := range []string{"s1", "s2", "s3"} {
			c := redis.NewSentinelClient(&redis.Options{Addr: s.Node(n).Addr()})
			defer func() { _ = c.Close() }()
			told[n] = c.Subscribe(t.Context(), "+switch-master")
			_, err := told[n].Receive(t.Context())
			require.NoError(t, err)
		}
		if w.cutOff {
			s.Partition([]string{"s3"}, []string{"m1", "r1", "s1", "s2"})
		}
		next := s.Node("m1").Failover(w.how...)
		for n, news := range told {
			at := s.Node(n).Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
			if w.cutOff && n == "s3" {
				require.NotContains(t, at, next.Port(), name)
				continue
			}
			require.Contains(t, at, next.Port(), "%s: %s", name, n)
			m, err := news.ReceiveTimeout(t.Context(), 10*time.Second) // it has been published already
			require.NoError(t, err, "%s: %s", name, n)
			require.Contains(t, m.(*redis.Message).Payload, " "+next.Port(), "%s: %s", name, n)
		}
		if len(w.options) > 0 {
			s.Clock().Advance(10 * time.Second)
			require.True(t, next.IsMaster(), "%s: still", name)
		}
	}
}
