package minikvtest_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim"
	"minikv/sim/simtest"
)

// lease is a lock with one mistake, or "" for none, for the table in docs/testing.md.
type lease struct {
	c       *sim.Client
	mistake string
	taken   int
}

var (
	takeLease = lockclient.NewScript("take", "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then "+
		"return redis.call('INCR', KEYS[2]) end return 0")
	giveLease = lockclient.NewScript("give", "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "+
		"redis.call('PUBLISH', KEYS[1], 'free') return redis.call('DEL', KEYS[1])")
)

// request sends a command or a script, and waits for a second.
func (l *lease) request(ctx context.Context, s *lockclient.Script, args ...string) (lockclient.Reply, error) {
	ctx, cancel := l.c.Runtime().WithDeadline(ctx, l.c.Runtime().Mono()+time.Second)
	defer cancel()
	if s == nil {
		return l.c.Transports()[0].Do(ctx, l.c.Key(), args...)
	}
	return l.c.Transports()[0].Eval(ctx, s, []string{l.c.Key(), "{" + l.c.Key() + "}:token"}, args)
}

// Lock implements sim.Lock.
func (l *lease) Lock(ctx context.Context) (sim.Held, error) {
	rt, wake := l.c.Runtime(), l.c.Runtime().NewGate()
	soon, cancel := rt.WithDeadline(ctx, rt.Mono()+time.Second)
	defer cancel()
	told := func(string) { wake.Open() }
	if news, err := l.c.Transports()[0].Subscribe(soon, l.c.Key(), false, told, wake.Open); err == nil {
		defer news.Close()
	}
	limit := l.c.Lease() / 4 // of a wait for a message that may get lost
	if l.mistake == "waits for a message alone" {
		limit = -1
	}
	for {
		l.taken++
		h := &leased{lease: l, owner: l.c.ID() + "/" + strconv.Itoa(l.taken)}
		began := rt.Mono()
		r, err := l.request(ctx, takeLease, h.owner, strconv.FormatInt(l.c.Lease().Milliseconds(), 10))
		if l.mistake == "counts from the reply" {
			began = rt.Mono()
		}
		switch h.token = uint64(r.Int); l.mistake {
		case "one token":
			h.token = min(h.token, 1)
		case "a date":
			h.token = uint64(rt.WallMillis())
		}
		if until := began + l.c.Lease(); err == nil && r.Int > 0 && rt.Mono() < until {
			h.lost, h.end = rt.WithCancelCause(ctx)
			rt.NewTimer(func() { h.end(lockclient.ErrLost) }).Set(until)
			return h, nil
		}
		if err != nil || r.Int > 0 {
			_, _ = l.request(ctx, giveLease, h.owner)
		}
		if _, err := wake.Wait(ctx, limit); err != nil {
			return nil, err
		}
	}
}

// leased is a lease that somebody has.
type leased struct {
	*lease
	owner string
	token uint64
	lost  context.Context
	end   context.CancelCauseFunc
}

func (h *leased) Token() (uint64, bool) { return h.token, true }

func (h *leased) Lost() context.Context { return h.lost }

// Unlock implements sim.Held.
func (h *leased) Unlock(ctx context.Context) (err error) {
	h.end(nil)
	if h.mistake != "asks first" {
		_, err = h.request(ctx, giveLease, h.owner)
		return err
	}
	r, err := h.request(ctx, nil, "GET", h.c.Key())
	if err == nil && r.Text == h.owner {
		_, err = h.request(ctx, nil, "DEL", h.c.Key())
	}
	return err
}

// What docs/testing.md says that a search finds, it finds, and in a right lock it finds nothing.
func TestWhatASearchFinds(t *testing.T) {
	doc, err := os.ReadFile(testingDoc)
	require.NoError(t, err)
	for _, c := range []struct{ check, world, faults, mistake string }{
		{"exclusion", "", "delay lost-reply drop", "counts from the reply"},
		{"theft", "", "delay pause", "asks first"},
		{"fencing", "fence=on", "delay pause", "one token"},
		{"fencing", "fence=on", "delay pause client-offset", "a date"},
		{"progress", "bound=30s", "drop lost-reply lost-message", "waits for a message alone"},
	} {
		row := "| " + strings.TrimSpace("`expect "+c.check+"=holds`, `faults "+c.faults+"`") + " |"
		if c.world != "" {
			row = strings.TrimSuffix(row, " |") + ", `world … " + c.world + "` |"
		}
		require.Contains(t, string(doc), row)
		for mistake, verdict := range map[string]string{"": "holds", c.mistake: "violated"} {
			t.Run(c.check+" "+mistake, func(t *testing.T) {
				simtest.Run(t, simtest.Test{
					Scenario: "world lock=own clients=2 ttl=2s hold=1500ms think=0s..1s " + c.world + "\nexpect " + c.check + "=" +
						verdict + "\nfaults " + c.faults + "\nrun for=60s\n",
					Seeds: 200,
					Own:   sim.Own{Lock: func(client *sim.Client) sim.Lock { return &lease{c: client, mistake: mistake} }},
				})
			})
		}
	}
}
