package goredis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
	"minikv/lockclient/internal/adapter"
)

// Transport is a lockclient.Transport over a go-redis client. It is safe for concurrent
// use.
type Transport struct {
	client   redis.UniversalClient
	topology lockclient.Topology
	scripts  adapter.Scripts
	spares   *adapter.Spares[*redis.PubSub]
	looking  atomic.Bool // for a master, see lookUp
}

// Option configures a Transport. Of options that contradict each other the last one
// counts.
type Option func(*Transport)

// WithReplicas says that the masters have replicas, which go-redis does not know of a
// single server. It is the default for sentinel sets and clusters.
func WithReplicas() Option {
	return func(t *Transport) { t.topology.Replicas = true }
}

// WithoutReplicas turns off the check of acquisitions with WAIT. It is for services that
// refuse that command, where no lock is granted otherwise. A failover may then lose
// locks.
func WithoutReplicas() Option {
	return func(t *Transport) { t.topology.Replicas = false }
}

// ofSentinels is what go-redis has for the address of a NewFailoverClient.
const ofSentinels = "FailoverClient"

// New makes a Transport over a *redis.Client or a *redis.ClusterClient. The client
// remains the caller's to close. New adds a hook to it; the client should not have any
// connections yet (see the package comment).
//
// It refuses a *redis.Ring: its servers share one keyspace without knowing of each other,
// so a lock moves to another server when one is down. It also refuses a cluster's client
// with ReadOnly, RouteByLatency or RouteRandomly. The ReplicaOnly of a NewFailoverClient,
// which is no better, cannot be seen.
//
// It asks a cluster whether it has sharded pub/sub (PUBSUB SHARDNUMSUB, Redisson's
// probe). If the client was given the slots (ClusterSlots), it also asks whether the
// servers are a cluster at all (CLUSTER MYID). It asks a single server nothing.
func New(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Transport, error) {
	t := &Transport{client: client, spares: adapter.NewSpares(drop)}
	switch c := client.(type) {
	case *redis.Client:
		c.AddHook(aborting{})
		t.topology.Replicas = c.Options().Addr == ofSentinels
	case *redis.ClusterClient:
		if c.Options().ReadOnly {
			return nil, errors.New("goredis: a cluster client that reads from replicas cannot keep locks: " +
				"they may not have heard of a lock, or of a latch, which counts as open then")
		}
		c.OnNewNode(func(node *redis.Client) { node.AddHook(aborting{}) })
		t.topology.Cluster, t.topology.Replicas = true, true
		var err error
		if t.topology.Sharded, err = sharded(ctx, c); err != nil {
			return nil, fmt.Errorf("goredis: probe for sharded pub/sub: %w", err)
		}
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

// sharded tells whether a cluster has sharded pub/sub. Servers whose slots the client was
// given, as redis.NewFailoverClusterClient does with a sentinel set, need not be one: then
// all others use plain pub/sub there.
func sharded(ctx context.Context, client *redis.ClusterClient) (bool, error) {
	probes := [][]any{{"PUBSUB", "SHARDNUMSUB"}}
	if client.Options().ClusterSlots != nil {
		probes = append(probes, []any{"CLUSTER", "MYID"})
	}
	for _, probe := range probes {
		var refused redis.Error
		err := client.Do(ctx, probe...).Err()
		switch {
		case errors.As(err, &refused):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// Topology implements lockclient.Transport.
func (t *Transport) Topology() lockclient.Topology { return t.topology }

// Eval implements lockclient.Transport. After NOSCRIPT it sends EVAL, which
// runs the text on the node that has the key and leaves it in its cache.
func (t *Transport) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	c := &call{ctx: ctx}
	reply, err := adapter.Aside(ctx, func() (lockclient.Reply, error) {
		return t.eval(c, t.client, false, script, keys, args)
	})
	return reply, t.notice(ctx, c.outcome(err))
}

// Do implements lockclient.Transport. A key must be the first argument after the
// command's name.
func (t *Transport) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	c := &call{ctx: ctx}
	reply, err := adapter.Aside(ctx, func() (lockclient.Reply, error) { return c.send(t.client, key != "", args...) })
	return reply, t.notice(ctx, c.outcome(err))
}

// processor is a client, or one connection of it.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// eval runs a script by its SHA1, or by its text if the server does not know it;
// with asking on one connection to a node that is about to get the slot.
func (t *Transport) eval(
	c *call, p processor, asking bool, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	tail := append(append([]string{strconv.Itoa(len(keys))}, keys...), args...)
	return t.scripts.Run(script, func(how, what string) (lockclient.Reply, error) {
		if asking {
			if _, err := c.sendBeside(p, "ASKING"); err != nil {
				return lockclient.Reply{}, err
			}
		}
		return c.send(p, false, append([]string{how, what}, tail...)...)
	})
}

// call is a call of one of the Transport's methods, for which several commands may be sent.
type call struct {
	ctx     context.Context
	written atomic.Bool // what the call is for, or a part of it
}

// outcome is the error of a call. Where many share few connections most of the time goes by
// before anything is written, and a Limiter refuses before that: to count that as an unknown outcome
// would have each give back what it never asked for, over the same connections. What is not written
// when the call has ended is never written, see once.Args.
func (c *call) outcome(err error) error {
	var refused *lockclient.ServerError
	if err == nil || c.written.Load() || errors.Is(err, lockclient.ErrNotSent) || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
}

// send sends what the call is for. keyed says that its first argument is a key; go-redis
// finds the keys of scripts by itself.
func (c *call) send(p processor, keyed bool, args ...string) (lockclient.Reply, error) {
	cmd := once{redis.NewCmd(c.ctx, anys(args)...), c.ctx, &c.written}
	if keyed {
		cmd.SetFirstKeyPos(1)
	}
	return cmd.send(p)
}

// sendBeside sends what goes before that, or after it.
func (c *call) sendBeside(p processor, args ...string) (lockclient.Reply, error) {
	return once{redis.NewCmd(c.ctx, anys(args)...), c.ctx, new(atomic.Bool)}.send(p)
}

func anys(args []string) []any {
	all := make([]any, len(args))
	for i, s := range args {
		all[i] = s
	}
	return all
}

// once is a command that go-redis must not send again by itself, nor at all when ctx has ended.
type once struct {
	*redis.Cmd
	ctx     context.Context
	written *atomic.Bool
}

// send sends the command, once, unless ctx has ended: on a connection of one's own go-redis
// would send it all the same.
func (c once) send(p processor) (lockclient.Reply, error) {
	if err := c.ctx.Err(); err != nil {
		return lockclient.Reply{}, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	if err := p.Process(c.ctx, c); err != nil && !errors.Is(err, redis.Nil) {
		return lockclient.Reply{}, outcome(err)
	}
	if err := c.ctx.Err(); err != nil {
		return lockclient.Reply{}, err // the reply may be to the HELLO in its place
	}
	return convert(c.Val())
}

// Args implements redis.Cmder. go-redis asks for them when it writes, and looks at no context then, though it may
// have connected first, for long. The connection is still of use, so what needs no rights goes in place. Who finds
// after the end of ctx that nothing is written can rely on that: it is noted before ctx is looked at.
func (c once) Args() []any {
	c.written.Store(true)
	if c.ctx.Err() != nil {
		return []any{"HELLO"}
	}
	return c.Cmd.Args()
}

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// Clone implements redis.Cmder.
func (c once) Clone() redis.Cmder { return once{c.Cmd.Clone().(*redis.Cmd), c.ctx, c.written} }

// outcome maps an error of go-redis to the contract of lockclient.Transport.
func outcome(err error) error {
	var refused redis.Error
	if errors.As(err, &refused) {
		return &lockclient.ServerError{Text: refused.Error()}
	}
	if adapter.Connecting(err) || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
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
