package rueidis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"minikv/lockclient"
)

// EvalReplicated implements lockclient.Replicated: the script, INFO replication
// and WAIT on one connection to the master of the script's first key. It does
// not follow redirects: after MOVED the slots are read anew for the next call.
func (t *Transport) EvalReplicated(
	ctx context.Context, script *lockclient.Script, keys, args []string, limit time.Duration,
) (reply lockclient.Reply, known, confirmed int64, err error) {
	err = t.client.Dedicated(func(conn rueidis.DedicatedClient) (err error) {
		if reply, err = eval(ctx, conn, script, keys, args); err != nil {
			return err
		}
		info, err := send(ctx, conn, []string{"INFO", "replication"}, nil, nil)
		if err != nil {
			return afterwards(err)
		}
		if known = replicas(info.Text); known == 0 {
			return nil
		}
		acked, err := send(ctx, conn, []string{"WAIT",
			strconv.FormatInt(known, 10), strconv.FormatInt(limit.Milliseconds(), 10)}, nil, nil)
		confirmed = acked.Int
		return afterwards(err)
	})
	return reply, known, confirmed, t.notice(ctx, keys[0], err)
}

// notice has the slots read anew after a redirect. A connection of one's own
// neither follows nor heeds it; a request without one does.
func (t *Transport) notice(ctx context.Context, key string, err error) error {
	var refused *lockclient.ServerError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Text, "MOVED ") {
		t.client.Do(ctx, t.client.B().Exists().Key(key).Build())
	}
	return err
}

// afterwards hides what an error says about its own command: the script that
// came before has been executed.
func afterwards(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("after the script: %v", err)
}

// replicas reads connected_slaves from INFO replication.
func replicas(info string) int64 {
	for _, line := range strings.Split(info, "\r\n") {
		if count, ok := strings.CutPrefix(line, "connected_slaves:"); ok {
			n, _ := strconv.ParseInt(count, 10, 64)
			return n
		}
	}
	return 0
}
