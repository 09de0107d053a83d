package failover

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
)

// watchdog is the lease of a lock of lockclient. It is longer than a master is
// missed, as in the programs of the other clients.
const watchdog = 10 * time.Second

// startGoRedis has lockclient over go-redis do the workload until the test ends.
func startGoRedis(t *testing.T, mode string, addresses []string) *referee {
	var client redis.UniversalClient
	if mode == "sentinel" {
		client = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: addresses})
	} else {
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
	}
	t.Cleanup(func() { _ = client.Close() })
	transport, err := goredis.New(t.Context(), client, goredis.WithReplicas())
	require.NoError(t, err)
	return work(t, "go-redis", transport)
}

// startRueidis is the same over rueidis.
func startRueidis(t *testing.T, mode string, addresses []string) *referee {
	options := rueidis.ClientOption{InitAddress: addresses}
	if mode == "sentinel" {
		options.Sentinel.MasterSet = "mymaster"
	}
	client, err := adapter.NewClient(options)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	transport, err := adapter.New(t.Context(), client)
	require.NoError(t, err)
	return work(t, "rueidis", transport)
}

// work is the workload of lockclient.
func work(t *testing.T, name string, transport lockclient.Transport) *referee {
	r := newReferee()
	client := lockclient.New(transport, lockclient.System(), lockclient.WithWatchdog(watchdog))
	ctx, cancel := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	for lock, held := range holdTimes {
		for range 2 {
			workers.Go(func() {
				for ctx.Err() == nil {
					err := holdOnce(ctx, client.Fenced("{lock}:"+name+":"+lock), held, r, lock)
					if err != nil && !errors.Is(err, context.Canceled) {
						r.note(event{Do: "error", Text: err.Error()})
					}
					time.Sleep(between)
				}
			})
		}
	}
	t.Cleanup(func() {
		cancel()
		workers.Wait()
		client.Close()
	})
	return r
}

// holdOnce takes and frees a lock. It believes that it holds until it frees or
// lockclient says that it no longer does.
func holdOnce(ctx context.Context, lock *lockclient.Lock, held time.Duration, r *referee, name string) error {
	h, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	token, _ := h.Token()
	r.note(event{Do: "hold", Lock: name, Token: int64(token)})
	select {
	case <-h.Lost():
	case <-time.After(held):
	}
	r.note(event{Do: "free", Lock: name, Token: int64(token)})
	return h.Unlock(context.WithoutCancel(ctx))
}
