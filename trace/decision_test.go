package trace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ran is an event at which a script ran, line by line.
func ran(sha, text string, lines ...int) *Event {
	e := &Event{Kind: Execute, Details: []Detail{{What: Script, Key: sha, Text: text}}}
	for _, n := range lines {
		e.Details = append(e.Details, Detail{What: Line, Line: n}, Detail{What: Called, Text: "get x"})
	}
	return e
}

// TestDecision: the last condition that a script came to, or its last statement.
func TestDecision(t *testing.T) {
	source := strings.Join([]string{
		"local iffy = 1", "if iffy == 1 then", "  return 1", "elseif(iffy == 2) then", "  iffy = 3", "end", "while iffy do",
		"end", "return 2",
	}, "\n")
	sources := Sources{}
	first := ran("a", source, 1, 2, 3)
	sources.Note(first)
	for _, c := range []struct {
		e    *Event
		want Decision
		ok   bool
	}{
		{first, Decision{2, "if iffy == 1 then"}, true},
		{ran("a", "", 1, 2, 4, 5, 9), Decision{4, "elseif(iffy == 2) then"}, true},
		{ran("a", "", 1, 2, 4, 7, 9), Decision{7, "while iffy do"}, true},
		{ran("a", "", 1), Decision{1, "local iffy = 1"}, true},
		{ran("a", "", 1, 9), Decision{9, "return 2"}, true},
		{ran("a", "", 77), Decision{}, false},
		{ran("unknown", "", 1), Decision{}, false},
		{ran("a", ""), Decision{}, false},
		{&Event{Kind: Execute}, Decision{}, false},
	} {
		d, ok := sources.Decision(c.e)
		require.Equal(t, c.ok, ok, c.e)
		require.Equal(t, c.want, d)
	}
	both := ran("a", "", 1, 2)
	both.Details = append(both.Details, ran("a", "", 9).Details...)
	d, _ := sources.Decision(both)
	require.Equal(t, 9, d.Line, "of two scripts the last one")
}
