package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/sim/matrix"
	"minikv/trace"
)

// runFlags are the flags of `locksim run`.
type runFlags struct {
	seed    uint64
	clients int
	length  time.Duration
	trace   string
	html    string
	lua     bool

	events []trace.Event // for html
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run a scenario, embedded or from a file, and say what held",
		Long: `Run a scenario and print its trace, its verdicts, the hash of the run and the
command that replays it. With --trace jsonl, standard output has only the events,
one JSON object per line; the rest goes to standard error.

"locksim help scenario" tells what a file may say.`,
		Example: `  locksim run contention --seed 7
  locksim run failover_before_replication --trace jsonl > events.jsonl
  locksim run contention --clients 10000 --for 60s --trace none
  locksim run pause_outlives_lease --html pause.html
  locksim run failover_before_replication --lua
  locksim run ./my.scenario`,
		Args:              exactlyOne,
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0])
		},
	}
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the run (default: the file's)")
	cmd.Flags().IntVar(&f.clients, "clients", 0, fmt.Sprintf("number of clients, 1 to %d (default: the file's)",
		sim.MaxClients))
	cmd.Flags().DurationVar(&f.length, "for", 0, "virtual time to run, such as 60s (default: the file's)")
	cmd.Flags().StringVar(&f.trace, "trace", "text", "what to print of the run: none, text or jsonl")
	cmd.Flags().StringVar(&f.html, "html", "", "write the run to this file as a page that needs nothing else")
	cmd.Flags().BoolVar(&f.lua, "lua", false,
		"tell in the trace which line of each script decided; jsonl has every line that ran")
	completeWith(cmd, "trace", traces)
	return cmd
}

func exactlyOne(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one scenario, got %d arguments; \"locksim list\" shows the embedded ones", cmd.Name(),
			len(args))
	}
	return nil
}

func (f *runFlags) run(cmd *cobra.Command, name string) error {
	s, err := load(cmd.Context(), name)
	if err != nil {
		return err
	}
	opt, err := f.options(cmd, s)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("html") { // before a long run, not behind it
		if err := checkPage(f.html); err != nil {
			return err
		}
	}
	report, err := f.perform(cmd, s, opt)
	if err != nil {
		return err
	}
	writeSummary(f.summary(cmd), name, s, report)
	if err := f.writePage(name, s, report); err != nil {
		return err
	}
	if !report.AsExpected() {
		return errDiffers
	}
	return nil
}

// perform runs a scenario and writes its trace.
func (f *runFlags) perform(cmd *cobra.Command, s *sim.Scenario, opt sim.Options) (*sim.Report, error) {
	stdout := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	observe, err := f.tracer(stdout)
	if err != nil {
		return nil, err
	}
	opt.Observe = f.collect(observe)
	opt.Details = opt.Observe != nil
	opt.Lines = f.lua || f.html != ""
	bar, length := newProgress(cmd.ErrOrStderr()), cmp.Or(opt.For, s.For)
	opt.Tick = func(now time.Duration, events uint64, grants int) {
		bar.show(now.Milliseconds(), length.Milliseconds(), "%d grants, %d events", grants, events)
	}
	report, err := s.Run(cmd.Context(), opt)
	bar.done()
	if flushErr := stdout.Flush(); flushErr != nil {
		return nil, flushErr
	}
	return report, err
}

// replay runs a file as it stands.
func (f *runFlags) replay(cmd *cobra.Command, s *sim.Scenario) (*sim.Report, error) {
	return f.perform(cmd, s, sim.Options{Seed: s.Seed})
}

// options checks the flags and turns them into options.
func (f *runFlags) options(cmd *cobra.Command, s *sim.Scenario) (sim.Options, error) {
	opt := sim.Options{Seed: s.Seed, Clients: f.clients, For: f.length}
	if cmd.Flags().Changed("seed") {
		opt.Seed = f.seed
	}
	if cmd.Flags().Changed("clients") && (f.clients < 1 || f.clients > sim.MaxClients) {
		return opt, fmt.Errorf("--clients %d: expected a number from 1 to %d", f.clients, sim.MaxClients)
	}
	if cmd.Flags().Changed("for") && (f.length <= 0 || f.length > sim.MaxDuration) {
		return opt, fmt.Errorf("--for %v: expected a duration above 0 and at most %v", f.length, sim.MaxDuration)
	}
	return opt, s.CheckClients(f.clients)
}

// summary is where the verdicts go: out of the way of events.
func (f *runFlags) summary(cmd *cobra.Command) io.Writer {
	if f.trace == "jsonl" {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// tracer writes events as they happen; nil for --trace none.
func (f *runFlags) tracer(out *bufio.Writer) (func(*trace.Event, []string), error) {
	var line []byte
	sources := trace.Sources{}
	switch f.trace {
	case "none":
		return nil, nil
	case "text":
		return func(e *trace.Event, names []string) {
			if e.Story() {
				line = append(e.AppendText(line[:0], names), '\n')
				_, _ = out.Write(line) // the error stays in out until Flush
			}
			sources.Note(e)
			if d, ok := sources.Decision(e); ok && f.lua {
				fmt.Fprintf(out, "%19sdecided by line %d: %s\n", "", d.Line, d.Text)
			}
		}, nil
	case "jsonl":
		return func(e *trace.Event, names []string) {
			line = append(e.AppendJSON(line[:0], names), '\n')
			_, _ = out.Write(line)
		}, nil
	}
	return nil, fmt.Errorf("--trace %q: expected none, text or jsonl", f.trace)
}

// meant guesses which scenario was meant.
func meant(name string) string {
	if name == "" {
		return "" // every name begins with it
	}
	names := &cobra.Command{SuggestionsMinimumDistance: 3}
	for _, s := range sim.Library() {
		names.AddCommand(&cobra.Command{Use: s.Name, Run: func(*cobra.Command, []string) {}})
	}
	if near := names.SuggestionsFor(name); len(near) > 0 {
		return fmt.Sprintf(": did you mean %q?", near[0])
	}
	return ""
}

// load finds an embedded scenario, or reads a file.
func load(ctx context.Context, name string) (*sim.Scenario, error) {
	if cell := strings.HasPrefix(name, matrix.Prefix) || strings.HasPrefix(name, cellPrefix); cell {
		return find(name)
	}
	if !strings.ContainsAny(name, "/\\.") {
		s, err := sim.Find(name)
		if err != nil {
			return nil, fmt.Errorf("%w%s (\"locksim list\" shows all; the name of a file needs a dot or a slash)",
				err, meant(name))
		}
		return s, nil
	}
	text, err := readText(ctx, name)
	if err != nil {
		return nil, err
	}
	return sim.ParseScenario(name, text)
}
