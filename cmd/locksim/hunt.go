package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikv/sim"
	"minikv/sim/explore"
)

// huntFlags are the flags of `locksim hunt`.
type huntFlags struct {
	seeds     int
	root      uint64
	strategy  string
	faults    []string
	checks    []string
	need      string
	hits      int
	workers   int
	out       string
	resume    string
	bound     int
	schedules int
}

func newHunt() *cobra.Command {
	var f huntFlags
	cmd := &cobra.Command{
		Use:   "hunt NAME|FILE",
		Short: "Look for a run that breaks a promise, and make its story short",
		Long: `Run a scenario with many seeds until a check that it names is violated. The faults
of its "faults" line are drawn from each seed. Each violation is reported with the
kinds of fault that it needs, and the shortest story is written as a scenario file:
plain "at" lines, which "locksim replay FILE" runs again.

Without a faults line and without --faults, every kind of fault is drawn. All
cores are used; what is found depends on the seeds alone. Ctrl-C ends the hunt
with what it has found and the command that resumes it.

With --strategy exhaustive or pct nothing has a time: the hunt runs orders of what
can happen, with faults of the "faults" line or --faults only. Nothing is drawn in
them: the file has no ranges, its faults have no amounts, and clocks only leap
forward ("locksim help scenario" ends with it). The first order that violates a
check is written as it is, as a file of "order" lines; it is not made shorter. Such
a hunt cannot be resumed, and takes no --need and no --hits.

A hunt that comes to its end without a verdict on a check with any run has exit code
1, as "locksim run" has: what is expected was never put to the test.

"locksim help scenario" tells what a file may say, and lists the kinds of fault.`,
		Example: `  locksim hunt contention --seeds 10000 --faults pause
  locksim hunt ./my.scenario --root 7 --strategy anchored`,
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (f.strategy == exhaustive || f.strategy == pct) && !cmd.Flags().Changed("resume") {
				return f.ordered(cmd, args)
			}
			h, err := f.hunt(cmd, args)
			if err != nil {
				return err
			}
			return h.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.seeds, "seeds", 10_000, "how many seeds to try at most")
	flags.Uint64Var(&f.root, "root", 0, "the seeds to try: root 7 has 7000000000, 7000000001, … (default: drawn)")
	flags.StringVar(&f.strategy, "strategy", "", "how faults are timed: "+strings.Join(sim.Strategies, ", ")+
		" (default: drawn for each seed); or without times: exhaustive, every order of what can happen within the"+
		" bound, or pct, as many orders by random priorities as there are seeds")
	flags.IntVar(&f.bound, "bound", 1, "with --strategy exhaustive or pct: how many faults may strike")
	flags.IntVar(&f.schedules, "schedules", 0, "with --strategy exhaustive: how many schedules to run before the bound"+
		" counts as too large (default: 2 million, or fewer if there seem to be far more)")
	flags.StringSliceVar(&f.faults, "faults", nil, "kinds of fault to draw, or all (default: the file's)")
	flags.StringSliceVar(&f.checks, "check", nil, "checks whose violation counts (default: all of the \"expect\" line)")
	flags.StringVar(&f.need, "need", "", "kind of fault that each violation must need: there is none without it")
	flags.IntVar(&f.hits, "hits", 3, "how many violations to look for; the shortest story is told")
	flags.IntVar(&f.workers, "workers", 0, "how many runs at a time (default: one for each core)")
	flags.StringVar(&f.out, "out", ".", "folder for the files that are written")
	flags.StringVar(&f.resume, "resume", "", "go on with the hunt in this file; takes no other flag but --workers")
	completeWith(cmd, "strategy", append(slices.Clone(sim.Strategies), exhaustive, pct))
	completeWith(cmd, "faults", append(sim.FaultKinds(), "all"))
	completeWith(cmd, "need", sim.FaultKinds())
	completeWith(cmd, "check", sim.Checks)
	return cmd
}

// hunt checks the flags and makes the hunt that they ask for.
func (f *huntFlags) hunt(cmd *cobra.Command, args []string) (*hunt, error) {
	h := &hunt{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), folder: f.out, workers: f.workers}
	if cmd.Flags().Changed("resume") {
		if other := changedFlag(cmd, "resume", "workers"); other != "" {
			return nil, fmt.Errorf("--%s: a hunt is resumed as it was begun: expected no flag but --resume and --workers", other)
		}
		if err := f.checkWorkers(); err != nil {
			return nil, err
		}
		return h, h.load(cmd.Context(), f.resume, args)
	}
	if err := exactlyOne(cmd, args); err != nil {
		return nil, err
	}
	for _, name := range []string{"bound", "schedules"} {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s: only a hunt of orders takes it: expected --strategy %s as well", name, exhaustive)
		}
	}
	s, err := load(cmd.Context(), args[0])
	if err != nil {
		return nil, err
	}
	if err := f.checkSeeds(); err != nil {
		return nil, err
	}
	if f.hits < 1 || f.hits > maxHits {
		return nil, fmt.Errorf("--hits %d: expected a number from 1 to %d", f.hits, maxHits)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if s, err = f.withFaults(s); err != nil {
		return nil, err
	}
	h.state = huntState{Name: s.Name, Scenario: s.Text(), Root: f.root, Seeds: f.seeds, Hits: f.hits,
		Checks: f.checks, Need: f.need, Build: buildName()}
	if !cmd.Flags().Changed("root") {
		h.state.Root = anyRoot()
	}
	if err := f.makeOut(); err != nil {
		return nil, err
	}
	return h, h.ready()
}

