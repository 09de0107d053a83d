package matrix

import (
	"fmt"
	"strings"
	"time"

	"minikv/sim/check"
)

// claim is what a code says about one check.
type claim struct {
	check   string // "safety" is exclusion, capacity or gate, as the kind has it
	verdict check.Verdict
	bound   time.Duration // of liveness; 0: any that is reasonable
	or      bool          // this one or the one before
	either  bool          // one of two that need not both come true: nobody's twin
}

// notApplicable is the code of a cell that means nothing.
const notApplicable = "-"

// meaningless is the verdict of such a cell.
const meaningless = "not-applicable"

// forEver is how long nobody may wait: what takes longer counts as for ever.
const forEver = 10 * time.Minute

// starved is how long a writer must wait before readers have passed it over: longer
// than any one of them reads.
const starved = 90 * time.Second

// parseCode reads a verdict's code; see the package comment.
func parseCode(code string) ([]claim, error) {
	safe, unsafe := claim{check: "safety"}, claim{check: "safety", verdict: check.Violated}
	stuck := claim{check: "liveness", verdict: check.Violated, bound: forEver}
	switch code {
	case notApplicable:
		return nil, nil
	case "S", "Sv":
		return []claim{safe}, nil
	case "U":
		return []claim{unsafe}, nil
	case "U/r":
		return []claim{unsafe, {check: "fencing"}}, nil
	case "U!":
		return []claim{unsafe, {check: "fencing", verdict: check.Violated}}, nil
	case "D":
		return []claim{stuck}, nil
	case "LEAK":
		return []claim{{check: "leak", verdict: check.Violated}}, nil
	case "U/D":
		stuck.or, stuck.either, unsafe.either = true, true, true
		return []claim{unsafe, stuck}, nil
	case "S D":
		return []claim{safe, {check: "progress", verdict: check.Violated, bound: starved}}, nil
	}
	if text, ok := strings.CutPrefix(code, "L("); ok {
		bound, err := time.ParseDuration(strings.TrimSuffix(text, ")"))
		return []claim{safe, {check: "liveness", bound: bound}}, err
	}
	name, verdict, ok := strings.Cut(code, "=")
	switch {
	case ok && verdict == "holds":
		return []claim{{check: name}}, nil
	case ok && verdict == "violated":
		return []claim{{check: name, verdict: check.Violated}}, nil
	}
	return nil, fmt.Errorf("unknown code %q: expected one of the package comment", code)
}

// Expected is the cell's verdict in one word: the worst of what its code says.
func (c *Cell) Expected() string {
	claims := c.claims()
	if claims == nil {
		return meaningless
	}
	worst := check.Holds
	for _, one := range claims {
		worst = max(worst, one.verdict)
	}
	return worst.String()
}
