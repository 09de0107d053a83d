package check

import (
	"time"

	"minikv/trace"
)

// nothing is a check that nobody can make here.
type nothing struct{ result Result }

// NewNothing makes a checker whose verdict is unknown, for a reason.
func NewNothing(name, reason string) Checker {
	return nothing{Result{Check: name, Verdict: Unknown, Reason: reason}}
}

// Observe implements Checker.
func (nothing) Observe(*trace.Event) {}

// Result implements Checker.
func (n nothing) Result(time.Duration) Result { return n.result }
