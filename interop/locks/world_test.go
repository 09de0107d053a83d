package locks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/topology"
)

// soon is how long a server may take for what it does at once.
const soon = 20 * time.Second

// world is a master with a replica. All is over with its test.
type world interface {
	// master is where the master is found: HOST:PORT, or the path of a socket.
	master() string
	// pass lets so much time pass for the servers that every lease ends.
	pass(t *testing.T)
	// hold keeps from the replica what the master does from now on.
	hold(t *testing.T)
	// promote ends the master at once and makes the replica one.
	promote(t *testing.T)
}

// server is a kind of server.
type server struct {
	name  string
	start func(t *testing.T) world
}

// servers are those that this machine has.
func servers() []server {
	all := []server{{"minikv", startMinikv}}
	if _, err := exec.LookPath("redis-server"); err == nil {
		all = append(all, server{"redis-server", startRedis})
	}
	return all
}

// minikvWorld runs in this process.
type minikvWorld struct {
	topology *topology.Topology
	now      string // the name of the master
	ahead    time.Duration
}

func startMinikv(t *testing.T) world {
	top, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	return &minikvWorld{topology: top, now: "m1"}
}

func (w *minikvWorld) master() string { return w.topology.Node(w.now).Address() }

// pass lets the clocks run.
func (w *minikvWorld) pass(*testing.T) {
	w.ahead += lease + time.Second
	for _, n := range w.topology.Nodes() {
		n.SetClockOffset(w.ahead)
	}
}

func (w *minikvWorld) hold(*testing.T) { w.topology.Node("r1").HoldReplication() }

func (w *minikvWorld) promote(t *testing.T) {
	w.topology.Node("m1").Kill()
	w.now = "r1"
	_, err := w.topology.Node(w.now).Command("REPLICAOF", "NO", "ONE")
	require.NoError(t, err)
}

// redisWorld is two processes, found by their sockets.
type redisWorld struct {
	sockets     []string // of the master, of the replica
	replication *front   // through which the replica follows
	end         func()   // of the master
}

func startRedis(t *testing.T) world {
	folder, err := os.MkdirTemp("", "locks") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	w := &redisWorld{sockets: []string{filepath.Join(folder, "m1"), filepath.Join(folder, "r1")}}
	w.end = startProcess(t, w.sockets[0])
	w.replication = startFront(t, w.sockets[0], nil)
	host, port, _ := strings.Cut(w.replication.address, ":")
	startProcess(t, w.sockets[1], "--replicaof", host+" "+port)
	return w
}

// startProcess returns when the server answers. end ends it at once, as does the
// end of the test, or of this process however it ends.
func startProcess(t *testing.T, socket string, options ...string) (end func()) {
	arguments := append([]string{"-c", `"$@" & read _; kill -9 $!; wait`, "sh", "redis-server", "--port", "0",
		"--unixsocket", socket, "--save", "", "--dir", filepath.Dir(socket),
		"--repl-diskless-sync-delay", "0"}, options...)
	command := exec.Command("sh", arguments...)
	in, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	end = func() {
		in.Close()
		_ = command.Wait()
	}
	t.Cleanup(end)
	client := connect(t, socket)
	require.Eventually(t, func() bool { return client.Ping(context.Background()).Err() == nil }, soon, 5*time.Millisecond)
	return end
}

func (w *redisWorld) master() string { return w.sockets[0] }

// pass ends the leases on the server: its clock cannot be moved.
func (w *redisWorld) pass(t *testing.T) { endLeases(t, w) }

func (w *redisWorld) hold(t *testing.T) {
	replica := connect(t, w.sockets[1])
	require.Eventually(t, func() bool {
		return strings.Contains(replica.Info(t.Context(), "replication").Val(), "master_link_status:up")
	}, soon, 20*time.Millisecond)
	w.replication.cut()
}

func (w *redisWorld) promote(t *testing.T) {
	w.end()
	w.sockets = w.sockets[1:]
	require.NoError(t, connect(t, w.master()).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
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

// state says which keys of a lock there are: the type of each, and its TTL to
// the nearest ten seconds.
func state(t *testing.T, w world, name string) string {
	client := connect(t, w.master())
	keys, err := client.Keys(t.Context(), "*"+name+"*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	var all []string
	for _, key := range keys {
		kind := client.Type(t.Context(), key).Val()
		ttl := client.PTTL(t.Context(), key).Val()
		switch {
		case kind == "none": // it has expired since
		case ttl < 0:
			all = append(all, kind+" for ever")
		default:
			all = append(all, fmt.Sprintf("%s %.0f s", kind, ttl.Round(10*time.Second).Seconds()))
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, " and ")
}
