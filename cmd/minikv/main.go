package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"minikv/server/engine"
)

// Exit codes, those of redis-server.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // of the options that redis-server does not have
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: arguments in, exit code out.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if len(args) > 0 && args[0] == "diff" {
		root, args = newDiff(), args[1:]
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	var bad *configError
	var misused *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers):
		return exitFailure
	case errors.As(err, &misused):
		fmt.Fprintln(stderr, "minikv:", misused)
		return exitUsage
	case errors.As(err, &bad):
		fmt.Fprint(stderr, bad.report())
	case !errors.Is(err, errLogged):
		fmt.Fprintln(stderr, "minikv:", err)
	}
	return exitFailure
}

// errLogged is a failure that the log has told about.
var errLogged = errors.New("logged")

// newRoot is the only command. Its arguments are redis-server's, whose options
// may be any line of redis.conf; cobra's flags cannot say that.
func newRoot() *cobra.Command {
	return &cobra.Command{
		Use:   "minikv [/path/to/redis.conf] [options] [-]",
		Short: "A Redis server emulator that answers as redis-server " + engine.Version + " does",
		Long: `minikv answers as redis-server ` + engine.Version + ` does, and keeps its data in memory only.

It takes redis-server's arguments: a configuration file, "-" for a configuration
on standard input, and any directive of redis.conf as an option. Directives
without a meaning here, such as those of persistence, are kept for CONFIG GET.

Several nodes run in one process, on the port and those after it: masters, then
replicas in their masters' order, then Sentinels.
  --nodes N        N independent masters
  --replicas N     a master with N replicas
  --sentinel MxR   M masters with R replicas each, and three Sentinels
  --cluster MxR    a cluster of M masters with R replicas each`,
		Example: `  minikv
  minikv --port 7777 --bind 127.0.0.1
  minikv --cluster 3x1 --port 7000
  minikv /etc/redis/6379.conf --loglevel verbose
  echo 'requirepass secret' | minikv -
  minikv diff 127.0.0.1:6379 commands.txt   (compares it with redis-server; see minikv diff --help)`,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagParsing:    true,
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				switch args[0] {
				case "-h", "--help":
					return cmd.Help()
				case "-v", "--version":
					fmt.Fprintln(cmd.OutOrStdout(), version())
					return nil
				}
			}
			conf, err := parseArguments(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := conf.checkSupported(); err != nil {
				return err
			}
			plan, several, err := conf.topology()
			if err != nil {
				return err
			}
			if conf.daemonize() && !isDaemon() {
				return startDaemon()
			}
			if several {
				return serveTopology(conf, plan, cmd.OutOrStdout())
			}
			return serve(conf, cmd.OutOrStdout())
		},
	}
}

// version begins like redis-server's, for programs that read it.
func version() string {
	return "Redis server v=" + engine.Version + " sha=00000000:0 malloc=go bits=64 build=minikv " +
		"(this is minikv, which answers as that version does)"
}
