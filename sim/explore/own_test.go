package explore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// asks has a client of a test ask the server something. It believes to hold the lock if
// the answer is the one that lets it.
func asks(lets func(lockclient.Reply, error) bool, command ...string) func(context.Context, *sim.Client) {
	return func(ctx context.Context, c *sim.Client) {
		if r, err := c.Transports()[0].Do(ctx, c.Key(), command...); lets(r, err) {
			b := c.Believes(0)
			_, _ = c.Write(ctx, b)
			c.Ends(b, false)
		}
	}
}

// then has it do one after the other.
func then(list ...func(context.Context, *sim.Client)) func(context.Context, *sim.Client) {
	return func(ctx context.Context, c *sim.Client) {
		for _, do := range list {
			do(ctx, c)
		}
	}
}

// Clients of a test may ask for anything, and a server has more than its keys: the
// scripts that it knows, its next random number, its parameters.
func TestReducedSearchOfATestsClients(t *testing.T) {
	never := func(lockclient.Reply, error) bool { return false }
	failed := func(_ lockclient.Reply, err error) bool { return err != nil }
	some := func(r lockclient.Reply, err error) bool { return err == nil && r.Kind != lockclient.NilReply }
	is := func(text string) func(lockclient.Reply, error) bool {
		return func(r lockclient.Reply, _ error) bool {
			return r.Text == text || len(r.List) == 2 && r.List[1].Text == text
		}
	}
	const script, sha = "return redis.call('get', KEYS[1])", "4e6d8fc8bb01276962cce5371fa795a7763657ae"
	const latch = "redisson_unlock_latch:{lock}:request" // what lockclient leaves for the repetitions of a request
	for name, run := range map[string]func(context.Context, *sim.Client){
		"a script that is known": then(asks(failed, "EVALSHA", sha, "1", "key"), asks(never, "EVAL", script, "1", "key")),
		"a member at random": func(ctx context.Context, c *sim.Client) {
			asks(never, "SADD", "set", "a", "b", "c", "d", "e", "f", "g")(ctx, c)
			r, _ := c.Transports()[0].Do(ctx, c.Key(), "SRANDMEMBER", "set")
			c.Ends(c.Believes(uint64(r.Text[0])), false)
		},
		"a parameter":         then(asks(is("10"), "CONFIG", "GET", "hz"), asks(never, "CONFIG", "SET", "hz", "20")),
		"the answer to a DEL": then(asks(never, "SET", latch, "1"), asks(some, "DEL", latch)),
	} {
		t.Run(name, func(t *testing.T) {
			p := problem(t, "world clients=2 lock=own rounds=1 hold=0s think=0s ttl=1s\n"+
				"expect exclusion=holds fencing=holds\nrun for=2s\n")
			p.Own = &sim.Own{Run: run}
			seen, err := endsOf(t, p, Bound{Schedules: 100_000}, reduced)
			require.NoError(t, err)
			all, err := endsOf(t, p, Bound{Schedules: 100_000}, func(e *exhaustive) { e.naive, e.plain = true, true })
			require.NoError(t, err)
			require.Greater(t, len(all), 1)
			drawnWorld{tinyWorld: tinyWorld{name: name}}.compare(t, seen, all)
		})
	}
}

// A request that comes a second time answers a question that is asked still, or one that
// was answered; and one of a connection that has broken asks nothing.
func TestReducedSearchOfRequestsThatAskNothing(t *testing.T) {
	again := func(ctx context.Context, c *sim.Client) {
		m := c.Transports()[0]
		for range 5 {
			r, err := m.Do(ctx, c.Key(), "SET", c.Key(), c.ID(), "NX", "PX", "1000")
			if err == nil && r.Kind != lockclient.NilReply {
				c.Ends(c.Believes(0), false)
				_, _ = m.Do(ctx, c.Key(), "DEL", c.Key())
				return
			}
			_ = c.Sleep(ctx, 300*time.Millisecond)
		}
	}
	random := func(ctx context.Context, c *sim.Client) {
		m := c.Transports()[0]
		if c.Name() == "c1" {
			if _, err := m.Do(ctx, c.Key(), "SADD", "set", "a", "b", "c"); err != nil {
				return
			}
		}
		if r, err := m.Do(ctx, c.Key(), "SRANDMEMBER", "set"); err == nil && r.Text == "b" {
			c.Ends(c.Believes(0), false)
		}
	}
	for _, w := range []struct {
		tinyWorld
		run func(context.Context, *sim.Client)
	}{
		{tinyWorld{"of a question", "clients=1 rounds=2", "duplicate", 1}, again},
		{tinyWorld{"of a connection", "clients=2 rounds=1", "amnesia", 1}, random},
	} {
		t.Run(w.name, func(t *testing.T) {
			p := problem(t, "world lock=own hold=0s think=0s ttl=1s "+w.world+"\n"+
				"expect exclusion=holds fencing=holds\nfaults "+w.kinds+"\nrun for=4s\n")
			p.Own = &sim.Own{Run: w.run}
			seen, err := endsOf(t, p, Bound{Faults: 1, Schedules: 100_000}, reduced)
			require.NoError(t, err)
			all, err := endsOf(t, p, Bound{Faults: 1, Schedules: 100_000}, func(e *exhaustive) { e.plain = true })
			require.NoError(t, err)
			require.Greater(t, len(all), 1)
			drawnWorld{tinyWorld: w.tinyWorld}.compare(t, seen, all)
		})
	}
}

