package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/sim/explore"
)

func newExplain() *cobra.Command {
	var seed uint64
	var check string
	cmd := &cobra.Command{
		Use:   "explain NAME|FILE",
		Short: "Say why a run breaks a promise, and what would have saved it",
		Long: `Run a scenario that violates a check and tell, in a few sentences, what led to
it, which assumption did not hold, and whether the same story still violates the
check with other locks and settings, each of which is run. If it violates several
checks, the explanation is about one that was expected to hold.`,
		Example: `  locksim explain failover_before_replication
  locksim explain ./found.scenario
  locksim explain ./found.scenario --check exclusion`,
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
			e, err := explore.Explain(cmd.Context(), explore.Problem{Scenario: s, Checks: chosen(check)})
			if err != nil {
				return err
			}
			if e == nil {
				return fmt.Errorf("%s: there is nothing to explain", violatesNothing(s, s.Seed, check))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), e.Text())
			return err
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of the run (default: the file's)")
	addCheck(cmd, &check)
	return cmd
}

// addCheck adds the flag that says which of several violations a command is about.
func addCheck(cmd *cobra.Command, check *string) {
	cmd.Flags().StringVar(check, "check", "", "check whose violation it is about (default: the first that is violated"+
		" though it is expected to hold, else the first violated)")
	completeWith(cmd, "check", sim.Checks)
}

// chosen are the checks that count; nil: all that the scenario expects something of.
func chosen(check string) []string {
	if check == "" {
		return nil
	}
	return []string{check}
}

// violatesNothing says that a run does not violate a check, or any.
func violatesNothing(s *sim.Scenario, seed uint64, check string) string {
	if check != "" {
		return fmt.Sprintf("%s with seed %d does not violate %s", s.Name, seed, check)
	}
	return fmt.Sprintf("%s with seed %d violates nothing", s.Name, seed)
}
