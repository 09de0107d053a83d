package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// change runs a script that changes a count and replies a number. As a count
// has no owners, nothing can be found out later about a request that was
// abandoned: once it is sent, its reply is awaited even if ctx ends. With
// ErrReplication the number is good.
func (c *Client) change(ctx context.Context, q call) (int64, error) {
	if ctx.Err() != nil {
		return 0, contextError(ctx)
	}
	reply, err := c.evalSynced(context.WithoutCancel(ctx), c.timeout, &q)
	if err != nil && err != ErrReplication {
		return 0, err
	}
	n, ok := reply.Integer()
	if !ok {
		return 0, fmt.Errorf("unexpected reply: %+v", reply)
	}
	return n, err
}

// announced adds to a script's arguments the command that wakes waiters. The
// scripts of 3.16 know theirs.
func (c *Client) announced(args ...string) []string {
	if c.compat316 {
		return args
	}
	return append(args, c.publishCommand())
}

// notRun tells whether an error means that a script has not even begun, so that
// sending it again is harmless. Any other error of the server may have come in
// the middle of it.
func notRun(err error) bool {
	if errors.Is(err, ErrNotSent) {
		return true
	}
	switch refusal(err) {
	case "ASK", "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MOVED", "NOREPLICAS", "READONLY", "TRYAGAIN":
		return true
	}
	return false
}

// refusal is the code word of a server's error, "" of any other.
func refusal(err error) string {
	refused := serverError(err)
	if refused == nil {
		return ""
	}
	code, _, _ := strings.Cut(refused.Text, " ")
	return code
}

// permitsWake is the rule of semaphores, whose messages count permits.
func permitsWake(payload string) int64 {
	n, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// decimal is a number as the wire has it.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
