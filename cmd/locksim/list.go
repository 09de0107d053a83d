package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"minikv/sim"
)

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the embedded scenarios: name, tab, claim",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := bufio.NewWriter(cmd.OutOrStdout())
			for _, s := range sim.Library() {
				fmt.Fprintf(out, "%s\t%s\n", s.Name, s.Claim)
			}
			return out.Flush()
		},
	}
}
