package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"minikv/internal/memory"
	"minikv/server/engine"
)

// Exit codes. redis-server has 1 for what is exitUsage here. A command of exec
// has its own.
const (
	exitOK      = 0
	exitFailure = 1 // the answer is no: replies differ, a lock was held by two, a command is absent
	exitUsage   = 2 // arguments, configuration, files or ports that cannot be used
)

func main() {
	memory.Respect(math.MaxInt64)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: arguments in, exit code out.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, names []string) error {
		if about, _, _ := root.Find(names); about == root && len(names) > 0 {
			return fmt.Errorf("unknown command %q: \"minikv --help\" shows all", names[0])
		}
		return nil
	}
	root.InitDefaultCompletionCmd() // writes to what root's output is now
	unsaid := checkHelp(root)
	err := dispatch(root, args)
	if err == nil {
		err = *unsaid
	}
	var bad *configError
	var ended *commandError
	var unsupported *unsupportedError
	if errors.As(err, &unsupported) {
		fmt.Fprintln(stderr, "minikv:", unsupported)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers), errors.Is(err, errOverlaps):
		return exitFailure
	case errors.As(err, &ended):
		if ended.why != "" {
			fmt.Fprintln(stderr, "minikv:", ended.why)
		}
		return ended.code
	case unsupported != nil:
		return exitFailure
	case errors.As(err, &bad):
		fmt.Fprint(stderr, bad.report())
	case !errors.Is(err, errLogged):
		fmt.Fprintln(stderr, "minikv:", err)
	}
	return exitUsage
}

// checkHelp has the commands' help say by the error it returns that it could not be written.
func checkHelp(root *cobra.Command) (failed *error) {
	failed = new(error)
	write, stdout := root.HelpFunc(), root.OutOrStdout()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		cmd.SetOut(&text)
		write(cmd, args)
		_, *failed = text.WriteTo(stdout)
	})
	return failed
}

// errLogged is a failure that the log has told about.
var errLogged = errors.New("logged")

// dispatch runs the subcommand that the first argument names. All else is a
// command line of redis-server, of which cobra must take no word for its own.
func dispatch(root *cobra.Command, args []string) error {
	if len(args) > 0 {
		if args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd {
			return root.Execute()
		}
		if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] }) {
			return root.Execute()
		}
	}
	return root.RunE(root, args)
}

// newRoot is the server. Its options are redis-server's, which may be any line
// of redis.conf; cobra's flags cannot say that.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "minikv [/path/to/redis.conf] [options] [-]",
		Short: "A Redis server emulator that answers as redis-server " + engine.Version + " does",
		Long: `minikv answers as redis-server ` + engine.Version + ` does, and keeps its data in memory only.

It takes redis-server's arguments: a configuration file, "-" for a configuration
on standard input, and any directive of redis.conf as an option. Directives
that mean nothing here, such as those of persistence, are kept for CONFIG GET.

Several nodes run in one process, on the given port and those after it: masters,
then replicas in the order of their masters, then Sentinels.

Options that redis-server does not have; each is a directive of the file as well:
` + optionHelp() + `
Exit codes: 0 after a signal or SHUTDOWN, 1 if --strict found something, 2 if the
arguments, the configuration, a file or a port cannot be used.`,
		Example: `  minikv
  minikv --port 7777 --bind 127.0.0.1
  minikv --cluster 3x1 --port 7000
  minikv /etc/redis/6379.conf --loglevel verbose
  echo 'requirepass secret' | minikv -
  minikv exec --cluster 3x1 -- pytest -q`,
		Args:                  cobra.ArbitraryArgs,
		ValidArgsFunction:     completeOptions,
		DisableFlagParsing:    true,
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		RunE:                  runServer,
	}
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(newExec(), newTrace(), newDiff())
	return root
}

func runServer(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "-h", "--help":
			return cmd.Help()
		case "-v", "--version":
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		}
	}
	conf, err := parseArguments(args, cmd.InOrStdin())
	if errors.Is(err, fs.ErrNotExist) {
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Errorf("%w; or did you mean minikv %s?", err, near[0])
		}
	}
	if err != nil {
		return err
	}
	if err := conf.checkSupported(); err != nil {
		return err
	}
	opts, err := conf.options()
	if err != nil {
		return err
	}
	if opts.exitWithStdin && args[len(args)-1] == "-" {
		return errors.New("--exit-with-stdin: not possible with \"-\": the configuration is read until " +
			"the end of standard input")
	}
	if conf.daemonize() && !isDaemon() {
		return startDaemon()
	}
	return serve(conf, opts, cmd.InOrStdin(), cmd.OutOrStdout())
}

// exactly is for a subcommand that takes so many arguments.
func exactly(count int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(count)(cmd, args); err != nil {
			return fmt.Errorf("%w: expected minikv %s", err, cmd.Use)
		}
		return nil
	}
}

// optionHelp has a line for each of minikv's own directives.
func optionHelp() string {
	var text strings.Builder
	for _, d := range ownDirectives {
		fmt.Fprintf(&text, "  --%-26s %s\n", d.name+" "+d.takes, d.help)
	}
	return text.String()
}

// completeOptions is for a shell's completion; what does not begin with a dash
// is a file.
func completeOptions(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(begun, "-") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []string
	add := func(name, help string) {
		if option := "--" + name; strings.HasPrefix(option, begun) {
			found = append(found, option+"\t"+help)
		}
	}
	for _, d := range ownDirectives {
		add(d.name, d.help)
	}
	for _, name := range engine.ParameterNames() {
		add(name, "of redis.conf")
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// version begins like redis-server's, for programs that read it.
func version() string {
	return "Redis server v=" + engine.Version + " sha=00000000:0 malloc=go bits=64 build=minikv " +
		"(this is minikv, which answers as that version does)"
}
