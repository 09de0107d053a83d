package adapter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"minikv/lockclient"
)

// early is how far a socket's time limit may be ahead of its context's.
const early = 50 * time.Millisecond

// Ended gives ctx's error in place of a time-out of the socket or of dialing.
// Clients limit these by ctx's deadline, and they do not end at one instant.
func Ended(ctx context.Context, err error) error {
	at, limited := ctx.Deadline()
	timedOut := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
	if !limited || !timedOut || time.Until(at) > early {
		return err
	}
	<-ctx.Done()
	if errors.Is(err, lockclient.ErrNotSent) {
		return fmt.Errorf("%w: %w", lockclient.ErrNotSent, ctx.Err())
	}
	return ctx.Err()
}

// Afterwards hides what an error says about its own command: the script that
// came before has been executed.
func Afterwards(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("after the script: %v", err)
}

// Replicas reads connected_slaves from INFO replication.
func Replicas(info string) int64 {
	for _, line := range strings.Split(info, "\r\n") {
		if count, ok := strings.CutPrefix(line, "connected_slaves:"); ok {
			n, _ := strconv.ParseInt(count, 10, 64)
			return n
		}
	}
	return 0
}
