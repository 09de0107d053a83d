package server

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func pipe() (client, server net.Conn) {
	at := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }
	return Pipe(at(1), at(2))
}

func TestPipeCarriesBothWays(t *testing.T) {
	a, b := pipe()
	require.Equal(t, "127.0.0.1:1", a.LocalAddr().String())
	require.Equal(t, "127.0.0.1:1", b.RemoteAddr().String())
	large := bytes.Repeat([]byte("0123456789"), pipeBuffer/4) // more than the buffer holds
	go func() {
		_, _ = a.Write(large)
		_ = a.Close()
	}()
	_, err := b.Write([]byte("reply"))
	require.NoError(t, err)
	have, err := io.ReadAll(b)
	require.NoError(t, err)
	require.True(t, bytes.Equal(large, have))
	_, err = b.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
	_, err = a.Read(make([]byte, 10))
	require.ErrorIs(t, err, net.ErrClosed, "the end itself is closed, whatever has come")
	_, err = a.Write([]byte("x"))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe()
		begun := time.Now()
		require.NoError(t, a.SetDeadline(begun.Add(time.Minute)))
		_, err := a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var timeout net.Error
		require.True(t, errors.As(err, &timeout) && timeout.Timeout())
		require.Equal(t, time.Minute, time.Since(begun))
		_, err = a.Write([]byte("x"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)

		require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
		require.NoError(t, a.SetDeadline(time.Time{})) // the earlier one does no harm
		go func() {
			time.Sleep(2 * time.Hour)
			_, _ = b.Write([]byte("late"))
		}()
		part := make([]byte, 10)
		n, err := a.Read(part)
		require.NoError(t, err)
		require.Equal(t, "late", string(part[:n]))

		go func() {
			time.Sleep(time.Second)
			_ = a.SetReadDeadline(time.Now()) // wakes who reads
		}()
		_, err = a.Read(part)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, b.SetWriteDeadline(time.Now().Add(time.Second)))
		n, err = b.Write(make([]byte, pipeBuffer+1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, pipeBuffer, n)
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
}

// What is written now is what fits, and it comes before what is written later.
func TestPipeWritesNow(t *testing.T) {
	a, b := pipe()
	end := b.(*pipeEnd)
	require.Equal(t, pipeBuffer, end.writeNow(make([]byte, pipeBuffer+5)))
	require.Equal(t, 0, end.writeNow([]byte("x")))
	part := make([]byte, 100)
	n, err := a.Read(part)
	require.NoError(t, err)
	require.Equal(t, 100, n)
	require.Equal(t, 100, end.writeNow(make([]byte, 500)))
	require.NoError(t, a.Close())
	require.Equal(t, 0, end.writeNow([]byte("x")))
}
