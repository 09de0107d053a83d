package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot builds the command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "locksim",
		Short: "Watch Redis locks hold, and break, in deterministic virtual time",
		Long: `locksim drives a lock client over a Redis emulator in virtual time, through
pauses, crashes, failovers, lost messages and clocks that jump. It says which lock
keeps which promise, and replays any run from its seed, byte for byte.

Without arguments it gives a tour: each scenario's claim, the lines of the
trace that decided, and the verdict.

Exit codes: 0 every verdict is as expected, 1 one differs, 2 wrong usage,
3 a replay is not the run that was recorded, 130 interrupted.`,
		Args:          noSubcommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          runTour,
	}
	root.SuggestionsMinimumDistance = 2
	addVersion(root)
	root.AddCommand(newList(), newRun(), newHunt(), newShrink(), newReplay(), newExplain(), newStep(), newMatrix(),
		newPage(), newServe())
	topic := newReference()
	root.AddCommand(topic)
	root.SetFlagErrorFunc(sayFlag)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, names []string) error {
		_, rest, _ := root.Find(names)
		return noSubcommand(root, rest)
	}
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, directive := commands(cmd, args, begun)
		if len(args) == 0 && strings.HasPrefix(topic.Name(), begun) {
			names = append(names, topic.Name()+"\t"+topic.Short)
		}
		return names, directive
	}
	return root
}

// noSubcommand refuses stray arguments of the root command with a hint.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "\"locksim --help\" shows all"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown command %q: %s", args[0], hint)
}
