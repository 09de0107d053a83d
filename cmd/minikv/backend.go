package main

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"minikv/internal/memory"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// backend is what runs: one server, or the nodes of a topology.
type backend struct {
	places    places
	story     []string        // for the log
	done      <-chan struct{} // closed when clients' SHUTDOWN has left nothing
	end       func()
	verdict   func() error // on the run, after its end; nil: there is none
	readyFile string

	incomplete func() error // why its trace is; nil: there is none
}

// begin starts a backend and writes the ready file.
func begin(conf *config, opts options, logs *logger) (*backend, error) {
	if opts.readyFile != "" {
		if err := removeReadyFile(opts.readyFile); err != nil {
			return nil, err
		}
	}
	b, err := start(conf, opts, logs)
	if err != nil {
		return nil, err
	}
	b.places.complete()
	if opts.readyFile != "" {
		if err := b.places.write(opts.readyFile); err != nil {
			b.end()
			return nil, err
		}
		b.readyFile = opts.readyFile
	}
	return b, nil
}

// close ends what runs and leaves nothing behind. Its error may be the verdict.
func (b *backend) close() error {
	b.end()
	if b.readyFile != "" {
		if err := removeReadyFile(b.readyFile); err != nil {
			return err
		}
	}
	if b.verdict != nil {
		return b.verdict()
	}
	return nil
}

// start runs what the configuration orders. Clients can connect when it returns.
func start(conf *config, opts options, logs *logger) (*backend, error) {
	if err := conf.checkUsers(); err != nil {
		return nil, err
	}
	if opts.directed() {
		return startTopology(conf, opts, logs)
	}
	return startServer(conf, opts, logs)
}

// startServer runs one node, as redis-server does.
func startServer(conf *config, opts options, logs *logger) (*backend, error) {
	encryption, err := conf.encryption(logs)
	if err != nil {
		return nil, err
	}
	opened, err := listen(conf, opts.freePort)
	if err != nil {
		return nil, err
	}
	doors := &doors{conf: conf, encryption: encryption, logs: logs, open: map[string][]net.Listener{}}
	shell := server.New(server.Config{
		Log: logs.log,
		Machine: func(limit func() string) server.Machine {
			cfg := nodeConfig(conf, limit, logs)
			cfg.Rebind, cfg.TLS = doors.rebind, encryption != nil
			cfg.Dial = func(host string, port int, timeout time.Duration) (engine.Peer, error) {
				return doors.shell.Reach(host, port, timeout)
			}
			if conf.file != "" {
				cfg.Rewrites = systemFile(conf.file)
			}
			return engine.New(cfg)
		},
		Before: refuseControl,
	})
	doors.shell = shell
	doors.serve(opened)
	b := &backend{done: shell.ShutdownRequested(), end: shell.Close}
	first, _ := conf.port()
	b.story = []string{"Running mode=standalone, port=" + conf.get(first) + "."}
	b.places.Password = conf.get("requirepass")
	b.secure(conf)
	if listeners := opened[first]; len(listeners) > 0 { // the others are the same server
		b.places.Nodes = []string{reachable(listeners[0].Addr().(*net.TCPAddr))}
	}
	b.places.Socket = conf.get("unixsocket")
	return b, nil
}

// secure notes that the nodes speak TLS, if they do, and where its files are.
func (b *backend) secure(conf *config) {
	parameter, _ := conf.port()
	if b.places.encrypted = parameter == "tls-port"; !b.places.encrypted {
		return
	}
	if file := conf.get("tls-ca-cert-file"); file != "" {
		b.places.Authority = absolute(file)
		b.story = append(b.story, "TLS: clients may trust "+b.places.Authority)
	}
	if dir := conf.tlsDir; dir != "" {
		b.places.Cert, b.places.Key = filepath.Join(dir, clientFile), filepath.Join(dir, clientKeyFile)
	}
}

func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

func nodeConfig(conf *config, limit func() string, logs *logger) engine.Config {
	port, _ := strconv.Atoi(conf.get("port"))
	executable, _ := os.Executable()
	return engine.Config{
		Clock:      server.NewWallClock(),
		Random:     rand.Uint64,
		Lua:        luaengine.New(engine.Resolve),
		Limit:      limit,
		Sleep:      time.Sleep,
		Save:       func(file []byte) error { return writeFile(conf.get("dbfilename"), file, publicMode) },
		Log:        logs.log,
		Port:       port,
		Parameters: conf.values,
		ProcessID:  os.Getpid(),
		Executable: executable,
		ConfigFile: conf.file,
		Users:      conf.users,
		ACLFile:    conf.aclFile(),
		OS:         runtime.GOOS + " " + runtime.GOARCH,

		SystemMemory: memory.Machine(),
	}
}
