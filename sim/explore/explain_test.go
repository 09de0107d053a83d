package explore

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// Every embedded scenario that violates something is explained in four to eight
// sentences; one that does not is not.
func TestEveryViolationIsExplained(t *testing.T) {
	ctx := context.Background()
	explained := 0
	for _, s := range sim.Library() {
		if len(s.Expect) == 0 {
			continue
		}
		e, err := Explain(ctx, Problem{Scenario: s})
		require.NoError(t, err, s.Name)
		violated := strings.Contains(s.Text(), "=violated")
		require.Equal(t, violated, e != nil, s.Name)
		if e == nil {
			continue
		}
		explained++
		require.Equal(t, isLeased(s), len(e.Remedies) > 0, s.Name)
		require.GreaterOrEqual(t, len(e.Story), 3, "%s: %q", s.Name, e.Story)
		require.LessOrEqual(t, len(e.Story), 8, "%s: %q", s.Name, e.Story)
		require.LessOrEqual(t, len(e.Broken), 3, "%s: %q", s.Name, e.Broken)
	}
	require.Greater(t, explained, 10)
}

// What broke, and what would have helped, for stories in which that is known.
func TestExplanations(t *testing.T) {
	for name, want := range map[string]struct {
		story, broken string
		saves         string
		helpless      string
	}{
		"pause_outlives_lease": {"c1 is paused for 5.000s", "no client stands still for longer",
			"a lease three times as long", "a lease of a third"},
		"failover_before_replication": {"r1 is promoted to master", "replicas have what was acknowledged",
			"acquisitions checked with WAIT (sync=on)", "fencing tokens (lock=fenced)"},
		"clock_jump_breaks_redlock": {"the clock of m3 jumps forward by 10.000s", "a server's clock measures a lease",
			"a lease three times as long", "a lease of a third"},
	} {
		s, err := sim.Find(name)
		require.NoError(t, err)
		e, err := Explain(context.Background(), Problem{Scenario: s})
		require.NoError(t, err)
		require.Contains(t, strings.Join(e.Story, "\n"), want.story, name)
		require.Contains(t, strings.Join(e.Broken, "\n"), want.broken, name)
		saves := map[string]bool{}
		for _, r := range e.Remedies {
			saves[r.Name] = r.Saves
		}
		require.Contains(t, saves, want.saves)
		require.True(t, saves[want.saves], "%s: %v", name, e.Remedies)
		require.Contains(t, saves, want.helpless)
		require.False(t, saves[want.helpless], "%s: %v", name, e.Remedies)
	}
	p := problem(t, "world masters=3 rounds=1 lock=redlock ttl=5s renew=off hold=3s\nexpect exclusion=violated\n"+
		"at 0s partition c1 m3\nat 0s partition c2 m1\nat 0s start c1\nat 1s crash m2 for=0s data=lose\nat 1s start c2\n"+
		"run for=9s seed=1\n")
	e, err := Explain(context.Background(), p)
	require.NoError(t, err)
	require.Contains(t, e.Broken, "what a server has acknowledged survives its crash")
	delayed := e.Remedies[0]
	require.Equal(t, "restarts delayed by more than a lease", delayed.Name)
	require.True(t, delayed.Saves)
	r, err := delayed.Story.Run(context.Background(), sim.Options{Seed: delayed.Story.Seed})
	require.NoError(t, err)
	require.Equal(t, "holds", r.Results[0].Verdict.String(), delayed.Story.Text())
}
