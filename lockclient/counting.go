package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// change runs a script that changes a count and replies a number. As a count
// has no owners, nothing can be found out later about a request that was
// abandoned: once it is sent, its reply is awaited even if ctx ends. With
// ErrReplication the number is good.
func (c *Client) change(ctx context.Context, q call) (int64, error) {
	return c.changeWithin(ctx, c.timeout, q)
}

// changeWithin is change of what is repeated for as long as patience if it is refused on the way.
func (c *Client) changeWithin(ctx context.Context, patience time.Duration, q call) (int64, error) {
	if ctx.Err() != nil {
		return 0, contextError(ctx)
	}
	reply, err := c.evalSynced(ctx, context.WithoutCancel(ctx), patience, func() call { return q })
	if err != nil && err != ErrReplication {
		return 0, err
	}
	n, ok := reply.Integer()
	if !ok {
		return 0, fmt.Errorf("unexpected reply: %+v", reply)
	}
	return n, err
}

// changes is change for a script that replies 0 when it has changed nothing: then
// there is nothing to confirm.
func (c *Client) changes(ctx context.Context, q call) (int64, error) {
	return c.changesWithin(ctx, c.timeout, q)
}

// changesWithin is to changes what changeWithin is to change.
func (c *Client) changesWithin(ctx context.Context, patience time.Duration, q call) (int64, error) {
	n, err := c.changeWithin(ctx, patience, q)
	if err == ErrReplication && n == 0 {
		err = nil
	}
	return n, err
}

// countPatience is for how long a request that changes a count is repeated until it
// is answered: nothing else settles it.
const countPatience = 10 * time.Minute

// forget has a record end soon, whose request was answered when it was sent first:
// nothing but a second copy of it can still be on its way. After a repetition the
// first request can; then the record stays for its whole TTL.
func (c *Client) forget(record string) {
	soon := millis(3 * c.timeout)
	c.rt.Go(func() { _, _ = c.do(c.base, c.timeout, record, "PEXPIRE", record, soon) })
}

// record names what one request leaves that changes a count, or gives a lock back, so
// that it changes nothing when it is sent again: what it did.
func (c *Client) record(key string) string { return latchKey(key, c.randomHex(16)) }

// recordTTL is the TTL of records: none ends while its request may be repeated.
func (c *Client) recordTTL() string { return millis(countPatience + c.latchTTL()) }

// announced adds to a script's arguments the command that wakes waiters. The
// scripts of 3.16 know theirs.
func (c *Client) announced(args ...string) []string {
	if c.compat316 {
		return args
	}
	return append(args, c.publishCommand())
}

// notRun tells whether an error means that a script has not even begun, or has not
// written: one that has may write on, also when memory is full or the disk fails.
// Sending it again is harmless then. Any other error of the server may have come in
// the middle of it. Source: scriptCall of Redis 7.0.
func notRun(err error) bool {
	if errors.Is(err, ErrNotSent) {
		return true
	}
	switch refusal(err) {
	case "ASK", "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "MOVED", "NOAUTH", "NOREPLICAS", "NOSCRIPT",
		"OOM", "READONLY", "TRYAGAIN", "WRONGPASS":
		return true
	}
	refused := serverError(err) // of a connection, in place of an answer
	return refused != nil && strings.HasPrefix(refused.Text, "ERR max number of clients")
}

// unsettled tells whether a request that leaves a record is to be repeated: it was not
// run, or nobody knows, or no replica has it, which may be the master tomorrow.
func unsettled(err error) bool {
	return notRun(err) || errors.Is(err, ErrUnknown) || err == ErrReplication
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

// maxCount is the most permits, or the highest count of a latch: scripts reckon with doubles,
// which have no more numbers.
const maxCount = 1 << 53

// inRange refuses a number of permits, or a count, that is not from low to maxCount.
func inRange(n, low int64) error {
	if n < low || n > maxCount {
		return fmt.Errorf("%d is not from %d to %d", n, low, int64(maxCount))
	}
	return nil
}

// decimal is a number as the wire has it.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
