package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minikv/sim/explore"
)

func newExplain() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "explain NAME|FILE",
		Short: "Say why a run breaks a promise, and what would have saved it",
		Long: `Run a scenario that violates a check and tell, in a few sentences, what led to
it, which assumption did not come true, and whether the same story violates as
well with other locks and settings. Each of these was run.`,
		Example: `  locksim explain failover_before_replication
  locksim explain ./found.scenario`,
		Args:              exactlyOne,
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("seed") {
				s.Seed = seed
			}
			e, err := explore.Explain(cmd.Context(), explore.Problem{Scenario: s})
			if err != nil {
				return err
			}
			if e == nil {
				return fmt.Errorf("%s with seed %d violates nothing: there is nothing to explain", s.Name, s.Seed)
			}
			var text strings.Builder
			writeExplanation(&text, e)
			_, err = io.WriteString(cmd.OutOrStdout(), text.String())
			return err
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of the run (default: the file's)")
	return cmd
}

func writeExplanation(out io.Writer, e *explore.Explanation) {
	fmt.Fprintln(out, strings.Join(e.Story, "\n"))
	if len(e.Broken) > 0 {
		fmt.Fprintf(out, "What did not come true: %s.\n", strings.Join(e.Broken, "; "))
	}
	if len(e.Remedies) == 0 {
		fmt.Fprintln(out, "\nThere is nothing to try that could have saved it.")
	}
	for i, r := range e.Remedies {
		if i == 0 {
			fmt.Fprintln(out, "\nThe same story again, with")
		}
		fmt.Fprintf(out, "  %-42s %s\n", r.Name+":", r.Effect(e.Result.Check))
	}
}