// makeOut makes the folder for what is found, before something is, and sees that files can
// be made there: a hunt may be long.
func (f *huntFlags) makeOut() error {
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	file, err := os.CreateTemp(f.out, ".locksim-*")
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("--out %s: no file can be made there: %w", f.out, err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// changedFlag is the name of a flag that was given and is none of these, or "".
func changedFlag(cmd *cobra.Command, but ...string) (name string) {
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if !slices.Contains(but, given.Name) {
			name = given.Name
		}
	})
	return name
}

// maxWorkers is how many runs there may be at a time.
const maxWorkers = 1000

// anyRoot is a root that will do as well as any; it is printed.
func anyRoot() uint64 { return 1 + rand.Uint64N(999_999) }

// checkSeeds checks how many seeds there are, of which root, and how many at a time.
func (f *huntFlags) checkSeeds() error {
	if f.seeds < 1 || f.seeds > explore.SeedsOfRoot {
		return fmt.Errorf("--seeds %d: expected a number from 1 to %d", f.seeds, explore.SeedsOfRoot)
	}
	if err := f.checkWorkers(); err != nil {
		return err
	}
	return checkRoot(f.root)
}

func (f *huntFlags) checkWorkers() error {
	if f.workers < 0 || f.workers > maxWorkers {
		return fmt.Errorf("--workers %d: expected a number from 0 to %d", f.workers, maxWorkers)
	}
	return nil
}

// check checks the flags that need no scenario.
func (f *huntFlags) check() error {
	if f.strategy != "" && !slices.Contains(sim.Strategies, f.strategy) {
		return fmt.Errorf("--strategy: unknown strategy %q: expected %s, %s, %s", f.strategy,
			strings.Join(sim.Strategies, ", "), exhaustive, pct)
	}
	if f.need != "" && !slices.Contains(sim.FaultKinds(), f.need) {
		return fmt.Errorf("--need: unknown kind of fault %q: expected %s", f.need, strings.Join(sim.FaultKinds(), ", "))
	}
	return nil
}

// maxHits is how many violations a hunt may look for.
const maxHits = 1000

// checkRoot reports a root that has no seeds of its own.
func checkRoot(root uint64) error {
	if root > explore.MaxRoot {
		return fmt.Errorf("--root %d: expected a number from 0 to %d", root, uint64(explore.MaxRoot))
	}
	return nil
}

// withFaults gives the scenario the faults that the flags ask for.
func (f *huntFlags) withFaults(s *sim.Scenario) (*sim.Scenario, error) {
	if len(f.faults) == 0 && len(s.Faults.Kinds) == 0 || len(f.faults) == 1 && f.faults[0] == "all" {
		f.faults = sim.FaultKindsFor(&s.World)
	}
	if len(f.faults) == 0 && f.strategy == "" {
		return s, nil
	}
	words := f.faults
	if len(words) == 0 {
		words = s.Faults.Words()
	}
	if f.strategy != "" {
		words = append(words, "strategy="+f.strategy)
	}
	c, err := s.WithFaults(words)
	if err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	return c, nil
}

// hunt is one on its way.
type hunt struct {
	out, errs io.Writer
	folder    string
	workers   int
	state     huntState
	problem   explore.Problem
	stored    time.Time
	kept      bool   // it was stored on its way
	resumed   bool   // from the file
	from      string // which is this
}

// ready reads the state's scenario.
func (h *hunt) ready() error {
	s, err := sim.ParseScenario(h.state.Name+".scenario", h.state.Scenario)
	if err != nil {
		return err
	}
	s.Name = h.state.Name
	h.problem = explore.Problem{Scenario: s, Checks: h.state.Checks}
	return nil
}

// run searches, and tells what it found.
func (h *hunt) run(ctx context.Context) error {
	started := time.Now()
	h.stored = started
	bar := newProgress(h.errs)
	first, seeds := h.state.Tried, h.state.Seeds-h.state.Tried
	if len(h.state.Found) >= h.state.Hits {
		seeds = 0 // it only has to be told
	}
	res, err := explore.Search(ctx, h.problem, explore.Options{
		Root: h.state.Root, First: first, Seeds: seeds, Hits: h.state.Hits - len(h.state.Found),
		Need: h.state.Need, Workers: h.workers,
		Progress: func(res explore.Result) {
			bar.seeds(first+res.Tried, h.state.Seeds, len(h.state.Found)+len(res.Hits))
			h.storeNowAndThen(res)
		},
	})
	bar.done()
	h.state = h.state.after(res)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	interrupted := err != nil
	if interrupted {
		ctx = context.WithoutCancel(ctx) // what was found is still told
	}
	violated, err := h.tell(ctx, res, time.Since(started))
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if interrupted || err != nil {
		if err := h.store(); err != nil {
			return err
		}
		fmt.Fprintf(h.out, "resume: locksim hunt --resume %s\n", quoteWord(h.file()))
		return errStopped
	}
	if err := h.end(); err != nil {
		return err
	}
	return judge(h.out, h.problem.Scenario, h.state.Checks, violated, h.state.neverJudged())
}
