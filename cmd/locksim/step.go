package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"minikv/lockclient"
)

// stepFlags are the flags of `locksim step`.
type stepFlags struct {
	keys, args []string
	setup      string
	walk       int
	json       bool
}

func newStep() *cobra.Command {
	var f stepFlags
	cmd := &cobra.Command{
		Use:   "step SCRIPT|FILE",
		Short: "Step through a Lua script, forwards and backwards",
		Long: `Run a script and look at each of its statements: the variables it sees, its
redis calls with their replies, and the keys it changes. In a terminal the
arrow keys walk through the run; elsewhere every step is printed.

SCRIPT is one of lockclient's, such as fair-acquire. Each comes with walks, one
for each of its branches: --walk N takes the N-th, and without --keys, --args
and --setup all of them are shown in turn. FILE is a Lua file; a script in one
long line, as clients send them, is laid out first.`,
		Example: `  locksim step fair-acquire
  locksim step mutex-release --walk 2
  locksim step ./my.lua --keys lock:1 --args 30000,me --setup before.redis`,
		Args: cobra.MatchAll(oneScript),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return scriptNames(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringSliceVar(&f.keys, "keys", nil, "KEYS, separated by commas")
	cmd.Flags().StringSliceVar(&f.args, "args", nil, "ARGV, separated by commas")
	cmd.Flags().StringVar(&f.setup, "setup", "", "file of commands to run first, one per line")
	cmd.Flags().IntVar(&f.walk, "walk", 0, "number of the walk, from 1 (default: all, or the first in a terminal)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print each run as one JSON object")
	return cmd
}

func oneScript(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("step takes one script, got %d arguments; the known ones are %s",
			len(args), strings.Join(scriptNames(), ", "))
	}
	return nil
}

// scriptNames are the names of lockclient's scripts.
func scriptNames() []string {
	names := lockclient.ShippedNames()
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "_", "-")
	}
	return names
}

func (f *stepFlags) run(cmd *cobra.Command, name string) error {
	walks, err := f.choose(cmd, name)
	if err != nil {
		return err
	}
	input, fromTerminal := cmd.InOrStdin().(*os.File)
	screen, toTerminal := cmd.OutOrStdout().(*output).Writer.(*os.File)
	if !f.json && fromTerminal && toTerminal && term.IsTerminal(int(input.Fd())) && terminal(screen) != nil {
		return view(cmd.Context(), input, screen, name, walks)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	for i, w := range walks {
		r, err := record(cmd.Context(), w.exercise)
		if err != nil {
			return err
		}
		if err := f.print(out, i, w, r); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (f *stepFlags) print(out io.Writer, i int, w walk, r *recording) error {
	if f.json {
		return json.NewEncoder(out).Encode(struct {
			About string `json:"about,omitempty"`
			*recording
		}{w.about, r})
	}
	if i > 0 {
		fmt.Fprintln(out)
	}
	writeRecording(out, w.about, r)
	return nil
}

// choose finds the script and what to run it on.
func (f *stepFlags) choose(cmd *cobra.Command, name string) ([]walk, error) {
	own := cmd.Flags().Changed("keys") || cmd.Flags().Changed("args") || cmd.Flags().Changed("setup")
	text, walks, known := "", []walk(nil), false
	if strings.ContainsAny(name, "/\\.") {
		var err error
		if text, err = readText(cmd.Context(), name); err != nil {
			return nil, err
		}
	} else if text, walks, known = lockScript(name); !known {
		return nil, unknownScript(name)
	}
	if walk := cmd.Flags().Changed("walk"); walk && (own || len(walks) == 0) {
		return nil, errors.New("--walk: only scripts of lockclient have walks: expected one of those," +
			" and no --keys, --args or --setup")
	} else if walk && (f.walk < 1 || f.walk > len(walks)) {
		return nil, fmt.Errorf("--walk %d: %s has walks 1 to %d", f.walk, name, len(walks))
	}
	if own || len(walks) == 0 {
		x := exercise{text: text, keys: f.keys, args: f.args}
		if f.setup != "" {
			setup, err := readSetup(cmd.Context(), f.setup)
			if err != nil {
				return nil, err
			}
			x.setup, x.setupFile = setup, f.setup
		}
		return []walk{{exercise: x}}, nil
	}
	if f.walk > 0 {
		return walks[f.walk-1 : f.walk], nil
	}
	return walks, nil
}

// unknownScript names the scripts that sound like name.
func unknownScript(name string) error {
	var near []string
	first, _, _ := strings.Cut(name, "-")
	for _, known := range scriptNames() {
		if strings.Contains(known, name) || strings.HasPrefix(known, first) {
			near = append(near, known)
		}
	}
	if len(near) == 0 {
		near = scriptNames()
	}
	return errors.New("there is no script " + name + "; there are " + strings.Join(near, ", ") +
		" (the name of a file needs a dot or a slash)")
}
