package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minikv/lockclient"
)

// A lock is held for the time of a function, whose context ends if the lock is
// lost. Programs use lockclient/goredis in place of this Transport.
func Example() {
	transport := &wire{reply: free}
	client := lockclient.New(transport, lockclient.System())
	defer client.Close()

	ctx := context.Background()
	err := client.Mutex("orders:42").Do(ctx, func(ctx context.Context, h *lockclient.Held) error {
		fmt.Println("holding", h.Key())
		return nil
	})
	switch {
	case errors.Is(err, lockclient.ErrLost):
		fmt.Println("somebody else may have been inside")
	case errors.Is(err, lockclient.ErrUnknown):
		fmt.Println("a reply was lost")
	case err == nil:
		fmt.Println("done")
	}
	// Output:
	// holding orders:42
	// done
}

// A resource that remembers the largest token it has seen refuses a holder
// whose lease has ended without its knowing.
func ExampleClient_Fenced() {
	client := lockclient.New(&wire{reply: free}, lockclient.System())
	defer client.Close()

	err := client.Fenced("ledger").Do(context.Background(), func(_ context.Context, h *lockclient.Held) error {
		token, _ := h.Token()
		fmt.Println("write with token", token)
		return nil
	})
	fmt.Println(err)
	// Output:
	// write with token 7
	// <nil>
}

// Permits are taken together, or not at all.
func ExampleClient_Semaphore() {
	client := lockclient.New(&wire{reply: counted}, lockclient.System())
	defer client.Close()

	ctx := context.Background()
	permits, err := client.Semaphore("gpu").Acquire(ctx, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("using", permits.Count())
	fmt.Println(permits.Release(ctx))
	// Output:
	// using 2
	// <nil>
}

// A permit that expires is a Held: it tells when it is lost, and comes back by
// itself if its holder dies.
func ExampleClient_PermitSemaphore() {
	client := lockclient.New(&wire{reply: counted}, lockclient.System())
	defer client.Close()

	ctx := context.Background()
	permit, err := client.PermitSemaphore("licences").Acquire(ctx, time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(permit.Extend(ctx, 2*time.Minute))
	fmt.Println(permit.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}

// Those who wait for a latch go on when it was counted down to zero.
func ExampleClient_Latch() {
	client := lockclient.New(&wire{reply: counted}, lockclient.System())
	defer client.Close()

	ctx := context.Background()
	set, err := client.Latch("warm-up").TrySetCount(ctx, 2)
	fmt.Println(set, err)
	left, err := client.Latch("warm-up").CountDown(ctx)
	fmt.Println(left, err)
	fmt.Println(client.Latch("warm-up").Wait(ctx))
	// Output:
	// true <nil>
	// 1 <nil>
	// <nil>
}

// TryLock waits for at most as long as Wait says, and Lease fixes for how long the lock
// is held. Who cannot end in time extends it.
func ExampleLock_TryLock() {
	client := lockclient.New(&wire{reply: free}, lockclient.System())
	defer client.Close()

	ctx := context.Background()
	held, err := client.Mutex("report").TryLock(ctx, lockclient.Wait(2*time.Second), lockclient.Lease(time.Minute))
	if errors.Is(err, lockclient.ErrNotAcquired) {
		fmt.Println("somebody else is at it")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(held.Extend(ctx, 2*time.Minute))
	fmt.Println(held.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}

// A Redlock is taken on a majority of masters that know nothing of each other: each has
// a Client of its own.
func ExampleHashRedlock() {
	var masters []*lockclient.Client
	for range 3 {
		master := lockclient.New(&wire{reply: free}, lockclient.System())
		defer master.Close()
		masters = append(masters, master)
	}

	ctx := context.Background()
	held, err := lockclient.HashRedlock("orders:42", masters...).Lock(ctx, lockclient.Lease(10*time.Second))
	if quorum := (*lockclient.QuorumError)(nil); errors.As(err, &quorum) {
		fmt.Println("too few masters agreed:", quorum)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(held.Unlock(ctx))
	// Output: <nil>
}

// An observer hears of what happens to all locks of a client, as for metrics.
func ExampleWithObserver() {
	client := lockclient.New(&wire{reply: free}, lockclient.System(),
		lockclient.WithObserver(func(e lockclient.Event) { fmt.Println(e.Kind, e.Key, e.Err) }))
	defer client.Close()

	_ = client.Mutex("orders:42").Do(context.Background(), func(context.Context, *lockclient.Held) error { return nil })
	// Output:
	// acquired orders:42 <nil>
	// released orders:42 <nil>
}
