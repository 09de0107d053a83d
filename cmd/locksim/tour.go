package main

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/trace"
)

// tourLines is how many lines of a trace the tour shows.
const tourLines = 12

// tourIntro tells how to read what follows.
const tourIntro = `Clients c1, c2, … take locks on Redis masters m1, … with replicas r1, …, in virtual time.
Each scenario below shows its claim, the lines of its trace that decided (seconds, event
number, what happened), and its verdicts on these promises:
  exclusion  no two clients believe at the same time that they hold a lock
  fencing    the resource that the lock protects applies no stale write
  progress   whoever asks for a lock gets it within a bound
  lease      a crashed holder's lock is free when its TTL has passed, and no sooner
  order      a fair lock goes to its waiters in the order in which they asked
  capacity   no more permits of a semaphore are believed taken than it has
A script that acquires replies nil, or -1 and a token, when it has granted the lock; else the
TTL of the present holder in ms.

`

// runTour runs the scenarios of the tour: claim, decisive lines, verdict.
func runTour(cmd *cobra.Command, _ []string) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	lua := sim.NewLua()
	started := time.Now()
	differ, list := 0, sim.Tour()
	fmt.Fprint(out, tourIntro)
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
	fmt.Fprintln(out, "Look at them in a browser, and change what happens: locksim serve")
	fmt.Fprintln(out,
		"More: locksim list, locksim run NAME [--seed N] [--clients N] [--for 60s] [--trace text|jsonl|none]")
	if differ > 0 {
		return errDiffers
	}
	return nil
}
