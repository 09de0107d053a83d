package lockclient_test

import (
	"context"
	"errors"
	"fmt"

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
