package adapter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"minikv/lockclient"
)

// early is how far a socket's time limit may be ahead of its context's.
const early = 50 * time.Millisecond

// Aside runs f, and lets its caller go when ctx ends. Clients may go on waiting:
// for a reply, so that the connection stays in step for its next user, or to
// connect, which not all of them give up in time. f must then undo what it does.
func Aside[T any](ctx context.Context, f func() (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := f()
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, ended(ctx, o.err)
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// ended gives ctx's error in place of a time-out of the socket or of dialing.
// Clients limit these by ctx's deadline, and they do not end at one instant.
func ended(ctx context.Context, err error) error {
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

// Connecting tells whether an error says that no connection was made: nothing was
// sent then. A tls.RecordHeaderError has its Conn only before any handshake.
func Connecting(err error) bool {
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &certificate) ||
		errors.As(err, &header) && header.Conn != nil
}

// Before is the error of a command for which a script was not sent: not the script's,
// unless a server has said so.
func Before(err error) error {
	var refused *lockclient.ServerError
	if errors.As(err, &refused) || errors.Is(err, lockclient.ErrNotSent) {
		return err
	}
	return fmt.Errorf("%w: before the script: %w", lockclient.ErrNotSent, err)
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
