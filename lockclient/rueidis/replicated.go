package rueidis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"minikv/lockclient"
	"minikv/lockclient/internal/adapter"
)

// EvalReplicated implements lockclient.Replicated: INFO replication, the script
// and WAIT on one connection to the master of the script's first key. It follows
// one redirect.
func (t *Transport) EvalReplicated(
	ctx context.Context, script *lockclient.Script, keys, args []string, limit time.Duration,
) (reply lockclient.Reply, known, confirmed int64, err error) {
	s, err := adapter.Aside(ctx, func() (synced, error) {
		s, err := t.evalReplicated(ctx, t.client, false, script, keys, args, limit)
		err = t.notice(ctx, keys[0], err)
		var refused *lockclient.ServerError
		if !errors.As(err, &refused) {
			return s, err
		}
		addr, asking, _ := refused.Redirect()
		for range attempts { // what is read anew just then has no master without a slot
			if other := t.client.Nodes()[addr]; other != nil {
				s, err = t.evalReplicated(ctx, other, asking, script, keys, args, limit)
				return s, t.notice(ctx, keys[0], err)
			}
			err = t.notice(ctx, keys[0], err)
		}
		return s, err
	})
	return s.reply, s.known, s.confirmed, err
}

// synced is what EvalReplicated returns.
type synced struct {
	reply            lockclient.Reply
	known, confirmed int64
}

// evalReplicated is EvalReplicated at one client.
func (t *Transport) evalReplicated(
	ctx context.Context, client rueidis.Client, asking bool,
	script *lockclient.Script, keys, args []string, limit time.Duration,
) (s synced, err error) {
	err = client.Dedicated(func(conn rueidis.DedicatedClient) (err error) {
		if t.topology.Cluster && client == t.client { // the first key says which node a connection is to
			if _, err := send(ctx, conn, []string{"EXISTS"}, keys[:1], nil); err != nil {
				return adapter.Before(err)
			}
		}
		info, err := send(ctx, conn, []string{"INFO", "replication"}, nil, nil)
		if err != nil {
			return adapter.Before(err)
		}
		s.known = adapter.Replicas(info.Text)
		if s.reply, err = t.eval(ctx, conn, asking, script, keys, args); err != nil || s.known == 0 {
			return err
		}
		acked, err := send(ctx, conn, []string{"WAIT",
			strconv.FormatInt(s.known, 10), strconv.FormatInt(limit.Milliseconds(), 10)}, nil, nil)
		s.confirmed = acked.Int
		return adapter.Afterwards(err)
	})
	return s, err
}

// notice has the slots read anew after a redirect, and a master be known that has no slot
// yet. A connection of one's own neither follows nor heeds a redirect; a request without
// one does.
func (t *Transport) notice(ctx context.Context, key string, err error) error {
	var refused *lockclient.ServerError
	if !errors.As(err, &refused) {
		return err
	}
	if _, _, ok := refused.Redirect(); ok {
		t.client.Do(ctx, t.client.B().Exists().Key(key).Build())
	}
	return err
}
