package goredis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
	"minikv/lockclient/internal/adapter"
)

// lookUpLimit bounds a look-up of the master where go-redis has no time limits.
const lookUpLimit = 5 * time.Minute

// synced is what EvalReplicated returns.
type synced struct {
	reply            lockclient.Reply
	known, confirmed int64
}

// EvalReplicated implements lockclient.Replicated: INFO replication, the script and WAIT,
// on one connection to the master of the script's first key. It follows one redirect. If
// the client's ReadTimeout is shorter than limit, a slow confirmation is an unknown
// outcome.
func (t *Transport) EvalReplicated(
	ctx context.Context, script *lockclient.Script, keys, args []string, limit time.Duration,
) (reply lockclient.Reply, known, confirmed int64, err error) {
	c := &call{ctx: ctx}
	s, err := adapter.Aside(ctx, func() (synced, error) {
		node, err := t.master(ctx, keys[0])
		if err != nil {
			return synced{}, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
		}
		s, err := t.evalReplicated(c, node, false, script, keys, args, limit)
		if other, asking, done := t.redirected(ctx, node, err); other != nil {
			defer done()
			return t.evalReplicated(c, other, asking, script, keys, args, limit)
		}
		return s, err
	})
	return s.reply, s.known, s.confirmed, t.notice(ctx, c.outcome(err))
}

// evalReplicated is EvalReplicated at one node.
func (t *Transport) evalReplicated(
	c *call, node *redis.Client, asking bool,
	script *lockclient.Script, keys, args []string, limit time.Duration,
) (s synced, err error) {
	p := node.Conn()
	defer p.Close()
	info, err := c.sendBeside(p, "INFO", "replication")
	if err != nil {
		return s, adapter.Before(err)
	}
	s.known = adapter.Replicas(info.Text)
	if s.reply, err = t.eval(c, p, asking, script, keys, args); err != nil || s.known == 0 {
		return s, err
	}
	acked, err := c.sendBeside(p, "WAIT", strconv.FormatInt(s.known, 10), strconv.FormatInt(limit.Milliseconds(), 10))
	s.confirmed = acked.Int
	return s, adapter.Afterwards(err)
}

// master returns the client of the master that has key.
func (t *Transport) master(ctx context.Context, key string) (*redis.Client, error) {
	if cluster, ok := t.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return t.client.(*redis.Client), nil
}

// redirected returns the master to which an error of from points, nil if it points to
// none, and whether it must be asked with ASKING. The slots are read anew. To a master that
// has none yet, which go-redis knows nothing of, done ends the connections.
func (t *Transport) redirected(
	ctx context.Context, from *redis.Client, err error,
) (node *redis.Client, asking bool, done func()) {
	var refused *lockclient.ServerError
	cluster, ok := t.client.(*redis.ClusterClient)
	if !ok || !errors.As(err, &refused) {
		return nil, false, nil
	}
	addr, asking, ok := refused.Redirect()
	if !ok {
		return nil, false, nil
	}
	var mu sync.Mutex
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if master.Options().Addr == addr {
			node = master
		}
		return nil
	})
	if node != nil || !asking {
		return node, asking, func() {}
	}
	options := *from.Options()
	options.Addr = addr
	node = cluster.Options().NewClient(&options)
	node.AddHook(aborting{})
	return node, asking, func() { _ = node.Close() }
}

// notice has the slots read anew after a redirect, and when a node is not
// reached or does not answer: another may have its slots by then. go-redis
// itself would ask for them once a minute, as it must not repeat commands. Of
// Sentinels it has another one be asked for the master if time was up before
// anything was sent.
func (t *Transport) notice(ctx context.Context, err error) error {
	var refused *lockclient.ServerError
	answered := err == nil || errors.As(err, &refused)
	switch c := t.client.(type) {
	case *redis.ClusterClient:
		if !answered || refused != nil && strings.HasPrefix(refused.Text, "MOVED ") {
			c.ReloadState(ctx)
		}
	case *redis.Client:
		late := ctx.Err() != nil && errors.Is(err, lockclient.ErrNotSent)
		if late && c.Options().Addr == ofSentinels && t.looking.CompareAndSwap(false, true) {
			go t.lookUp(c)
		}
	}
	return err
}

// lookUp has go-redis ask its Sentinels for the master, and switch to that. go-redis first asks the one
// that it has asked before, twice, for as long as its own limits and retries have it. Only then it asks
// the others; not when the context has ended meanwhile, as those of requests have and those of dials. So
// if the machines of the master and of that Sentinel fell silent together nobody would ever ask another.
// When the client is closed, the look-up ends.
func (t *Transport) lookUp(client *redis.Client) {
	defer t.looking.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
	defer cancel()
	if conn, err := client.Options().Dialer(ctx, "tcp", ofSentinels); err == nil {
		_ = conn.Close()
	}
}
