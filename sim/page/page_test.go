package page

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/trace"
)

// written is a page as a text.
func written(t *testing.T, p *Page) string {
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	return out.String()
}

// TestPageTellsTheRun: claim, verdict and why are in the page, before any script runs.
func TestPageTellsTheRun(t *testing.T) {
	s, err := sim.Find("failover_before_replication")
	require.NoError(t, err)
	var events []trace.Event
	r, err := s.Run(t.Context(), sim.Options{Seed: s.Seed, Details: true, Lines: true,
		Observe: func(e *trace.Event, _ []string) { events = append(events, *e) }})
	require.NoError(t, err)
	text := written(t, FromReport(r, events, "locksim run x"))
	for _, want := range []string{
		s.Claim, "<b>exclusion</b> violated:", "c1 [0.112, 5.121] overlaps c2 [2.512, 7.514]",
		"r1 is promoted to master", `"says":"c2 holds lock:1 valid=29.686s"`, "<code>locksim run x</code>",
		`data-event="34">decided at r1 by line 11: <code>if free or redis.call(&#39;hexists&#39;, KEYS[1]`, `,"decided":11}`,
	} {
		require.Contains(t, text, want)
	}
}

// TestPageNeedsNothingElse: no address of another place is in the page, and its
// policy names its own style and script.
func TestPageNeedsNothingElse(t *testing.T) {
	text := written(t, FromTrace("t", []trace.Event{{N: 1, Actor: 1, Kind: trace.Start}}, []string{"", "c1"}))
	require.NotRegexp(t, regexp.MustCompile(`(?i)(src|href|action)="(https?:)?//`), text)
	addresses := regexp.MustCompile(`https?://[^"' ]+`).FindAllString(text, -1)
	require.Equal(t, []string{"http://www.w3.org/2000/svg"}, addresses, "the name of SVG is no address")
	require.Contains(t, text, "default-src &#39;none&#39;")
	require.NotContains(t, text, "unsafe-inline")
}

// TestHostileText: what a key or a value says stands in the page as data only.
func TestHostileText(t *testing.T) {
	evil := "</script><script>alert(1)</script>\x00\xff\u2028\u202e<!--"
	events := []trace.Event{
		{N: 1, At: time.Second, Actor: 1, Kind: trace.Acquire, Lock: 1, Key: evil},
		{N: 2, At: time.Second, Actor: 2, Kind: trace.Execute, Peer: 1, Cause: 1, Text: evil,
			Details: []trace.Detail{{What: trace.Changed, Key: evil, Text: evil}}},
		{N: 3, At: time.Second, Actor: 1, Kind: trace.Hold, Lock: 1, Key: evil},
	}
	p := FromTrace(evil, events, []string{"", "c1", evil})
	p.Claim, p.Replay = evil, evil
	text := written(t, p)
	require.NotContains(t, text, "alert(1)</script>")
	require.Equal(t, 2, strings.Count(text, "</script>"), "the data and the script")
	require.NotContains(t, text, "\x00<")
	require.Contains(t, text, `\u003c/script\u003e\u003cscript\u003ealert(1)`)
}

// TestWhy: of every violation that the scenarios show, the why has the events that
// the check names, in four to eight sentences.
func TestWhy(t *testing.T) {
	lua, violations := sim.NewLua(), 0
	for _, s := range sim.Library() {
		var events []trace.Event
		r, err := s.Run(t.Context(), sim.Options{Seed: s.Seed, Details: true, Lua: lua,
			Observe: func(e *trace.Event, _ []string) { events = append(events, *e) }})
		require.NoError(t, err)
		p := FromReport(r, events, "")
		if len(p.violated()) == 0 {
			continue
		}
		violations++
		told := map[uint64]bool{}
		for _, sentence := range p.why() {
			told[sentence.N] = true
		}
		for _, result := range p.violated() {
			for _, n := range result.Events {
				require.True(t, told[n], "%s: %s is violated at event %d: %v", s.Name, result.Check, n, p.why())
			}
		}
		require.GreaterOrEqual(t, len(told), 4, s.Name)
		require.LessOrEqual(t, len(told), 8, s.Name)
	}
	require.Greater(t, violations, 10)
}
