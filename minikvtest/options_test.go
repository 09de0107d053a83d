package minikvtest

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStartAt(t *testing.T) {
	date := time.Date(2000, 2, 29, 12, 0, 0, 0, time.UTC)
	s := Run(t, StartAt(date))
	now, err := client(t, s).Time(t.Context()).Result()
	require.NoError(t, err)
	require.WithinDuration(t, date, now, time.Minute)
	s.Clock().Advance(time.Hour)
	now, err = client(t, s).Time(t.Context()).Result()
	require.NoError(t, err)
	require.WithinDuration(t, date.Add(time.Hour), now, time.Minute)
}

func TestInMemory(t *testing.T) {
	s := Run(t, InMemory())
	_, err := net.Dial("tcp", s.Addr())
	require.Error(t, err, "a port is open")
	require.NoError(t, client(t, s).Set(t.Context(), "a", "1", 0).Err())
	s.CheckGet(t, "a", "1")
}

// A replica has a write when Delay has passed, or Lag where that is more.
func TestDelayAndLag(t *testing.T) {
	for name, options := range map[string][]Option{
		"delay": {Delay(3 * time.Second)},
		"lag":   {Delay(time.Second), Lag(3 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			s := RunReplicated(t, 1, append(options, Virtual())...)
			s.Node("m1").Set("a", "1")
			s.Clock().Advance(2900 * time.Millisecond)
			_, there := s.Node("r1").Get("a")
			require.False(t, there)
			s.Clock().Advance(200 * time.Millisecond)
			value, there := s.Node("r1").Get("a")
			require.True(t, there)
			require.Equal(t, "1", value)
		})
	}
}

// Each option that may be given again adds to what was given before.
func TestOptionsAdd(t *testing.T) {
	s := Run(t, User("a", "on", ">a", "+get"), User("b", "on", ">b", "+get"),
		Param("maxmemory", "5mb"), Param("timeout", "7"))
	users := s.Do("ACL", "LIST")
	require.Contains(t, users, "user a on #")
	require.Contains(t, users, "user b on #")
	require.Equal(t, "1) \"maxmemory\"\n2) \"5242880\"", s.Do("CONFIG", "GET", "maxmemory"))
	require.Equal(t, "1) \"timeout\"\n2) \"7\"", s.Do("CONFIG", "GET", "timeout"))
}

// DownAfter is each node's own in a cluster, and a Sentinel's of its master.
func TestDownAfter(t *testing.T) {
	s := RunCluster(t, 3, 0, DownAfter(2*time.Second))
	require.Equal(t, "1) \"cluster-node-timeout\"\n2) \"2000\"", s.Node("m3").Do("CONFIG", "GET", "cluster-node-timeout"))
	s = RunSentinel(t, 1, DownAfter(2*time.Second))
	require.Regexp(t, `"down-after-milliseconds"\n.*"2000"`, s.Node("s3").Do("SENTINEL", "MASTER", "mymaster"))
}

// What is waited for in vain fails the test, after ten seconds.
func TestNobodyComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for says, wait := range map[string]func(tb testing.TB, s *Server){
			`wait for "list": 0, not 1`:         func(tb testing.TB, s *Server) { s.WaitBlocked(tb, "list", 1) },
			"fault 1 has struck 0 times, not 1": func(tb testing.TB, s *Server) { s.Inject(On("GET").Close()).Wait(tb, 1) },
		} {
			require.Contains(t, watch(t, func(tb testing.TB) {
				s, begun := Run(tb), time.Now()
				defer func() { require.Equal(t, 10*time.Second, time.Since(begun)) }()
				wait(tb, s)
			}), says)
		}
	})
}
