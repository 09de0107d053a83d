package main

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minikv/internal/trace"
	"minikv/sim"
)

// tourLines is how many lines of a trace the tour shows.
const tourLines = 12

// runTour runs every embedded scenario: claim, decisive lines, verdict.
func runTour(cmd *cobra.Command, _ []string) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	lua := sim.NewLua()
	started := time.Now()
	differ, list := 0, sim.Library()
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		var events []trace.Event
		report, err := s.Run(cmd.Context(), sim.Options{Seed: s.Seed, Details: true, Lua: lua,
			Observe: func(e *trace.Event, _ []string) { events = append(events, *e) }})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(out, "%s\n", s.Claim)
		for _, e := range sim.Decisive(events, report.Results, tourLines) {
			fmt.Fprintf(out, "  %s\n", e.AppendText(nil, report.Names))
		}
		writeVerdicts(out, report, "  ")
		fmt.Fprintf(out, "  replay: %s\n", replayCommand(s.Name, s, report))
		if !report.AsExpected() {
			differ++
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d scenarios in %.1f s: %d as expected, %d not.\n",
		len(list), time.Since(started).Seconds(), len(list)-differ, differ)
	fmt.Fprintln(out, "More: locksim list, locksim run NAME [--seed N] [--clients N] [--for 60s] [--trace text|jsonl|none]")
	if differ > 0 {
		return errDiffers
	}
	return nil
}
