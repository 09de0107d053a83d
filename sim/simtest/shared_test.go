package simtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim"
	"minikv/sim/simtest"
)

// shared is a lock that readers have together: a hash of who has it, and how.
type shared struct {
	c     *sim.Client
	takes *lockclient.Script
}

var (
	takeShared = lockclient.NewScript("take-shared", `
for _, mode in ipairs(redis.call('HVALS', KEYS[1])) do
  if mode == 'w' or ARGV[2] == 'w' then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`)
	// takeCareless lets a writer in that finds readers.
	takeCareless = lockclient.NewScript("take-careless", `
for _, mode in ipairs(redis.call('HVALS', KEYS[1])) do
  if mode == 'w' then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`)
)

// Lock implements sim.Lock.
func (l *shared) Lock(ctx context.Context) (sim.Held, error) {
	mode := "w"
	if l.c.Reads() {
		mode = "r"
	}
	for {
		r, err := l.c.Transports()[0].Eval(ctx, l.takes, []string{l.c.Key()}, []string{l.c.ID(), mode, "60000"})
		if err == nil && r.Int == 1 {
			return l, nil
		}
		if err := l.c.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// Unlock implements sim.Held.
func (l *shared) Unlock(ctx context.Context) error {
	_, err := l.c.Transports()[0].Do(ctx, l.c.Key(), "HDEL", l.c.Key(), l.c.ID())
	return err
}

// Readers have a lock together, and writers nobody beside them.
func TestReadersAndWriters(t *testing.T) {
	test := func(takes *lockclient.Script, world string) simtest.Test {
		return simtest.Test{Scenario: "world lock=own clients=4 hold=1s think=0s..1s " + world +
			"\nexpect exclusion=holds\nrun for=20s", Seeds: 20,
			Own: sim.Own{Lock: func(c *sim.Client) sim.Lock { return &shared{c, takes} }}}
	}
	simtest.Run(t, test(takeShared, "readers=3"))
	simtest.Run(t, test(takeShared, "readers=4"))
	said := failing(t, test(takeCareless, "readers=3"))
	require.Contains(t, said, "exclusion is violated with seed")
	require.Regexp(t, `c4 \[.*\] overlaps c|overlaps c4 `, said)
}

// Where several have a lock at a time nobody's write is stale, and who comes next need
// not wait for a crashed holder: that is not judged.
func TestSeveralAtATime(t *testing.T) {
	own := sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		b := c.Believes(0)
		_ = c.Sleep(ctx, time.Second)
		_, _ = c.Write(ctx, b)
		c.Ends(b, false)
	}}
	said := failing(t, simtest.Test{Scenario: "world lock=own clients=3 permits=3\n" +
		"expect capacity=holds fencing=holds\nrun for=20s", Seeds: 20, Own: own})
	require.Equal(t, "simtest: fencing was not put to the test with any of 20 seeds: several write at a time, "+
		"and none of them is stale\n", said)
}
