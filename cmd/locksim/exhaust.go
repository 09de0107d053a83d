package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/sim/explore"
)

// exhaustive is the strategy that needs no seeds.
const exhaustive = "exhaustive"

// maxBound is how many faults a schedule may have.
const maxBound = 9

// exhaust runs every schedule of a scenario within the bound.
func (f *huntFlags) exhaust(cmd *cobra.Command, args []string) error {
	if err := exactlyOne(cmd, args); err != nil {
		return err
	}
	s, err := load(cmd.Context(), args[0])
	if err != nil {
		return err
	}
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
	if f.schedules < 0 {
		return fmt.Errorf("--schedules %d: expected a number of schedules", f.schedules)
	}
	started := time.Now()
	bar := newSeedProgress(cmd.ErrOrStderr(), -1)
	done, err := explore.Exhaust(cmd.Context(), explore.Problem{Scenario: s, Checks: f.checks}, explore.Bound{
		Faults: f.bound, Schedules: f.schedules, First: true,
		Progress: func(e explore.Exhausted) { bar.tick(e.Schedules+e.Walks, e.Violated) },
	})
	bar.done()
	interrupted := errors.Is(err, context.Canceled)
	var tooMany *explore.TooManyError
	if errors.As(err, &tooMany) && tooMany.Actions == 0 {
		return fmt.Errorf("%w, or more --schedules", err)
	}
	if err != nil && !interrupted {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s, %s%s: %s (and %d at random), %s in %.1f s, ", several(s.World.Clients, "client"),
		"at most "+several(f.bound, "fault"), ofKinds(s), several(done.Schedules, "schedule"), done.Walks,
		several(done.States, "state"), time.Since(started).Seconds())
	switch {
	case done.Hit != nil:
		fmt.Fprintf(out, "%s violated\n", done.Result.Check)
		if err := f.writeOrder(cmd, done); err != nil {
			return err
		}
	case interrupted:
		fmt.Fprintln(out, "none of them violates, but they are not all: unknown")
		return errStopped
	default:
		fmt.Fprintln(out, "which are all: none violates")
	}
	return f.judge(cmd, s, done)
}

func ofKinds(s *sim.Scenario) string {
	if len(s.Faults.Kinds) == 0 {
		return ""
	}
	return " (" + strings.Join(s.Faults.Words(), " ") + ")"
}

// writeOrder writes the schedule that violates.
func (f *huntFlags) writeOrder(cmd *cobra.Command, done explore.Exhausted) error {
	story := done.Hit
	story.Claim = fmt.Sprintf("%s is violated: %s.", done.Result.Check, done.Result.Reason)
	text, err := explore.File(cmd.Context(), story, nil)
	if err != nil {
		return err
	}
	file := filepath.Join(f.out, fileName(story.Name)+"-order.scenario")
	if !strings.ContainsAny(file, "/\\") {
		file = "./" + file
	}
	if err := writeFile(file, text); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\n%s\nreplay: locksim replay %s\n", text, quoteWord(file))
	return nil
}

// judge compares with what the scenario expects.
func (f *huntFlags) judge(cmd *cobra.Command, s *sim.Scenario, done explore.Exhausted) error {
	for _, e := range s.Expect {
		if len(f.checks) > 0 && !slices.Contains(f.checks, e.Check) {
			continue
		}
		violated := done.Hit != nil && done.Result.Check == e.Check
		if violated != (e.Verdict == "violated") {
			fmt.Fprintf(cmd.OutOrStdout(), "expected: %s=%s\n", e.Check, e.Verdict)
			return errDiffers
		}
	}
	return nil
}
