package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/sim"
	"minikv/trace"
)

// maxBranches is how many steps may be added to a scenario.
const maxBranches = 20

// ownName is the name of a scenario that somebody gives as a file.
const ownName = "own"

// maxEvents is how many events a served run may have.
const maxEvents = 300_000

// branch is a scenario with steps that somebody added.
type branch struct {
	file     *sim.Scenario // as it is embedded, or as it was given
	own      string        // the text of a given one, else ""
	seed     uint64
	steps    []string // lines of a scenario file
	scenario *sim.Scenario
}

// newBranch reads a branch from the parameters seed, step and file.
func newBranch(name string, given url.Values) (b *branch, err error) {
	b = &branch{steps: given["step"]}
	if name == ownName {
		b.own = strings.ReplaceAll(given.Get("file"), "\r\n", "\n") // as forms send lines
		b.file, err = sim.ParseScenario(ownName+".scenario", b.own)
	} else {
		b.file, err = find(name)
	}
	if err != nil {
		return nil, err
	}
	b.seed = b.file.Seed
	if text := given.Get("seed"); text != "" {
		if b.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("seed %q: expected a number", text)
		}
	}
	if len(b.steps) > maxBranches {
		return nil, fmt.Errorf("%d changes: expected at most %d", len(b.steps), maxBranches)
	}
	b.scenario, err = b.with(b.steps)
	return b, err
}

// with is the scenario with other steps added.
func (b *branch) with(steps []string) (*sim.Scenario, error) {
	s := *b.file
	s.Seed = b.seed
	if len(steps) == 0 {
		return &s, nil
	}
	for _, step := range steps {
		if !strings.HasPrefix(step, "at ") || strings.ContainsAny(step, "\r\n") {
			return nil, fmt.Errorf("%q: expected a line such as: at 100ms pause c1 for=5s", step)
		}
	}
	text := s.Text()
	end := strings.LastIndex(text, "\nrun ") + 1
	parsed, err := sim.ParseScenario(s.Name+".scenario", text[:end]+strings.Join(steps, "\n")+"\n"+text[end:])
	if err == nil {
		parsed.Name = s.Name
	}
	return parsed, err
}

// run runs the branch.
func (b *branch) run(ctx context.Context) (*sim.Report, []trace.Event, error) {
	return runWithEvents(ctx, b.scenario)
}

// address is where the branch is shown, with further steps.
func (b *branch) address(more ...string) string {
	return "/run/" + url.PathEscape(b.file.Name) + "?" + b.query(more...)
}

// query are the parameters of the branch.
func (b *branch) query(more ...string) string {
	query := url.Values{"seed": {strconv.FormatUint(b.seed, 10)}, "step": slices.Concat(b.steps, more)}
	if b.own != "" {
		query.Set("file", b.own)
	}
	return query.Encode()
}

func runWithEvents(ctx context.Context, s *sim.Scenario) (*sim.Report, []trace.Event, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var events []trace.Event
	keep := func(e *trace.Event, _ []string) {
		if events = append(events, *e); len(events) == maxEvents {
			stop(fmt.Errorf("the run has more than %d events, too many for a page: "+
				"locksim run FILE --trace none shows its verdicts", maxEvents))
		}
	}
	report, err := s.Run(ctx, sim.Options{Seed: s.Seed, Details: true, Lines: true, Observe: keep})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return report, events, err
}

// step is the line that does `what` at event n: "drop", "pause NAME", "crash NAME".
func (b *branch) step(ctx context.Context, what string, n int) (string, error) {
	report, events, err := b.run(ctx)
	if err != nil {
		return "", err
	}
	if n < 1 || n > len(events) {
		return "", fmt.Errorf("event %d: the run has %d", n, len(events))
	}
	after := sim.DurationText(events[n-1].At + time.Nanosecond)
	verb, name, _ := strings.Cut(what, " ")
	var line string
	switch verb {
	case "drop":
		return b.drop(ctx, events, report.Names, n)
	case "pause":
		line = "at " + after + " pause " + name + " for=5s"
	case "crash":
		line = "at " + after + " crash " + name
	default:
		return "", fmt.Errorf("%q: expected drop, pause or crash", what)
	}
	_, err = b.with(append(b.steps[:len(b.steps):len(b.steps)], line))
	return line, err
}

// drop is the line that loses the message that event n sends: it counts the
// messages before it on the same way. A rule does not see what a cut link loses;
// whether others were seen is tried.
func (b *branch) drop(ctx context.Context, events []trace.Event, names []string, n int) (string, error) {
	sent := &events[n-1]
	if sent.Kind != trace.Send {
		return "", fmt.Errorf("event %d sends no message", n)
	}
	all, arrived := 0, 0
	for i := range events[:n-1] {
		e := &events[i]
		if e.Actor != sent.Actor || e.Peer != sent.Peer || e.Kind != trace.Send && e.Kind != trace.Drop {
			continue
		}
		if e.Kind == trace.Drop {
			arrived--
			continue
		}
		all++
		arrived++
	}
	for after := arrived; after <= all; after++ {
		line := fmt.Sprintf("at 0s drop %s %s next=1 after=%d", names[sent.Actor], names[sent.Peer], after)
		s, err := b.with(append(b.steps[:len(b.steps):len(b.steps)], line))
		if err != nil {
			return "", err
		}
		_, again, err := runWithEvents(ctx, s)
		if err != nil {
			return "", err
		}
		if len(again) > n && again[n-1].Kind == trace.Send && again[n-1].At == sent.At &&
			again[n].Kind == trace.Drop && again[n].Cause == uint64(n) {
			return line, nil
		}
	}
	return "", fmt.Errorf("no line of a scenario loses just the message of event %d", n)
}
