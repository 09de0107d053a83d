package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// newExec is the subcommand that runs a command with servers of its own.
func newExec() *cobra.Command {
	return &cobra.Command{
		Use:   "exec [options] -- COMMAND [ARGUMENT ...]",
		Short: "Run a command, such as a test suite, with servers of its own",
		Long: `exec starts servers on free ports of 127.0.0.1, runs the command, ends the servers and exits with the
command's exit code. The options are those of minikv (minikv --help). Signals go to the command.

The command finds in its environment:
  REDIS_URL              redis://127.0.0.1:PORT of the first node
  REDIS_NODES            HOST:PORT of all nodes, masters first, with commas between them
  REDIS_SENTINELS        HOST:PORT of the Sentinels, likewise; with --sentinel only
  REDIS_SENTINEL_MASTER  what the Sentinels call the masters: mymaster; with --sentinel only
  MINIKV_CONTROL         redis://127.0.0.1:PORT where MINIKV is answered; with --control only
  REDIS_TLS_CA           tls-ca-cert-file, or that of --tls; then REDIS_URL begins with rediss
  REDIS_TLS_CERT, REDIS_TLS_KEY  files of a client's certificate and key; with --tls only
A variable that does not apply is not there, even if it was set before.

Nothing is logged unless a logfile is configured.

Exit codes: the command's; 128+N if signal N has ended it; 127 if it is not found, 126 if it cannot be
run; 2 if the options cannot be used; 1 if the command's is 0 and --strict found something.`,
		Example: `  minikv exec -- pytest -q
  minikv exec --cluster 3x1 -- npm test
  minikv exec --sentinel 1x2 --requirepass secret -- mvn test
  minikv exec --cluster 3x1 --tls ./certificates -- pytest -q`,
		DisableFlagParsing:    true,
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     completeOptions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			conf, opts, words, err := parseExec(args)
			if err != nil {
				return err
			}
			command := exec.Command(words[0], words[1:]...)
			command.Stdin, command.Stdout, command.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return execute(conf, opts, command)
		},
	}
}

// parseExec reads options, "--" and a command.
func parseExec(args []string) (conf *config, opts options, words []string, err error) {
	at := slices.Index(args, "--")
	if at < 0 || at+1 == len(args) {
		return nil, opts, nil, errors.New("exec: no command: expected minikv exec [options] -- COMMAND [ARGUMENT ...]")
	}
	args, words = args[:at], args[at+1:]
	if at > 0 && args[at-1] == "-" {
		return nil, opts, nil, errors.New("exec: -: standard input is for the command: put the configuration into a file")
	}
	if conf, err = parseArguments(args, nil); err != nil {
		return nil, opts, nil, err
	}
	if err = conf.checkSupported(); err != nil {
		return nil, opts, nil, err
	}
	_, given := conf.values["port"]
	if !given {
		conf.values["port"] = "0"
	}
	if _, given := conf.values["bind"]; !given {
		conf.values["bind"] = "127.0.0.1"
	}
	if opts, err = conf.options(); err != nil {
		return nil, opts, nil, err
	}
	if _, port := conf.port(); !given && port == 0 {
		opts.freePort = true
	}
	switch {
	case conf.daemonize():
		err = errors.New("exec: --daemonize yes: not possible, as the servers end with the command")
	case opts.exitWithStdin:
		err = errors.New("exec: --exit-with-stdin yes: not possible, as the servers end with the command")
	}
	return conf, opts, words, err
}

// commandError is the end of a command that is passed on.
type commandError struct {
	code int
	why  string // to be told, or ""
}

func (e *commandError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// execute runs the command between the start and the end of the servers.
func execute(conf *config, opts options, command *exec.Cmd) error {
	if command.Err != nil {
		return cannotRun(command, command.Err)
	}
	logs, err := newLogger(conf, io.Discard)
	if err != nil {
		return err
	}
	b, err := begin(conf, opts, logs)
	if err != nil {
		return err
	}
	b.announce(conf, logs)
	command.Env = b.places.environment(os.Environ())
	err = errors.Join(await(command), b.close())
	if b.incomplete != nil {
		if cut := b.incomplete(); cut != nil { // nobody reads the log
			fmt.Fprintln(command.Stderr, "minikv:", cut)
		}
	}
	return err
}

// await starts the command and waits for its end; it passes signals on.
func await(command *exec.Cmd) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return cannotRun(command, err)
	}
	input, isFile := command.Stdin.(*os.File)
	atTerminal := isFile && term.IsTerminal(int(input.Fd()))
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case received := <-signals:
			if !atTerminal || !fromTerminal(received) { // which has sent it to the command too
				_ = command.Process.Signal(received)
			}
		case err := <-ended:
			if code := exitCode(command.ProcessState); code != exitOK {
				return &commandError{code: code}
			}
			return err
		}
	}
}

// cannotRun has the exit codes of shells.
func cannotRun(command *exec.Cmd, err error) error {
	const notFound, notRunnable = 127, 126
	name := command.Args[0]
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &commandError{notFound, fmt.Sprintf("exec: %s: command not found", name)}
	}
	return &commandError{notRunnable, fmt.Sprintf("exec: %s: cannot be run: %s", name, unwrapPath(unwrapExec(err)))}
}

func unwrapExec(err error) error {
	var inner *exec.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
