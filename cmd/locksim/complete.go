package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikv/sim"
	"minikv/sim/matrix"
)

// traces are the values of --trace.
var traces = []string{"none", "text", "jsonl"}

// completeWith has a shell complete a flag's value with words; of a list, the word
// behind the last comma.
func completeWith(cmd *cobra.Command, flag string, words []string) {
	_, list := cmd.Flags().Lookup(flag).Value.(pflag.SliceValue)
	complete := func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndex(begun, ",")+1]
		if !list {
			before = ""
		}
		var values []string
		for _, word := range words {
			if value := before + word; strings.HasPrefix(value, begun) {
				values = append(values, value)
			}
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails for what has one
}

// completeScenario completes names of scenarios, and of the matrix's cells where one
// is begun; else a shell offers files.
func completeScenario(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, prefix := range []string{matrix.Prefix, cellPrefix} {
		if !strings.HasPrefix(begun, prefix) {
			continue
		}
		for _, cell := range cellNames() {
			names = append(names, prefix+cell)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range sim.Library() {
		names = append(names, s.Name+"\t"+s.Claim)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// expected says what kinds of flag take.
var expected = map[string]string{
	"int": "a whole number", "intSlice": "whole numbers with commas between them", "uint64": "a number from 0 to 2^64-1",
	"duration": "a duration such as 60s", "bool": "true or false",
}

// sayFlag says what a flag's value should have been.
func sayFlag(_ *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		if want := expected[bad.GetFlag().Value.Type()]; want != "" {
			return fmt.Errorf("--%s %s: expected %s", bad.GetFlag().Name, bad.GetValue(), want)
		}
	}
	return err
}
