package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"minikv/server"
	"minikv/server/engine"
)

// serve runs what the configuration orders until a signal comes, clients have
// shut everything down or, if that was asked for, standard input ends.
func serve(conf *config, opts options, stdin io.Reader, stdout io.Writer) error {
	logs, err := newLogger(conf, stdout)
	if err != nil {
		return err
	}
	if err := conf.enterDirectory(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE) // as redis-server does
	logs.log(server.LevelWarning, "minikv is starting; it answers as Redis version="+engine.Version+
		", bits=64, pid="+strconv.Itoa(os.Getpid()))
	b, err := beginUnless(signals, conf, opts, logs)
	if b == nil && err == nil {
		return nil
	}
	if err != nil {
		logs.log(server.LevelWarning, err.Error())
		if logs.out != stdout {
			return err
		}
		return errLogged
	}
	removePidFile, err := writePidFile(conf)
	if err != nil {
		logs.log(server.LevelWarning, err.Error())
	}
	defer removePidFile()
	b.announce(conf, logs)
	var input <-chan struct{}
	if opts.exitWithStdin {
		input = ended(stdin)
	}
	select {
	case received := <-signals:
		logs.log(server.LevelWarning, "Received "+signalName(received)+" scheduling shutdown...")
	case <-input:
		logs.log(server.LevelWarning, "Standard input has ended, scheduling shutdown...")
	case <-b.done:
	}
	logs.log(server.LevelWarning, "User requested shutdown...")
	go insisted(signals, logs)
	err = b.close()
	logs.log(server.LevelWarning, "minikv is now ready to exit, bye bye...")
	return err
}

// beginUnless is begin unless a signal comes first, as many nodes take their time to know
// each other: then it returns neither a backend nor an error, and the process is to end.
func beginUnless(signals <-chan os.Signal, conf *config, opts options, logs *logger) (*backend, error) {
	type outcome struct {
		b   *backend
		err error
	}
	begun := make(chan outcome, 1)
	go func() {
		b, err := begin(conf, opts, logs)
		begun <- outcome{b, err}
	}()
	select {
	case o := <-begun:
		return o.b, o.err
	case received := <-signals:
		logs.log(server.LevelWarning, "Received "+signalName(received)+" before the start was complete, bye bye...")
	}
	select {
	case o := <-begun: // just now
		if o.b != nil {
			return nil, o.b.close()
		}
	default:
	}
	return nil, nil
}

// insisted exits at once when Ctrl-C is pressed during a shutdown, as redis-server does.
func insisted(signals <-chan os.Signal, logs *logger) {
	for received := range signals {
		if received == os.Interrupt {
			logs.log(server.LevelWarning, "You insist... exiting now.")
			os.Exit(exitFailure)
		}
	}
}

// announce logs what redis-server logs when it is ready.
func (b *backend) announce(conf *config, logs *logger) {
	for _, line := range b.story {
		logs.log(server.LevelNotice, line)
	}
	if conf.get("always-show-logo") == "yes" { // what is beside it, which test harnesses wait for
		_, port := conf.port()
		logs.log(server.LevelWarning, "Port: "+strconv.Itoa(port)+" PID: "+strconv.Itoa(os.Getpid()))
	}
	logs.log(server.LevelWarning, "Server initialized")
	if len(b.places.Nodes) > 0 {
		logs.log(server.LevelNotice, "Ready to accept connections")
	}
	if path := conf.get("unixsocket"); path != "" {
		logs.log(server.LevelNotice, "The server is now ready to accept connections at "+path)
	}
}

// enterDirectory makes the configured directory the working directory.
func (conf *config) enterDirectory() error {
	if err := os.Chdir(conf.get("dir")); err != nil {
		return fmt.Errorf("can't chdir to '%s': %w", conf.get("dir"), unwrapPath(err))
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("can't chdir to '%s': %w", conf.get("dir"), err)
	}
	conf.values["dir"] = here
	return nil
}

// ended is closed when input has been read to its end.
func ended(input io.Reader) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, input)
		close(done)
	}()
	return done
}

// writePidFile writes the file that was asked for, or that a daemon has by default.
func writePidFile(conf *config) (remove func(), err error) {
	path := conf.get("pidfile")
	if path == "" && isDaemon() {
		path = "/var/run/redis.pid"
	}
	if path == "" {
		return func() {}, nil
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return func() {}, fmt.Errorf("Failed to write PID file: %w", err)
	}
	return func() { _ = os.Remove(path) }, nil
}

func signalName(s os.Signal) string {
	if s == os.Interrupt {
		return "SIGINT"
	}
	return "SIGTERM"
}
