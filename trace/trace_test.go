package trace

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJSONIsValid(t *testing.T) {
	e := Event{N: 3, At: 1500, Actor: 1, Peer: 2, Kind: Execute, Cause: 2, A: -1, B: 7, Lock: 1,
		Key: "a\"\\\n\x00\x7f\xff<ü>", Text: "x", Details: []Detail{{What: Changed, Key: "k", Text: "hash{a:1}"}}}
	line := e.AppendJSON(nil, []string{"", "c1", "m1"})
	var got map[string]any
	require.NoError(t, json.Unmarshal(line, &got), string(line))
	require.Equal(t, "c1", got["actor"])
	require.Equal(t, "m1", got["peer"])
	require.Equal(t, "execute", got["kind"])
	require.Equal(t, "a\"\\\n\x00\x7f\ufffd<ü>", got["key"])
	require.Len(t, got["details"], 1)
}

// Every numeric field must reach the hash, and the texts must not.
func TestHashCoversNumbersOnly(t *testing.T) {
	base := Event{N: 1, At: 10, Cause: 1, Actor: 1, Peer: 2, Kind: Send, Lock: 1, A: 5, B: 6}
	h := Hash(0).Add(&base)
	changes := map[string]func(e *Event){
		"At": func(e *Event) { e.At++ }, "Cause": func(e *Event) { e.Cause++ }, "Actor": func(e *Event) { e.Actor++ },
		"Peer": func(e *Event) { e.Peer++ }, "Kind": func(e *Event) { e.Kind++ }, "Lock": func(e *Event) { e.Lock++ },
		"A": func(e *Event) { e.A++ }, "B": func(e *Event) { e.B++ },
	}
	for name, change := range changes {
		e := base
		change(&e)
		require.NotEqual(t, h, Hash(0).Add(&e), "the hash must see %s", name)
	}
	e := base
	e.Key, e.Text, e.Details = "k", "t", []Detail{{}}
	require.Equal(t, h, Hash(0).Add(&e))
	two := h.Add(&changedAt)
	require.NotEqual(t, two, Hash(0).Add(&changedAt).Add(&base), "order must matter")
}

var changedAt = Event{N: 2, At: 11, Cause: 1, Actor: 2, Kind: Deliver}

func BenchmarkHash(b *testing.B) {
	e := changedAt
	h := Hash(0)
	for i := 0; b.Loop(); i++ {
		e.At++
		h = h.Add(&e)
	}
	_ = h
}

// A heal tells what it has mended: one of several cuts, all of them, or nothing, as where the
// faults of a run end in which none cut the network.
func TestHealTellsWhatItMends(t *testing.T) {
	for want, e := range map[string]Event{
		"the network heals a cut of c1 from m1": {N: 1, Kind: Heal, A: 2, Text: "c1 from m1"},
		"the network heals":                     {N: 1, Kind: Heal, A: 2},
		"the network is whole":                  {N: 1, Kind: Heal},
	} {
		require.Equal(t, want, string(e.AppendSentence(nil, []string{""})))
	}
}

// A pause that ends when something else happens has no length.
func TestPauseWithoutALength(t *testing.T) {
	names := []string{"", "c1"}
	for nanos, want := range map[int64]string{0: "c1 is paused", 5_000_000_000: "c1 is paused for 5.000s"} {
		e := Event{N: 1, Kind: Pause, Peer: 1, A: nanos}
		require.Equal(t, want, string(e.AppendSentence(nil, names)))
	}
}

// A holder crashes with what is left of its lease, or with a lock that has none any more.
func TestCrashTellsTheLease(t *testing.T) {
	names := []string{"", "c1"}
	for a, want := range map[int64]string{0: "c1 crashes", 29e9: "c1 crashes with 29.000s of its lease left",
		-1: "c1 crashes with a lock that has lost its TTL"} {
		e := Event{Kind: Crash, Peer: 1, A: a}
		require.Equal(t, want, string(e.AppendSentence(nil, names)))
	}
}
