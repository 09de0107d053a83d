package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// writeVerdicts writes a line for each check, with what was expected where it
// came otherwise.
func writeVerdicts(out io.Writer, r *sim.Report, indent string) {
	for i, result := range r.Results {
		verdict := result.Verdict.String()
		note := ""
		if want := r.Scenario.Expect[i].Verdict; want != verdict {
			note = " (expected: " + want + ")"
		}
		fmt.Fprintf(out, "%s%-10s %-9s %s%s\n", indent, result.Check, verdict, result.Reason, note)
	}
}

// writeSummary writes how a run ended: its verdicts, lines of its file that came to nothing,
// its size, its hash and how to replay it.
func writeSummary(out io.Writer, name string, file *sim.Scenario, r *sim.Report) {
	writeVerdicts(out, r, "")
	for _, idle := range r.Idle {
		fmt.Fprintf(out, "line %d: %s\n", idle.Step.Line, idle.Text())
	}
	fmt.Fprintf(out, "grants     %d\n", r.Grants)
	fmt.Fprintln(out, explore.HashLine(r))
	fmt.Fprintf(out, "replay: %s\n", replayCommand(name, file, r))
	if brokenAgainstHope(r) && r.Scenario.World.Clients == file.World.Clients && r.Scenario.For == file.For {
		fmt.Fprintf(out, "shrink: locksim shrink %s --seed %d\n", quoteWord(name), r.Scenario.Seed)
	}
}

// brokenAgainstHope reports whether a check is violated that was expected to hold.
func brokenAgainstHope(r *sim.Report) bool {
	return slices.ContainsFunc(r.Results, func(result check.Result) bool {
		return explore.Disappoints(r.Scenario, &result)
	})
}

// judge compares what a search has found violated with what the scenario expects of the
// checks that count; nil: of all. A search that has ended with that says nothing about other
// violations; one that has run all that it was to run has said which checks it never judged,
// and these are not as expected either.
func judge(out io.Writer, s *sim.Scenario, checks []string, violated, unjudged []check.Result) error {
	for _, e := range s.Expect {
		counts := len(checks) == 0 || slices.Contains(checks, e.Check)
		isIt := func(r check.Result) bool { return r.Check == e.Check }
		differs := e.Verdict == "violated" && len(violated) == 0 || slices.ContainsFunc(unjudged, isIt) ||
			e.Verdict == "holds" && slices.ContainsFunc(violated, isIt)
		if counts && differs {
			fmt.Fprintf(out, "expected: %s=%s\n", e.Check, e.Verdict)
			return errDiffers
		}
	}
	return nil
}

// replayCommand is the command that runs the same again: the scenario, and
// every flag that differs from the file.
func replayCommand(name string, file *sim.Scenario, r *sim.Report) string {
	words := []string{"locksim", "run", quoteWord(name)}
	if r.Scenario.Seed != file.Seed {
		words = append(words, "--seed", fmt.Sprint(r.Scenario.Seed))
	}
	if r.Scenario.World.Clients != file.World.Clients {
		words = append(words, "--clients", fmt.Sprint(r.Scenario.World.Clients))
	}
	if r.Scenario.For != file.For {
		words = append(words, "--for", r.Scenario.For.String())
	}
	return strings.Join(words, " ")
}

// quoteWord quotes a file name for a shell where it needs it, and keeps one that begins
// with a dash from being a flag.
func quoteWord(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./+,:@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
