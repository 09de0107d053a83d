package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	if addr := os.Getenv(asMiniredis); addr != "" {
		fmt.Fprintln(os.Stderr, serveMiniredis(addr))
		os.Exit(1)
	}
	if addr := os.Getenv(asNothing); addr != "" {
		fmt.Fprintln(os.Stderr, serveNothing(addr))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	var s settings
	measure := false
	cmd := newCommand(&s, &measure)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n\n%s", err, cmd.UsageString())
		os.Exit(2)
	}
	if !measure {
		return // it has told how it is used
	}
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the command's flags.
type settings struct {
	quick  bool
	json   bool
	rounds int
	length time.Duration
	save   bool
}

// quickRound is short enough for all quick rounds to take 14 s.
const quickRound = 150 * time.Millisecond

// newCommand reads the arguments into s, and notes whether there is to be measured.
func newCommand(s *settings, measure *bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "bench",
		Short:         "Measure minikv beside redis-server and miniredis",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.quick && !cmd.Flags().Changed("round") {
				s.length = quickRound
			}
			switch {
			case s.rounds < 1:
				return fmt.Errorf("--rounds %d: expected 1 or more", s.rounds)
			case s.length < time.Millisecond:
				return fmt.Errorf("--round %v: expected 1ms or more", s.length)
			}
			*measure = true
			return nil
		},
	}
	cmd.Flags().BoolVar(&s.quick, "quick", false, "only the rows that have floors, in under 45 s")
	cmd.Flags().BoolVar(&s.json, "json", false, "print one JSON object a line")
	cmd.Flags().BoolVar(&s.save, "save", false, "keep the results in results/ and draw them")
	cmd.Flags().IntVar(&s.rounds, "rounds", 5, "alternating rounds of each row, at least 5 for a median worth quoting")
	cmd.Flags().DurationVar(&s.length, "round", 250*time.Millisecond,
		"length of one round on one server; with --quick 150ms")
	return cmd
}

// rows are what is measured: those that have floors and, with the program of clients,
// the others.
func rows(clients string) ([]row, error) {
	fair, err := fairRounds()
	if err != nil {
		return nil, err
	}
	rw, err := readWriteRounds()
	if err != nil {
		return nil, err
	}
	list := []row{
		{lockRounds(), 50, 1}, {lockRounds(), 50, 16}, {lockRounds(), 50, 64}, {fair, 50, 16}, {rw, 50, 16},
		{setGet(), 50, 16},
	}
	if clients != "" {
		list = append(list,
			row{lockClient(clients, "alone"), 1, 1}, row{lockClient(clients, "contended"), 50, 1},
			row{setGet(), 50, 1}, row{hincrby(), 50, 1}, row{hincrby(), 50, 16},
			row{fanOut(), 1000, 1}, row{scriptLoad(), 50, 1})
	}
	return list, nil
}

func run(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clients, err := buildClients(dir, s)
	if err != nil {
		return err
	}
	targets, err := startTargets(dir)
	defer func() {
		for _, t := range targets {
			t.stop()
		}
	}()
	if err != nil {
		return err
	}
	list, err := rows(clients)
	if err != nil {
		return err
	}
	out := newReport(s.json, targets)
	var begin []fact
	if !s.quick {
		if begin, err = beginnings(targets); err != nil {
			return err
		}
	}
	for _, r := range list {
		results, err := measureRow(ctx, targets, r, s)
		if err != nil {
			return fmt.Errorf("%s: %w", r.load.name, err)
		}
		out.row(r, results)
	}
	if !s.quick {
		bounds, err := limit(ctx, targets, s)
		if err != nil {
			return err
		}
		simulated, err := simulator(ctx, clients, targets[len(targets)-1], 4*s.length)
		if err != nil {
			return err
		}
		for _, f := range slices.Concat(begin, bounds, simulated) {
			out.fact(f)
		}
	}
	if s.save {
		return save(s, targets, out.lines, out.facts)
	}
	return nil
}

// beginnings are facts of servers that have done nothing yet: later they have memory of
// connections that have ended, and serve new ones from it.
func beginnings(targets []*target) (facts []fact, err error) {
	for _, t := range targets {
		bytes, err := perConnection(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		facts = append(facts, fact{t.name + " first answer", float64(t.startup.Microseconds()), "µs"},
			fact{t.name + " idle connection", bytes, "B"})
	}
	return facts, nil
}

// measureRow measures a row on all targets, round by round in turn.
func measureRow(ctx context.Context, targets []*target, r row, s settings) ([][]sample, error) {
	generators := make([]generator, len(targets))
	results := make([][]sample, len(targets))
	for i, t := range targets {
		g, err := newGenerator(t, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		defer g.close()
		generators[i] = g
	}
	for round := -1; round < s.rounds; round++ {
		for i, g := range generators {
			if ctx.Err() != nil {
				return nil, errors.New("interrupted")
			}
			length := s.length
			if round < 0 {
				length /= 4 // to warm up; not counted
			}
			one, err := g.measure(length)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", targets[i].name, err)
			}
			if round >= 0 {
				results[i] = append(results[i], one)
			}
		}
	}
	return results, nil
}
