package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"minikv/cluster"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
	"minikv/topology"
)

// serve runs the server until a signal or SHUTDOWN.
func serve(conf *config, stdout io.Writer) error {
	return process(conf, stdout, func(logs *logger) (<-chan struct{}, func(), error) {
		listeners, err := listen(conf)
		if err != nil {
			return nil, nil, err
		}
		shell := server.New(server.Config{
			Log:     logs.log,
			Machine: func(limit func() string) server.Machine { return engine.New(nodeConfig(conf, limit, logs)) },
		})
		for _, listener := range listeners {
			go func() {
				if err := shell.Serve(listener); !errors.Is(err, server.ErrClosed) {
					logs.log(server.LevelWarning, err.Error())
				}
			}()
		}
		logs.log(server.LevelNotice, "Running mode=standalone, port="+conf.get("port")+".")
		return shell.ShutdownRequested(), shell.Close, nil
	})
}

// serveTopology runs several nodes until a signal, or SHUTDOWN of the last.
func serveTopology(conf *config, plan cluster.Plan, stdout io.Writer) error {
	return process(conf, stdout, func(logs *logger) (<-chan struct{}, func(), error) {
		base := nodeConfig(conf, nil, logs)
		port := base.Port
		base.Port = 0
		addresses := strings.Fields(conf.get("bind"))
		if len(addresses) == 0 {
			return nil, nil, errors.New("Configured to not listen anywhere, exiting.")
		}
		_, host := bindAddress(strings.TrimPrefix(addresses[0], "-"))
		nodes, err := topology.Start(topology.Config{
			Plan: plan, Host: host, Port: port, Node: base,
			Log: func(name string, level int, text string) { logs.log(level, name+": "+text) },
		})
		if err != nil {
			return nil, nil, err
		}
		for _, n := range nodes.Nodes() {
			logs.log(server.LevelNotice, n.Name()+" listens at "+n.Address())
		}
		return nodes.Done(), nodes.Close, nil
	})
}

// process is the life of the program around what start starts: until a signal
// comes or done is closed. Then end must be called.
func process(
	conf *config, stdout io.Writer, start func(logs *logger) (done <-chan struct{}, end func(), err error),
) error {
	logs, err := newLogger(conf, stdout)
	if err != nil {
		return err
	}
	if err := os.Chdir(conf.get("dir")); err != nil {
		return fmt.Errorf("can't chdir to '%s': %w", conf.get("dir"), err)
	}
	logs.log(server.LevelWarning, "minikv is starting; it answers as Redis version="+engine.Version+
		", bits=64, pid="+strconv.Itoa(os.Getpid()))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done, end, err := start(logs)
	if err != nil {
		logs.log(server.LevelWarning, err.Error())
		return errLogged
	}
	removePidFile, err := writePidFile(conf)
	if err != nil {
		logs.log(server.LevelWarning, err.Error())
	}
	defer removePidFile()
	logs.log(server.LevelNotice, "Ready to accept connections")
	select {
	case received := <-signals:
		logs.log(server.LevelWarning, "Received "+signalName(received)+" scheduling shutdown...")
	case <-done:
	}
	logs.log(server.LevelWarning, "User requested shutdown...")
	end()
	logs.log(server.LevelWarning, "minikv is now ready to exit, bye bye...")
	return nil
}

func nodeConfig(conf *config, limit func() string, logs *logger) engine.Config {
	port, _ := strconv.Atoi(conf.get("port"))
	executable, _ := os.Executable()
	return engine.Config{
		Clock:      server.NewWallClock(),
		Random:     rand.Uint64,
		Lua:        luaengine.New(engine.Resolve),
		Limit:      limit,
		Log:        logs.log,
		Port:       port,
		Parameters: conf.values,
		ProcessID:  os.Getpid(),
		Executable: executable,
		ConfigFile: conf.file,
		OS:         runtime.GOOS + " " + runtime.GOARCH,
	}
}

// listen opens the configured addresses and socket. The error is one line that
// says what stands in the way.
func listen(conf *config) (listeners []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
		}
	}()
	port := conf.get("port")
	for _, address := range strings.Fields(conf.get("bind")) {
		if port == "0" {
			break
		}
		optional := strings.HasPrefix(address, "-")
		network, host := bindAddress(strings.TrimPrefix(address, "-"))
		listener, err := net.Listen(network, net.JoinHostPort(host, port))
		if err != nil && optional && isUnavailable(err) {
			continue
		}
		if err != nil {
			return listeners, fmt.Errorf("Failed listening on port %s (TCP), aborting: %w", port, err)
		}
		listeners = append(listeners, listener)
	}
	if path := conf.get("unixsocket"); path != "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return listeners, err
		}
		listener, err := net.Listen("unix", path)
		if err != nil {
			return listeners, fmt.Errorf("Failed opening Unix socket: %w", err)
		}
		listeners = append(listeners, listener)
	}
	if len(listeners) == 0 {
		return nil, errors.New("Configured to not listen anywhere, exiting.")
	}
	return listeners, nil
}

// bindAddress reads an address of the bind directive; * and ::* are all
// addresses of a family.
func bindAddress(address string) (network, host string) {
	switch address {
	case "*":
		return "tcp4", "0.0.0.0"
	case "::*":
		return "tcp6", "::"
	}
	return "tcp", address
}

// isUnavailable reports whether this computer lacks an address, or its whole family.
func isUnavailable(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT)
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
