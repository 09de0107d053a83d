package lockclient

import (
	"strconv"
	"time"

	"minikv/internal/slot"
)

// renewBatch is how many locks one renewal script names at most.
const renewBatch = 100

// watch is the task that serves all holds of a client: it tells of those that
// end, and starts the renewals. It never waits for a request, so that a loss is
// told in time also when Redis is silent. It ends when nothing is held.
func (c *Client) watch() {
	for {
		now, cluster := c.rt.Mono(), c.transport.Topology().Cluster
		c.mu.Lock()
		if len(c.keeper.holds) == 0 {
			c.keeper.running = false
			c.mu.Unlock()
			return
		}
		batches := c.dueRenewals(now, cluster)
		ended := c.keeper.due(now)
		pause := c.keeper.lookAt - now
		c.mu.Unlock()
		for _, h := range ended {
			c.lose(h)
		}
		for _, batch := range batches {
			c.rt.Go(func() { c.renew(batch) })
		}
		if len(ended) > 0 {
			continue
		}
		if _, err := c.wake.Wait(c.base, pause); err != nil {
			c.loseAll("")
		}
	}
}

// dueRenewals returns, if the time has come, the holds to renew: at most 100
// together, and in a cluster only such as share a slot. The mutex is held.
func (c *Client) dueRenewals(now time.Duration, cluster bool) (batches [][]*hold) {
	k := &c.keeper
	if k.renewed == 0 || now < k.renewAt {
		return nil
	}
	k.renewAt = now + c.watchdog/3
	open := map[int]int{} // slot to its batch that has room
	for _, h := range k.holds {
		if h.renewed == 0 {
			continue
		}
		s := 0
		if cluster {
			s = slot.OfString(h.key)
		}
		i, ok := open[s]
		if !ok || len(batches[i]) == renewBatch {
			i = len(batches)
			open[s] = i
			batches = append(batches, nil)
		}
		batches[i] = append(batches[i], h)
	}
	return batches
}

// renew renews one batch. A hold that the server does not know is lost; after
// an error the next period tries again, unless the holds end before.
func (c *Client) renew(batch []*hold) {
	keys := make([]string, len(batch))
	args := make([]string, 1, 1+len(batch))
	args[0] = millis(c.watchdog)
	for i, h := range batch {
		keys[i] = h.key
		args = append(args, h.owner)
	}
	sent := c.rt.Mono()
	reply, err := c.eval(c.base, c.timeout, mutexRenew, keys, args)
	for i, h := range batch {
		switch {
		case err != nil || i >= len(reply.List):
			c.observe(Event{Kind: Unrenewed, Key: h.key, Owner: h.owner, Err: err})
		case reply.List[i].Int == 0:
			c.lose(h)
		case c.prolong(h, sent, c.watchdog):
			c.observe(Event{Kind: Renewed, Key: h.key, Owner: h.owner})
		}
	}
}

// millis is a duration as the wire has it.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
