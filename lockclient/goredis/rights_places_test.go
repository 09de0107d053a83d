package goredis_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/topology"
)

// whereabouts are where masters have replicas: a master and its replica, and a cluster.
var whereabouts = map[string]struct {
	plan    cluster.Plan
	connect func(t *testing.T, addr, user string) (redis.UniversalClient, error)
	opts    []goredis.Option
}{
	"where a master has replicas": {
		cluster.Plan{Masters: 1, Replicas: 1},
		func(_ *testing.T, addr, user string) (redis.UniversalClient, error) {
			return redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: "pw", DisableIdentity: true}), nil
		},
		[]goredis.Option{goredis.WithReplicas()},
	},
	"in a cluster": {
		cluster.Plan{Masters: 3, Replicas: 1, Cluster: true},
		func(_ *testing.T, addr, user string) (redis.UniversalClient, error) {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: []string{addr}, Username: user, Password: "pw", DisableIdentity: true,
			}), nil
		},
		nil,
	},
}

// What docs/acl.md says is enough, and needed, where masters have replicas.
func TestRightsByPlace(t *testing.T) {
	kinds, places, _ := documentedRights(t)
	mutex := kinds["Mutex"]
	for where := range whereabouts {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			special := places[where]
			require.NotEmpty(t, special)
			commands := append(slices.Clone(mutex[0]), special...)
			refused, err := thrice(func() ([]string, error) {
				return atPlace(t, where, rights{commands, mutex[1], mutex[2]}, soon)
			})
			require.NoError(t, err)
			require.Empty(t, refused)
			var all sync.WaitGroup
			for i := range special {
				all.Go(func() {
					r := rights{commands, mutex[1], mutex[2]}.without(0, len(mutex[0])+i)
					refused, _ := thrice(func() ([]string, error) { return atPlace(t, where, r, patient) })
					assert.NotEmpty(t, refused, "without %s", special[i])
				})
			}
			all.Wait()
		})
	}
}

// atPlace takes locks as a user with some rights, and has somebody wait for one.
func atPlace(t *testing.T, where string, r rights, after time.Duration) (refused []string, err error) {
	at := whereabouts[where]
	top, err := topology.Start(topology.Config{Plan: at.plan})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	var users []*user
	for _, n := range top.Nodes() {
		users = append(users, newUser(t, n.Address(), "worker", r.rules("orders:*")))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := at.connect(t, users[0].options.Addr, "worker")
	require.NoError(t, err)
	defer client.Close()
	return watched(cancel, func() error { return waitForMutexes(ctx, client, at.opts) }, after, func() (refused []string) {
		for _, u := range users {
			refused = append(refused, u.refused(t)...)
		}
		return refused
	})
}

// waitForMutexes takes mutexes in several slots, and has somebody wait for each.
func waitForMutexes(ctx context.Context, client redis.UniversalClient, opts []goredis.Option) error {
	transport, err := goredis.New(ctx, client, opts...)
	if err != nil {
		return err
	}
	c := lockclient.New(transport, lockclient.System())
	defer c.Close()
	for i := range 6 {
		h, err := c.Mutex(fmt.Sprint("orders:", i)).TryLock(ctx)
		if err != nil {
			return err
		}
		time.AfterFunc(soon, func() { _ = h.Unlock(ctx) })
		if err := c.Mutex(h.Key()).Do(ctx, func(context.Context, *lockclient.Held) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// watched runs f, and cancels it as soon as something was refused, which may come until
// some time after its end. It returns that, and the error of f.
func watched(cancel func(), f func() error, after time.Duration, refused func() []string) (so []string, err error) {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	var over <-chan time.Time
	for {
		select {
		case err = <-ended:
			ended, over = nil, time.After(after)
		case <-over:
			return refused(), err
		case <-time.After(soon):
			if so = refused(); len(so) == 0 {
				continue
			}
			cancel()
			if ended != nil {
				err = <-ended
			}
			return so, err
		}
	}
}
