package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
)

// Transport is a lockclient.Transport over a go-redis client.
type Transport struct {
	client   redis.UniversalClient
	topology lockclient.Topology
}

// Option configures a Transport.
type Option func(*Transport)

// WithReplicas says that the masters have replicas, which go-redis does not
// know of a sentinel set. It is assumed of a cluster.
func WithReplicas() Option {
	return func(t *Transport) { t.topology.Replicas = true }
}

// New makes a Transport over a *redis.Client or a *redis.ClusterClient; it
// refuses a *redis.Ring, whose servers share one keyspace without knowing of
// each other, so that a lock moves to another server when one is down. It asks
// a cluster whether it has sharded pub/sub (PUBSUB SHARDNUMSUB, Redisson's
// probe), and a single server nothing. The client stays the caller's to close.
func New(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Transport, error) {
	t := &Transport{client: client}
	switch client.(type) {
	case *redis.Client:
	case *redis.ClusterClient:
		t.topology.Cluster, t.topology.Replicas = true, true
		var refused redis.Error
		err := client.Do(ctx, "PUBSUB", "SHARDNUMSUB").Err()
		if err != nil && !errors.As(err, &refused) {
			return nil, fmt.Errorf("goredis: probe for sharded pub/sub: %w", err)
		}
		t.topology.Sharded = err == nil
	case *redis.Ring:
		return nil, errors.New("goredis: a ring cannot keep locks: a key moves to another server when its own is down")
	default:
		return nil, fmt.Errorf("goredis: unsupported client %T", client)
	}
	for _, opt := range opts {
		opt(t)
	}
	return t, nil
}

// Topology implements lockclient.Transport.
func (t *Transport) Topology() lockclient.Topology { return t.topology }

// Eval implements lockclient.Transport. After NOSCRIPT it sends EVAL, which
// runs the text on the node that has the key and leaves it in its cache.
func (t *Transport) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	tail := make([]any, 0, 1+len(keys)+len(args))
	tail = append(tail, len(keys))
	for _, s := range keys {
		tail = append(tail, s)
	}
	for _, s := range args {
		tail = append(tail, s)
	}
	reply, err := t.process(ctx, redis.NewCmd(ctx, append([]any{"EVALSHA", script.SHA}, tail...)...))
	var refused *lockclient.ServerError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Text, "NOSCRIPT") {
		return t.process(ctx, redis.NewCmd(ctx, append([]any{"EVAL", script.Text}, tail...)...))
	}
	return reply, err
}

// Do implements lockclient.Transport. A key must be the command's first argument.
func (t *Transport) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	all := make([]any, len(args))
	for i, s := range args {
		all[i] = s
	}
	cmd := redis.NewCmd(ctx, all...)
	if key != "" {
		cmd.SetFirstKeyPos(1)
	}
	return t.process(ctx, cmd)
}

// once is a command that go-redis must not send again by itself.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// Clone implements redis.Cmder.
func (c once) Clone() redis.Cmder { return once{c.Cmd.Clone().(*redis.Cmd)} }

// process sends one command. go-redis may go on waiting for its reply when ctx
// has ended: the connection then stays in step for its next user.
func (t *Transport) process(ctx context.Context, cmd *redis.Cmd) (lockclient.Reply, error) {
	if err := ctx.Err(); err != nil {
		return lockclient.Reply{}, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	done := make(chan error, 1)
	go func() { done <- t.client.Process(ctx, once{cmd}) }()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, redis.Nil) {
			return lockclient.Reply{}, outcome(err)
		}
		return convert(cmd.Val())
	case <-ctx.Done():
		return lockclient.Reply{}, ctx.Err()
	}
}

// outcome maps an error of go-redis to the contract of lockclient.Transport.
func outcome(err error) error {
	var refused redis.Error
	if errors.As(err, &refused) {
		return &lockclient.ServerError{Text: refused.Error()}
	}
	var op *net.OpError
	dialing := errors.As(err, &op) && op.Op == "dial"
	if dialing || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
		errors.Is(err, redis.ErrPoolExhausted) {
		return fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	return err
}

// convert makes a Reply of what go-redis parsed.
func convert(value any) (lockclient.Reply, error) {
	switch v := value.(type) {
	case nil:
		return lockclient.Reply{}, nil
	case int64:
		return lockclient.Reply{Kind: lockclient.IntReply, Int: v}, nil
	case string:
		return lockclient.Reply{Kind: lockclient.TextReply, Text: v}, nil
	case []any:
		list := make([]lockclient.Reply, len(v))
		for i, element := range v {
			reply, err := convert(element)
			if err != nil {
				return lockclient.Reply{}, err
			}
			list[i] = reply
		}
		return lockclient.Reply{Kind: lockclient.ListReply, List: list}, nil
	}
	return lockclient.Reply{}, fmt.Errorf("goredis: reply of type %T", value)
}
