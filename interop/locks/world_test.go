package locks

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// soon is how long a server may take for what it does at once.
const soon = 20 * time.Second

// world is a master with a replica. All is over with its test.
type world interface {
	// master is where the master is found: HOST:PORT, or the path of a socket.
	master() string
	// loseReply lets the first command of A's that mentions a lock be executed, and
	// its reply be lost when the connection breaks. What only looks does not count.
	loseReply(t *testing.T, a *front, name string)
	// hasLost reports whether that has happened.
	hasLost(t *testing.T, a *front) bool
	// pass lets so much time pass for the servers that every lease ends.
	pass(t *testing.T)
	// hold keeps from the replica what the master does from now on.
	hold(t *testing.T)
	// promote ends the master at once and makes the replica one.
	promote(t *testing.T)
	// judge requires a server that can tell to say whether two held a lock at a time.
	judge(t *testing.T, name string, both bool)
}

// server is a kind of server. A client with absolute leases needs one whose
// clock is the client's.
type server struct {
	name  string
	start func(t *testing.T, absolute bool) world
}

// servers are those that this machine has.
func servers(t *testing.T) []server {
	all := []server{{"minikv", minikvServer(t)}}
	if _, err := exec.LookPath("redis-server"); err == nil {
		all = append(all, server{"redis-server", startRedis})
	}
	return all
}

// endLeases has the server end every lease by itself.
func endLeases(t *testing.T, w world) {
	client := connect(t, w.master())
	for _, key := range leased(t, client) {
		require.NoError(t, client.PExpire(t.Context(), key, time.Millisecond).Err())
	}
}

// leased are the keys that expire.
func leased(t *testing.T, client *redis.Client) (all []string) {
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		if client.PTTL(t.Context(), key).Val() > 0 {
			all = append(all, key)
		}
	}
	return all
}

// connect returns a client of a server, until the test ends.
func connect(t *testing.T, address string) *redis.Client {
	client := redis.NewClient(&redis.Options{Network: network(address), Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// state says which keys of a lock there are: the type of each, and how long it
// stays.
func state(t *testing.T, w world, name string) string {
	client := connect(t, w.master())
	keys, err := client.Keys(t.Context(), "*"+name+"*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	var all []string
	for _, key := range keys {
		// A key that has expired since has no type.
		if kind := client.Type(t.Context(), key).Val(); kind != "none" {
			all = append(all, kind+" "+stay(client.PTTL(t.Context(), key).Val()))
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, " and ")
}

// stay is a TTL in words: a lease of some seconds ago, half a lease, or neither.
func stay(ttl time.Duration) string {
	const about = 8 * time.Second
	for _, known := range []time.Duration{lease, lease / 2} {
		if (ttl - known).Abs() < about {
			return fmt.Sprintf("%.0f s", known.Seconds())
		}
	}
	if ttl < 0 {
		return "for ever"
	}
	return "for a while"
}
