package lockclient

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"minikv/internal/slot"
)

// renewBatch is how many locks one renewal script names at most.
const renewBatch = 100

// look serves the holds of a client when their timer is due: it has those lost
// that end, and starts the renewals. It never waits for a request, so that a loss
// is told in time also when Redis is silent.
func (c *Client) look() {
	now, cluster := c.rt.Mono(), c.transport.Topology().Cluster
	c.mu.Lock()
	batches := c.dueRenewals(now, cluster)
	ended := c.keeper.due(now)
	c.mu.Unlock()
	if len(ended) > 0 {
		c.rt.Go(func() {
			for _, h := range ended {
				c.lose(h)
			}
		})
	}
	for _, batch := range batches {
		c.rt.Go(func() { c.renew(batch) })
	}
}

// renewal is how the watchdog renews holds of one sort: with a script that
// replies for each hold whether its owner has it (1 or 0), as a list or, for one
// hold, as a number.
type renewal struct {
	batch int // how many holds one script may name
	call  func(batch []*hold, lease time.Duration) call
}

// Constant after initialisation.
var (
	hashRenewal    = renewal{renewBatch, leased(embedded("mutex_renew"), hashName)}
	hashRenewal316 = renewal{1, hashRenewal.call}
)

// leased calls a script whose first argument is the lease; name returns the keys
// and the other arguments, which name a hold.
func leased(
	script *Script, name func(h *hold) (keys, args []string),
) func(batch []*hold, lease time.Duration) call {
	return func(batch []*hold, lease time.Duration) call {
		q := call{script: script, args: []string{millis(lease)}}
		for _, h := range batch {
			keys, args := name(h)
			q.keys, q.args = append(q.keys, keys...), append(q.args, args...)
		}
		return q
	}
}

// hashName names a hold that is a field of the hash at its key.
func hashName(h *hold) (keys, args []string) { return []string{h.key}, []string{h.owner} }

// dueRenewals returns, if the time has come, the holds to renew, in batches
// that one script may name: in a cluster only such as share a slot. The mutex
// is held.
func (c *Client) dueRenewals(now time.Duration, cluster bool) (batches [][]*hold) {
	k := &c.keeper
	if k.renewed == 0 || now < k.renewAt {
		return nil
	}
	k.renewAt = now + c.watchdog/3
	type sort struct {
		renewal *renewal
		slot    int
	}
	open := map[sort]int{} // to the batch that has room
	for _, h := range k.holds {
		if h.renewed == 0 {
			continue
		}
		s := sort{renewal: h.renewal}
		if cluster {
			s.slot = slot.OfString(h.key)
		}
		i, ok := open[s]
		if !ok || len(batches[i]) == h.renewal.batch {
			i = len(batches)
			open[s] = i
			batches = append(batches, nil)
		}
		batches[i] = append(batches[i], h)
	}
	return batches
}

// renew renews one batch. A hold that the server does not know is lost; after
// an error, or when no replica has the new leases, the next period tries again,
// unless the holds end before. Where the server refuses a batch each is asked for
// by itself, as one key of another type, or a slot on its way, spoils it for all.
func (c *Client) renew(batch []*hold) {
	sent := c.rt.Mono()
	known, err := c.prolongAll(c.base, batch, c.watchdog)
	if serverError(err) != nil && len(batch) > 1 {
		for i := range batch {
			c.renew(batch[i : i+1])
		}
		return
	}
	for i, h := range batch {
		switch {
		case known != nil && !known[i]:
			c.lose(h)
		case err != nil:
			c.doubtRenewal(h)
			c.observe(Event{Kind: Unrenewed, Key: h.key, Owner: h.owner, Err: err})
		case c.prolong(h, sent, c.watchdog, true):
			c.observe(Event{Kind: Renewed, Key: h.key, Owner: h.owner})
		default:
			c.lose(h)
		}
	}
}

// prolongAll gives holds of one sort a new lease on the server, and returns for
// each whether the server knew it. With ErrReplication it returns them as well:
// the master has the new leases, but no replica of it, so a failover may end
// them early.
func (c *Client) prolongAll(ctx context.Context, batch []*hold, lease time.Duration) (known []bool, err error) {
	reply, err := c.evalSyncedOnce(ctx, batch[0].renewal.call(batch, lease))
	if len(batch) == 1 && refusal(err) == "WRONGTYPE" {
		return []bool{false}, nil // see ofOwner
	}
	if err != nil && err != ErrReplication {
		return nil, err
	}
	known, unexpected := knownHolds(reply, len(batch))
	if unexpected != nil {
		return nil, unexpected
	}
	return known, err
}

// knownHolds reads the reply to the script of a renewal of n holds.
func knownHolds(reply Reply, n int) (known []bool, err error) {
	results := reply.List
	if reply.Kind == IntReply {
		results = []Reply{reply}
	}
	if len(results) != n {
		return nil, fmt.Errorf("unexpected reply: %+v", reply)
	}
	known = make([]bool, n)
	for i, result := range results {
		known[i] = result.Int == 1
	}
	return known, nil
}

// millis is a duration as the wire has it.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// fromMillis is a TTL as the wire has it, noEnd if it is longer.
func fromMillis(n int64) time.Duration {
	return time.Duration(min(n, noEnd.Milliseconds())) * time.Millisecond
}
