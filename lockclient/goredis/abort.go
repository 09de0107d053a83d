package goredis

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"

	"minikv/lockclient/internal/adapter"
)

// aborting is a hook by which new connections drop, when they are closed, what has not arrived.
type aborting struct{}

// DialHook implements redis.Hook.
func (aborting) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			adapter.AbortOnClose(conn)
		}
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (aborting) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (aborting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
