package explore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"minikv/sim"
	"minikv/trace"
)

// storyLines is how many lines of its trace a file tells.
const storyLines = 40

// separator is the line after which a scenario file says what happened.
const separator = "----\n"

// File runs a scenario with its seed and returns its text with what the run showed: the
// lines of the trace that decided, the verdicts, and the hash by which a replay is
// recognised. own is what a scenario with lock=own needs, else nil.
func File(ctx context.Context, s *sim.Scenario, own *sim.Own) (string, error) {
	var events []trace.Event
	r, err := s.Run(ctx, sim.Options{Seed: s.Seed, Details: true, Own: own, Observe: func(e *trace.Event, _ []string) {
		events = append(events, *e)
	}})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(s.Text() + separator)
	for _, e := range sim.Decisive(events, r.Results, storyLines) {
		b.Write(append(e.AppendText(nil, r.Names), '\n'))
	}
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%s %s: %s\n", result.Check, result.Verdict, result.Reason)
	}
	b.WriteString(HashLine(r) + "\n")
	return b.String(), nil
}

// HashLine returns the line by which files and reports identify a run.
func HashLine(r *sim.Report) string {
	return fmt.Sprintf("hash       %016x of %d events", uint64(r.Hash), r.Events)
}

// RecordedHash finds the hash in a file that File has written; ok is false if there is
// none.
func RecordedHash(text string) (hash trace.Hash, ok bool) {
	_, after, found := strings.Cut(text, separator)
	if !found {
		return 0, false
	}
	for line := range strings.Lines(after) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "hash" {
			continue
		}
		n, err := strconv.ParseUint(words[1], 16, 64)
		return trace.Hash(n), err == nil
	}
	return 0, false
}

// Of runs a scenario with one seed and returns it as a hit; nil if it violates nothing.
func Of(ctx context.Context, p Problem, seed uint64) (*Hit, error) {
	checks, err := p.checks()
	if err != nil {
		return nil, err
	}
	f := newLab(sim.NewLua(), checks, p.Own).seed(ctx, p.Scenario, seed, "")
	return f.hit, f.err
}
