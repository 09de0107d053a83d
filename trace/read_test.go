package trace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadIsTheInverse: what was read is written as it was.
func TestReadIsTheInverse(t *testing.T) {
	text := `{"n":1,"t":0,"actor":"nemesis","kind":"lag","peer":"r1","a":1}
{"n":2,"t":100000000,"actor":"c1","kind":"acquire","cause":1,"lock":1,"key":"lock:<b>\u0000\"é"}
{"n":3,"t":100000001,"actor":"m1","kind":"execute","cause":2,"peer":"c1","a":-7,"b":9,"text":"GET x",` +
		`"details":[{"what":"call","text":"GET x","reply":"nil"},{"what":"expired","key":"x"},` +
		`{"what":"script","key":"ab","text":"return 1"},{"what":"line","text":"x = 1","line":1}]}
`
	events, names, err := Read("t.jsonl", strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, []string{"", "nemesis", "r1", "c1", "m1"}, names)
	var again []byte
	for i := range events {
		again = append(events[i].AppendJSON(again, names), '\n')
	}
	require.Equal(t, text, string(again))
}

func TestReadRefusals(t *testing.T) {
	first := `{"n":1,"t":5,"actor":"c1","kind":"start"}` + "\n"
	for _, bad := range []struct{ text, want string }{
		{"", "t.jsonl:1: not a trace: there is nothing in it"},
		{"hello\n", "t.jsonl:1: not a trace: expected an event"},
		{"{}\n", "t.jsonl:1: not a trace: expected an event"},
		{"[1]\n", "t.jsonl:1: not a trace: expected an event"},
		{first + `{"n":2,"t":6,"actor":"c`, "t.jsonl:2: the trace is cut short in the middle of this event"},
		{first + `{"n":3,"t":6,"actor":"c1","kind":"start"}`, "t.jsonl:2: event 3 comes after event 1: a part"},
		{first + `{"n":2,"t":4,"actor":"c1","kind":"start"}`, "t.jsonl:2: event 2 is earlier than event 1"},
		{first + `{"n":2,"t":5,"cause":2,"actor":"c1","kind":"start"}`, "t.jsonl:2: event 2 follows from event 2"},
		{first + `{"n":2,"t":5,"actor":"c1","kind":"teleport"}`, `t.jsonl:2: unknown kind "teleport"`},
		{first + `{"n":2,"t":"5","actor":"c1","kind":"start"}`, "t.jsonl:2: a field has another type: the trace is of"},
		{first + `{"n":2,"t":5,"actor":"c1","kind":"start","details":[{"what":"x"}]}`, `t.jsonl:2: unknown detail "x"`},
		{first + "{n}\n", "t.jsonl:2: not an event: invalid character"},
	} {
		_, _, err := Read("t.jsonl", strings.NewReader(bad.text))
		require.ErrorContains(t, err, bad.want)
	}
}
