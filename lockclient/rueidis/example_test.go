package rueidis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/rueidis"

	"minikv/cluster"
	"minikv/lockclient"
	adapter "minikv/lockclient/rueidis"
	"minikv/topology"
)

// A job that only one program does at a time stops when its lock is lost.
func Example() {
	server, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 1}}) // any Redis will do
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	rdb, err := adapter.NewClient(rueidis.ClientOption{InitAddress: []string{server.Node("m1").Address()}})
	if err != nil {
		log.Fatal(err)
	}
	defer rdb.Close()
	transport, err := adapter.New(ctx, rdb)
	if err != nil {
		log.Fatal(err)
	}
	client := lockclient.New(transport, lockclient.System())
	defer client.Close()

	job := client.Mutex("nightly-report")
	err = job.Do(ctx, func(ctx context.Context, _ *lockclient.Held) error {
		server.Node("m1").Kill()
		<-ctx.Done() // ends with the lease, as nobody can renew it
		return context.Cause(ctx)
	}, lockclient.Lease(100*time.Millisecond))
	fmt.Println("lost:", errors.Is(err, lockclient.ErrLost))
	// Output: lost: true
}
