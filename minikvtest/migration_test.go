package minikvtest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/minikvtest"
)

// What docs/migration-from-miniredis.md says of Sentinels and passwords.

// TestOffsetEndsTTLs ends TTLs behind Sentinels by the clock of the master alone: no heartbeat runs.
func TestOffsetEndsTTLs(t *testing.T) {
	s := minikvtest.RunSentinel(t, 0, minikvtest.Virtual())
	master := s.Node("m1")
	master.Set("k", "v")
	master.SetTTL("k", 168*time.Hour)
	master.SetClockOffset(100 * time.Hour)
	require.Equal(t, 68*time.Hour, master.TTL("k"))
	master.SetClockOffset(169 * time.Hour)
	require.False(t, master.Exists("k"))
	require.True(t, master.IsMaster())
}

// TestPasswordBehindSentinels has a password for the master, and none for the Sentinels.
func TestPasswordBehindSentinels(t *testing.T) {
	s := minikvtest.RunSentinel(t, 1, minikvtest.User("default", "on", ">secret", "~*", "&*", "+@all"),
		minikvtest.Param("masterauth", "secret"))
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: s.Addrs(),
		Password: "secret"})
	defer func() { _ = c.Close() }()
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	n, err := c.Wait(t.Context(), 1, 10*time.Second).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "the replica logs in, too")
}

// TestPasswordLater gives a node a password while it runs, and takes it away.
func TestPasswordLater(t *testing.T) {
	s := minikvtest.Run(t)
	s.Do("CONFIG", "SET", "requirepass", "secret")
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Password: "wrong", MaxRetries: -1})
	defer func() { _ = c.Close() }()
	require.EqualError(t, c.Ping(t.Context()).Err(),
		"WRONGPASS invalid username-password pair or user is disabled.")
	s.Set("k", "v")
	s.CheckGet(t, "k", "v")
	s.Do("CONFIG", "SET", "requirepass", "")
	open := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer func() { _ = open.Close() }()
	require.NoError(t, open.Ping(t.Context()).Err())
}
