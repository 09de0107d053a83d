package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

func newShrink() *cobra.Command {
	var seed uint64
	var out, check string
	cmd := &cobra.Command{
		Use:   "shrink NAME|FILE",
		Short: "Make the story of a violation short",
		Long: `Run a scenario that violates a check and leave out what the violation does not
need: faults, operations, clients, servers, digits. The result is written as a
scenario file. If the run violates several checks, the story is about one that was
expected to hold. Ctrl-C ends the search with the shortest story so far.`,
		Example:           `  locksim shrink ./my.scenario --seed 7000000012 --out short.scenario`,
		Args:              exactlyOne,
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(s.Order) > 0 {
				return fmt.Errorf("%s is an order of actions, which cannot be made shorter: expected a scenario with times;"+
					" \"locksim hunt --strategy %s\" of its world with a smaller --bound or fewer clients finds shorter ones",
					args[0], exhaustive)
			}
			if !cmd.Flags().Changed("seed") {
				seed = s.Seed
			}
			hit, err := explore.Of(cmd.Context(), explore.Problem{Scenario: s, Checks: chosen(check)}, seed)
			if err != nil {
				return err
			}
			if hit == nil {
				return fmt.Errorf("%s: there is nothing to shrink", violatesNothing(s, seed, check))
			}
			if out == "" {
				out = fmt.Sprintf("%s-%d.scenario", fileName(s.Name), seed)
			}
			return shrink(cmd.Context(), cmd.OutOrStdout(), out, hit)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of the run that violates (default: the file's)")
	cmd.Flags().StringVar(&out, "out", "", "file to write (default: ./NAME-SEED.scenario)")
	addCheck(cmd, &check)
	return cmd
}

// shrink makes the story of a hit short, as far as it comes until ctx ends.
func shrink(ctx context.Context, out io.Writer, file string, hit *explore.Hit) error {
	short, err := explore.Shrink(ctx, []explore.Hit{*hit})
	stopped := errors.Is(err, context.Canceled)
	if short == nil || err != nil && !stopped {
		return err
	}
	if stopped {
		fmt.Fprintln(out, "interrupted: this is the shortest story so far")
	}
	if err := writeShort(context.WithoutCancel(ctx), out, file, short); err != nil || !stopped {
		return err
	}
	return errStopped
}

// writeShort tells the shortest story, which took long to find, and writes it to a file.
func writeShort(ctx context.Context, out io.Writer, file string, short *explore.Shrunk) error {
	about := fmt.Sprintf("the shortest story, after %s: %s, %s\n", check.Several(short.Runs, "run"),
		check.Several(short.Faults, "fault"), check.Several(short.Asked, "operation"))
	return writeStory(ctx, out, file, about, short.Story, short.Result)
}

// writeStory tells a story that violates, behind what is to be said about it, and writes
// it to a file.
func writeStory(
	ctx context.Context, out io.Writer, file, about string, story *sim.Scenario, violated check.Result,
) error {
	story.Claim = fmt.Sprintf("%s is violated: %s.", violated.Check, violated.Reason)
	text, err := explore.File(ctx, story, nil)
	if err != nil {
		return err
	}
	if !strings.ContainsAny(file, "/\\") {
		file = "./" + file
	}
	fmt.Fprintf(out, "%s\n%s\n", about, text)
	if err := writeFile(file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "replay: locksim replay %s\n", quoteWord(file))
	return err
}

func newReplay() *cobra.Command {
	var traced string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a recorded scenario again, and check that it went the same way",
		Long: `Run a scenario file that hunt or shrink has written, and compare the hash of the
run with the recorded one. Exit code 3 means that the run went another way.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("replay takes one file, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readText(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			s, err := sim.ParseScenario(args[0], text)
			if err != nil {
				return err
			}
			want, ok := explore.RecordedHash(text)
			if !ok {
				return fmt.Errorf("%s has no recorded hash: \"locksim run %s\" runs it", args[0], quoteWord(args[0]))
			}
			f := runFlags{trace: traced}
			r, err := f.replay(cmd, s)
			if err != nil {
				return err
			}
			writeVerdicts(f.summary(cmd), r, "")
			fmt.Fprintln(f.summary(cmd), explore.HashLine(r))
			switch {
			case r.Hash != want:
				return fmt.Errorf("%w: its hash was %016x", errNotSame, uint64(want))
			case !r.AsExpected():
				return errDiffers
			}
			fmt.Fprintln(f.summary(cmd), "the same run, event for event")
			return nil
		},
	}
	cmd.Flags().StringVar(&traced, "trace", "none", "what to print of the run: none, text or jsonl")
	completeWith(cmd, "trace", traces)
	return cmd
}