// A search without schedules at random says as well which checks none has judged.
func TestExhaustSaysWhatWasNeverJudged(t *testing.T) {
	p := problem(t, "world clients=2 lock=mutex rounds=1 hold=0s think=0s ttl=1s\n"+
		"expect exclusion=holds leak=holds\nrun for=2s\n")
	done, err := Exhaust(t.Context(), p, Bound{Schedules: 100_000})
	require.NoError(t, err)
	require.Zero(t, done.Walks)
	require.Len(t, done.Unjudged, 1)
	require.Equal(t, "leak", done.Unjudged[0].Check)
}

// What an option has lockclient do saves nobody whose lock does not look at it: that says
// nothing of WAIT, so it is not told.
func TestRemedyThatATestsLockDoesNotHeed(t *testing.T) {
	const wait = "acquisitions checked with WAIT (sync=on)"
	work := func(ctx context.Context, c *sim.Client) {
		b := c.Believes(0)
		_ = c.Sleep(ctx, time.Minute)
		c.Ends(b, false)
	}
	p := problem(t, "world lock=own replicas=1 lag=2s delay=1ms ttl=30s rounds=1\nexpect exclusion=violated\n"+
		"at 0s start c1\nat 0s start c2\nat 1s failover r1 outage=0s\nrun for=5s seed=1\n")
	for name, run := range map[string]func(context.Context, *sim.Client){
		"of its own": func(ctx context.Context, c *sim.Client) {
			for c.Sleep(ctx, 100*time.Millisecond) == nil {
				r, err := c.Transports()[0].Do(ctx, c.Key(), "SET", c.Key(), c.ID(), "NX", "PX", "30000")
				if err == nil && r.Kind != lockclient.NilReply {
					work(ctx, c)
				}
			}
		},
		"lockclient's": func(ctx context.Context, c *sim.Client) {
			client := lockclient.New(c.Transports()[0], c.Runtime())
			defer client.Close()
			if _, err := client.Mutex(c.Key()).Lock(ctx); err == nil {
				work(ctx, c)
			}
		},
	} {
		p.Own = &sim.Own{Run: run}
		e, err := Explain(t.Context(), p)
		require.NoError(t, err)
		require.NotNil(t, e, name)
		told := slices.ContainsFunc(e.Remedies, func(r Remedy) bool { return r.Name == wait })
		require.Equal(t, name == "lockclient's", told, name)
	}
}

// faulty is a check of a test that panics.
type faulty struct{ inResult bool }

func (f faulty) Observe(*trace.Event) {
	if !f.inResult {
		panic("mine")
	}
}

func (f faulty) Result(time.Duration) check.Result {
	if f.inResult {
		panic("mine")
	}
	return check.Result{}
}

// A search of orders ends with the panic of a test's own check.
func TestOwnCheckThatPanics(t *testing.T) {
	for where, f := range map[string]faulty{"in Observe": {}, "in Result": {true}} {
		p := problem(t, "world clients=2 lock=own rounds=1 hold=0s think=0s\nexpect own=holds\nrun for=5s\n")
		p.Own = &sim.Own{
			Run:   asks(func(lockclient.Reply, error) bool { return true }, "PING"),
			Check: func(check.Names) check.Checker { return f },
		}
		for name, search := range map[string]func() error{
			"exhaust": func() error { _, err := Exhaust(t.Context(), p, Bound{Schedules: 1000}); return err },
			"sample":  func() error { _, err := Sample(t.Context(), p, Sampling{Schedules: 10}); return err },
			"search":  func() error { _, err := Search(t.Context(), p, Options{Seeds: 10}); return err },
		} {
			require.ErrorContains(t, search(), "the Checker of Own.Check, "+where+", panicked: mine", name)
		}
	}
}
