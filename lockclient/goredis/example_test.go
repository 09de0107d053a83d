package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/topology"
)

// Two programs want the same lock: the one waits until the other has unlocked.
func Example() {
	server, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 1}}) // any Redis will do
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	connect := func() *lockclient.Client {
		transport, err := goredis.New(ctx, redis.NewClient(&redis.Options{Addr: server.Node("m1").Address()}))
		if err != nil {
			log.Fatal(err)
		}
		return lockclient.New(transport, lockclient.System())
	}
	one, other := connect(), connect()
	defer one.Close()
	defer other.Close()

	held, err := one.Mutex("orders:42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = other.Mutex("orders:42").TryLock(ctx)
	fmt.Println("the other:", errors.Is(err, lockclient.ErrNotAcquired))

	time.AfterFunc(50*time.Millisecond, func() { _ = held.Unlock(ctx) })
	held, err = other.Mutex("orders:42").TryLock(ctx, lockclient.Wait(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("then the other has it:", held.Key())
	fmt.Println(held.Unlock(ctx))
	// Output:
	// the other: true
	// then the other has it: orders:42
	// <nil>
}

// What no replica has confirmed is not granted: it would be lost with its master.
func Example_replicas() {
	servers, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()
	transport, err := goredis.New(ctx, redis.NewClient(&redis.Options{Addr: servers.Node("m1").Address()}))
	if err != nil {
		log.Fatal(err)
	}
	client := lockclient.New(transport, lockclient.System(), lockclient.RequireReplicas(1))
	defer client.Close()

	held, err := client.Mutex("orders:42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(held.Unlock(ctx))
	servers.Node("r1").Kill()
	_, err = client.Mutex("orders:42").TryLock(ctx)
	fmt.Println("no replica:", errors.Is(err, lockclient.ErrReplication))
	// Output:
	// <nil>
	// no replica: true
}
