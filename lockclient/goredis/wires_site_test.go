package goredis_test

import (
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
	"minikv/minikvtest"
)

// serve starts the servers.
func (r *wiresRun) serve() {
	options := []minikvtest.Option{minikvtest.InMemory(), minikvtest.DownAfter(5 * time.Second)}
	switch *wiresSite {
	case "":
		r.servers = minikvtest.RunNodes(r.T, r.kind.Masters, options[0])
	case "sentinels":
		r.servers = minikvtest.RunSentinel(r.T, 1, options...)
	case "cluster":
		r.servers = minikvtest.RunCluster(r.T, 3, 1, options...)
	default:
		require.Fail(r, "-wires.site is sentinels or cluster")
	}
}

// clients makes one for each independent master.
func (r *wiresRun) clients(w *wires, library string, process int) (all []*lockclient.Client, leave func()) {
	timeout := wiresTimeout
	if w.isHealed() {
		timeout = 5 * time.Second // for what a busy machine takes
	}
	options := []lockclient.Option{lockclient.WithTimeout(timeout), lockclient.WithWatchdog(30 * second),
		lockclient.WithFairWait(20 * second), lockclient.WithPoll(5 * second)}
	if *wiresSite == "sentinels" {
		options = append(options, lockclient.RequireReplicas(1))
	}
	if r.kind.Options != nil {
		options = append(options, r.kind.Options(process)...)
	}
	addresses := [][]string{r.servers.Addrs()}
	if *wiresSite == "" {
		addresses = nil
		for _, a := range r.servers.Addrs() {
			addresses = append(addresses, []string{a})
		}
	}
	var ends []func()
	for _, some := range addresses {
		transport, end := r.transport(w, library, some, timeout)
		c := lockclient.New(transport, r.rt, options...)
		all, ends = append(all, c), append(ends, c.Close, end)
	}
	return all, func() {
		for _, end := range ends {
			end()
		}
	}
}

// transport connects, which may take several attempts.
func (r *wiresRun) transport(w *wires, library string, addresses []string, timeout time.Duration) (
	lockclient.Transport, func(),
) {
	connect := r.connectGoRedis
	if library == "rueidis" {
		connect = r.connectRueidis
	}
	for {
		t, end, err := connect(w, addresses, timeout)
		if err == nil {
			return t, end
		}
		r.logf("cannot connect: %v", err)
		time.Sleep(second)
	}
}

// unmaintained spares go-redis a data race of its own: a connection of its own notes for all
// that the server has no such notifications.
var unmaintained = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

func (r *wiresRun) connectGoRedis(w *wires, addresses []string, timeout time.Duration) (
	lockclient.Transport, func(), error,
) {
	var rdb redis.UniversalClient
	switch *wiresSite {
	case "sentinels":
		rdb = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: addresses,
			Dialer: w.Dial, ReadTimeout: timeout, WriteTimeout: timeout})
	case "cluster":
		rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, Dialer: w.Dial,
			ReadTimeout: timeout, WriteTimeout: timeout, MaintNotificationsConfig: unmaintained})
	default:
		rdb = redis.NewClient(&redis.Options{Addr: addresses[0], Dialer: w.Dial,
			ReadTimeout: timeout, WriteTimeout: timeout, MaintNotificationsConfig: unmaintained})
	}
	end := func() { _ = rdb.Close() }
	t, err := goredis.New(r.Context(), rdb)
	if err != nil {
		end()
	}
	return t, end, err
}

func (r *wiresRun) connectRueidis(w *wires, addresses []string, _ time.Duration) (
	lockclient.Transport, func(), error,
) {
	options := rueidis.ClientOption{InitAddress: addresses, DialCtxFn: w.DialRueidis, ConnWriteTimeout: 5 * second}
	if *wiresSite == "sentinels" {
		options.Sentinel.MasterSet = "mymaster"
	}
	rdb, err := adapter.NewClient(options)
	if err != nil {
		return nil, nil, err
	}
	t, err := adapter.New(r.Context(), rdb)
	if err != nil {
		rdb.Close()
	}
	return t, rdb.Close, err
}

// trouble strikes servers.
func (r *wiresRun) trouble(draws *rand.Rand, end time.Time) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(draws.IntN(int(d) + 1)) }
	for {
		time.Sleep(upTo(20 * second))
		if !time.Now().Before(end) {
			return
		}
		key := r.key(draws.IntN(wiresKeys))
		node := r.servers.NodeFor(key)
		what := draws.IntN(8)
		r.logf("trouble %d with %s", what, node.Name())
		switch what {
		case 0:
			node.Do("SCRIPT", "FLUSH")
		case 1:
			node.Do("CLIENT", "KILL", "TYPE", "normal")
		case 2:
			node.Do("CLIENT", "KILL", "TYPE", "pubsub")
		case 3:
			node.Freeze()
			time.Sleep(upTo(6 * second))
			node.Thaw()
		case 4:
			node.Restart()
		case 5, 6:
			if *wiresSite != "" {
				node.Failover()
			}
		case 7:
			if *wiresSite == "cluster" {
				if to := r.servers.NodeFor([]string{"a", "b", "c"}[draws.IntN(3)]); to != node {
					to.MoveSlot(key)
				}
			}
		}
	}
}
