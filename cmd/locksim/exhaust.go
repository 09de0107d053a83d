package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// The strategies without times: every order of what can happen, which needs no seeds,
// and orders by random priorities (see explore.Sample).
const (
	exhaustive = "exhaustive"
	pct        = "pct"
)

// maxBound is how many faults a schedule may have.
const maxBound = 9

// ordered searches the orders of what can happen in a scenario, within the bound:
// all of them, or as many at random as there are seeds.
func (f *huntFlags) ordered(cmd *cobra.Command, args []string) error {
	if err := exactlyOne(cmd, args); err != nil {
		return err
	}
	for _, no := range []struct{ flag, strategy, reason string }{
		{"need", f.strategy, "a hunt of orders ends with the first violation"},
		{"hits", f.strategy, "a hunt of orders ends with the first violation"},
		{"seeds", exhaustive, "every order is run"},
		{"root", exhaustive, "every order is run"},
		{"workers", exhaustive, "orders are run one after the other"},
		{"schedules", pct, "there are as many schedules as --seeds"},
	} {
		if cmd.Flags().Changed(no.flag) && f.strategy == no.strategy {
			return fmt.Errorf("--%s: %s: expected no --%s with --strategy %s", no.flag, no.reason, no.flag, f.strategy)
		}
	}
	s, err := load(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	strategy := f.strategy
	f.strategy = ""
	if f.bound < 0 || f.bound > maxBound {
		return fmt.Errorf("--bound %d: expected a number from 0 to %d", f.bound, maxBound)
	}
	if len(f.faults) == 0 && len(s.Faults.Kinds) == 0 {
		if f.bound > 0 && cmd.Flags().Changed("bound") {
			return fmt.Errorf("--bound %d: %s has no faults line: expected --faults as well, of %s", f.bound, s.Name,
				strings.Join(sim.UntimedFaults(), ", "))
		}
		f.bound = 0
	} else if s, err = f.withFaults(s); err != nil {
		return err
	}
	if err := f.makeOut(); err != nil {
		return err
	}
	search := f.sample
	if strategy == exhaustive {
		search = f.exhaust
	}
	found, err := search(cmd, s)
	if err != nil {
		return err
	}
	var violated []check.Result
	if found.hit != nil {
		file := filepath.Join(f.out, fileName(found.hit.Name)+"-order.scenario")
		if err := writeStory(cmd.Context(), cmd.OutOrStdout(), file, "", found.hit, found.result); err != nil {
			return err
		}
		violated = append(violated, found.result)
	}
	return judge(cmd.OutOrStdout(), s, f.checks, violated, found.unjudged)
}

// orders are what a search of them has found.
type orders struct {
	hit      *sim.Scenario  // nil: nothing
	result   check.Result   // what that violates
	unjudged []check.Result // checks on which no schedule had a verdict
	struck   []string       // kinds of fault that did something
}

// tell says of what it means nothing that no violation was found. The error is errStopped
// if the search did not come to its end, and found nothing.
func (f *huntFlags) tell(out io.Writer, s *sim.Scenario, found orders, stopped bool) (orders, error) {
	for _, r := range found.unjudged {
		fmt.Fprintf(out, "%s was never judged: %s\n", r.Check, r.Reason)
	}
	switch {
	case found.hit != nil:
		found.unjudged = nil // the search has ended with that
	case stopped:
		return found, errStopped
	case f.bound > 0:
		tellIdle(out, s, found.struck, "schedule")
	}
	return found, nil
}

// exhaust runs every schedule, and says so. Its error may be that of tell.
func (f *huntFlags) exhaust(cmd *cobra.Command, s *sim.Scenario) (found orders, err error) {
	if f.schedules < 0 {
		return found, fmt.Errorf("--schedules %d: expected a number of schedules", f.schedules)
	}
	started := time.Now()
	bar := newProgress(cmd.ErrOrStderr())
	done, err := explore.Exhaust(cmd.Context(), explore.Problem{Scenario: s, Checks: f.checks}, explore.Bound{
		Faults: f.bound, Schedules: f.schedules, First: true,
		Progress: func(e explore.Exhausted) { bar.seeds(e.Schedules+e.Walks, -1, e.Violated) },
	})
	bar.done()
	stopped := errors.Is(err, context.Canceled)
	var tooMany *explore.TooManyError
	if errors.As(err, &tooMany) && tooMany.Actions == 0 {
		return found, fmt.Errorf("%w, or more --schedules, or --strategy %s", err, pct)
	}
	if err != nil && !stopped {
		return found, err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s (and %d at random), %s in %.1f s, ", f.within(s),
		check.Several(done.Schedules, "schedule"), done.Walks, check.Several(done.States, "state"),
		time.Since(started).Seconds())
	verdict := "and these are all: none violates"
	switch {
	case done.Hit != nil:
		verdict = done.Result.Check + " violated"
	case !done.Complete:
		verdict = "none of them violates, but these are not all: unknown"
	}
	fmt.Fprintln(cmd.OutOrStdout(), verdict)
	return f.tell(cmd.OutOrStdout(), s, orders{done.Hit, done.Result, done.Unjudged, done.Struck}, stopped)
}

// sample runs as many schedules at random as there are seeds, and says so. Its error may be
// that of tell.
func (f *huntFlags) sample(cmd *cobra.Command, s *sim.Scenario) (found orders, err error) {
	if err := f.checkSeeds(); err != nil {
		return found, err
	}
	if !cmd.Flags().Changed("root") {
		f.root = anyRoot()
	}
	started := time.Now()
	bar := newProgress(cmd.ErrOrStderr())
	done, err := explore.Sample(cmd.Context(), explore.Problem{Scenario: s, Checks: f.checks}, explore.Sampling{
		Faults: f.bound, Root: f.root, Schedules: f.seeds, Workers: f.workers,
		Progress: func(r explore.Sampled) { bar.seeds(r.Schedules, f.seeds, 0) },
	})
	bar.done()
	stopped := errors.Is(err, context.Canceled)
	if err != nil && !stopped {
		return found, err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s, root %d: %s of up to %s at random in %.1f s, ", f.within(s), f.root,
		check.Several(done.Schedules, "schedule"), check.Several(done.Deepest, "action"), time.Since(started).Seconds())
	verdict := "none of them violates, but these are not all"
	switch {
	case done.Hit != nil:
		verdict = fmt.Sprintf("%s violated by that of seed %d", done.Result.Check, done.Seed)
	case stopped:
		verdict += "; another --root runs others"
	}
	fmt.Fprintln(cmd.OutOrStdout(), verdict)
	return f.tell(cmd.OutOrStdout(), s, orders{done.Hit, done.Result, done.Unjudged, done.Struck}, stopped)
}

// within is the bound in words: what comes later than the end of a run is in no schedule.
func (f *huntFlags) within(s *sim.Scenario) string {
	return check.Several(s.World.Clients, "client") + ", up to " + sim.DurationText(s.For) + ", at most " +
		check.Several(f.bound, "fault") + ofKinds(s)
}

func ofKinds(s *sim.Scenario) string {
	if len(s.Faults.Kinds) == 0 {
		return ""
	}
	return " (" + strings.Join(s.Faults.Words(), " ") + ")"
}
