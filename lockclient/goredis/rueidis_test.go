package goredis_test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
	"minikv/minikvtest"
)

// The adapter of rueidis keeps the same contract, so its tests are these.

// newRueidis makes a transport over rueidis with the options of NewClient: it turns
// on the tracking of its cache when it connects.
func newRueidis(t *testing.T, addr string, db int) (lockclient.Transport, error) {
	client, err := adapter.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, SelectDB: db,
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(client.Close)
	return adapter.New(t.Context(), client)
}

// connectRueidis is the connector of rueidis.
func connectRueidis(t *testing.T, addr string) (*proxy, lockclient.Transport) {
	t.Helper()
	p := newProxy(t, addr)
	transport, err := newRueidis(t, p.addr(), 0)
	require.NoError(t, err)
	return p, transport
}

// overRueidis is the Env of rueidis.
func overRueidis(t *testing.T, addr string) sockets {
	return sharing(t, func(_ string, db int) (lockclient.Transport, error) { return newRueidis(t, addr, db) })
}

// What a server's error begins with is its code word, also where rueidis leaves that out.
func TestErrorsBeginWithTheirCode(t *testing.T) {
	server := minikvtest.Run(t)
	first, err := goredis.New(t.Context(), redis.NewClient(&redis.Options{Addr: server.Addr()}))
	require.NoError(t, err)
	second, err := newRueidis(t, server.Addr(), 0)
	require.NoError(t, err)
	server.Set("k", "text")
	for _, command := range [][]string{{"HGET", "k"}, {"HGET", "k", "f"}, {"INCR", "k"}, {"MOVE", "k", "99"}} {
		_, want := first.Do(t.Context(), "k", command...)
		_, got := second.Do(t.Context(), "k", command...)
		require.Error(t, want, command)
		require.Equal(t, want, got, command)
	}
}

// rueidis makes a transport of one connection over rueidis, and the client of it.
func (s stage) rueidis() (rueidis.Client, lockclient.Transport) {
	client, err := adapter.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.server.Addr()}, DialCtxFn: s.server.DialRueidis, PipelineMultiplex: -1})
	require.NoError(s, err)
	s.Cleanup(client.Close)
	transport, err := adapter.New(s.Context(), client)
	require.NoError(s, err)
	return client, transport
}

// What a client has sent before it closes a connection may have been executed: so it closes those
// to a master that was replaced, too.
func TestClosedWhileAsked(t *testing.T) {
	staged(t, func(s stage) {
		client, transport := s.rueidis()
		s.server.Inject(minikvtest.On("INCR").DropReply())
		time.AfterFunc(time.Second, client.Close)
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		_, err := transport.Do(ctx, "k", "INCR", "k")
		require.ErrorIs(s, err, rueidis.ErrClosing)
		assert.NotErrorIs(s, err, lockclient.ErrNotSent)
		assert.True(s, s.server.Exists("k"))
	})
}

// So may what is under way when the connection's credentials cannot be renewed, whatever the reason.
func TestCredentialsEndWhileAsked(t *testing.T) {
	staged(t, func(s stage) {
		asked := 0
		client, err := adapter.NewClient(rueidis.ClientOption{
			InitAddress: []string{s.server.Addr()}, DialCtxFn: s.server.DialRueidis, PipelineMultiplex: -1,
			AuthCredentialsFn: func(rueidis.AuthCredentialsContext) (c rueidis.AuthCredentials, err error) {
				if asked++; asked > 1 {
					return c, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return rueidis.AuthCredentials{RefreshAfter: time.Now().Add(time.Second)}, nil
			}})
		require.NoError(s, err)
		s.Cleanup(client.Close)
		transport, err := adapter.New(s.Context(), client)
		require.NoError(s, err)
		s.server.Inject(minikvtest.On("INCR").DropReply())
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		_, err = transport.Do(ctx, "k", "INCR", "k")
		require.ErrorContains(s, err, "connection refused")
		assert.NotErrorIs(s, err, lockclient.ErrNotSent)
		assert.True(s, s.server.Exists("k"))
	})
}

// rueidis would send again what a connection has not answered when its lifetime has passed.
func TestConnLifetimeIsRefused(t *testing.T) {
	_, err := adapter.NewClient(rueidis.ClientOption{
		InitAddress: []string{minikvtest.Run(t).Addr()}, ConnLifetime: time.Minute})
	require.ErrorContains(t, err, "ConnLifetime")
}

// A client that reads from replicas is refused: one that has not heard of a latch would open it.
func TestReplicaOnlyIsRefused(t *testing.T) {
	_, err := adapter.NewClient(rueidis.ClientOption{
		InitAddress: []string{minikvtest.Run(t).Addr()}, ReplicaOnly: true})
	require.ErrorContains(t, err, "replicas")
}
