package adapter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"minikv/lockclient"
)

// Only what happens before a connection is there says that nothing was sent.
func TestConnecting(t *testing.T) {
	conn, _ := net.Pipe()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{fmt.Errorf("pool: %w", &net.OpError{Op: "dial", Err: context.Canceled}), true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, false},
		{&tls.CertificateVerificationError{Err: errors.New("unknown authority")}, true},
		{tls.RecordHeaderError{Conn: conn}, true},
		{tls.RecordHeaderError{}, false},
		{io.EOF, false},
		{context.DeadlineExceeded, false},
		{nil, false},
	} {
		assert.Equal(t, c.want, Connecting(c.err), "%v", c.err)
	}
}

// What fails before a script was sent is no unknown outcome of it; a server's refusal
// stays one.
func TestBefore(t *testing.T) {
	refused := &lockclient.ServerError{Text: "LOADING Redis is loading the dataset in memory"}
	assert.Equal(t, error(refused), Before(refused))
	assert.ErrorIs(t, Before(io.EOF), lockclient.ErrNotSent)
	assert.ErrorIs(t, Before(io.EOF), io.EOF)
}

// A time-out at the deadline of a context, of dialing or of a socket, is the context's;
// an earlier one is the client's own. What was not sent stays so.
func TestTimeoutsAtTheDeadline(t *testing.T) {
	notSent := fmt.Errorf("%w: dial: %w", lockclient.ErrNotSent, os.ErrDeadlineExceeded)
	for _, c := range []struct {
		err     error
		before  time.Duration // the deadline
		want    error
		notSent bool
	}{
		{os.ErrDeadlineExceeded, 10 * time.Millisecond, context.DeadlineExceeded, false},
		{notSent, 10 * time.Millisecond, context.DeadlineExceeded, true},
		{os.ErrDeadlineExceeded, time.Second, os.ErrDeadlineExceeded, false},
		{io.EOF, 10 * time.Millisecond, io.EOF, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.before)
			defer cancel()
			got := ended(ctx, c.err)
			assert.ErrorIs(t, got, c.want, "%v", c.err)
			assert.Equal(t, c.notSent, errors.Is(got, lockclient.ErrNotSent), "%v", c.err)
			assert.Equal(t, c.want == context.DeadlineExceeded, ctx.Err() != nil, "%v", c.err)
		})
	}
}
