package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Verdict is what a run says about a promise.
type Verdict uint8

// The verdicts, from best to worst.
const (
	Holds Verdict = iota
	Unknown
	Violated
)

var verdictNames = [...]string{Holds: "holds", Unknown: "unknown", Violated: "violated"}

// String is the verdict as reports show it.
func (v Verdict) String() string { return verdictNames[v] }

// Known reports whether v is one of the verdicts.
func (v Verdict) Known() bool { return int(v) < len(verdictNames) }

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdictNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown verdict: %q", text)
	}
	*v = Verdict(i)
	return nil
}

// Result is a checker's verdict with its reason.
type Result struct {
	Check   string
	Verdict Verdict
	Reason  string   // one line for people
	Events  []uint64 // the events that decided; of a violation none: something has not happened
}

// Checker watches one promise.
type Checker interface {
	// Observe is called for each event, in order; e is valid only during the call.
	Observe(e *trace.Event)
	// Result is the verdict on a run that ends now. It may be asked for at any time,
	// and again: asking changes nothing. A promise about something that never happened
	// in the run is Unknown.
	Result(end time.Duration) Result
}

// Names gives the actors' names to the reasons of results.
type Names func(trace.Actor) string

// stamp is an instant as reasons show it: seconds with milliseconds.
func stamp(d time.Duration) string {
	return string(trace.AppendTime(nil, d))
}

// Several is a number of things for people: "1 grant", "2 grants".
func Several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
