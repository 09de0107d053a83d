package main

import (
	"errors"
	"maps"
	"net"
	"strconv"
	"strings"

	"minikv/internal/resp"
	"minikv/server"
	"minikv/server/engine"
)

// controlMode is the command table of the control port: what clients send when
// they connect. MINIKV is answered before the table is asked.
var controlMode = engine.NewMode("control",
	[]string{"AUTH", "CLIENT", "COMMAND", "ECHO", "HELLO", "INFO", "PING", "QUIT", "RESET", "SELECT"}, nil)

// serve answers at a port of its own, which no fault strikes and which lives as
// long as the process; port 0 is a free one.
func (c *control) serve(conf *config, host string, port int, logs *logger) (*server.Server, string, error) {
	listener, err := server.Bind("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, "", listenError(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	reception := server.New(server.Config{
		Log: logs.log,
		Machine: func(limit func() string) server.Machine {
			cfg := nodeConfig(conf, limit, logs)
			cfg.Mode, cfg.Port = controlMode, address.Port
			cfg.Parameters = maps.Clone(cfg.Parameters)
			delete(cfg.Parameters, "port")    // which is the first node's
			cfg.Users, cfg.ACLFile = nil, nil // of the nodes: there are other commands here
			return engine.New(cfg)
		},
		Before: c.before,
	})
	go func() {
		if err := reception.Serve(listener); !errors.Is(err, server.ErrClosed) {
			logs.log(server.LevelWarning, err.Error())
		}
	}()
	return reception, reachable(address), nil
}

// before takes MINIKV out of what a client sends.
func (c *control) before(s *engine.Session, cmd [][]byte) (t server.Treatment, some bool) {
	if !isControl(cmd) {
		return t, false
	}
	args, proto := make([]string, len(cmd)), s.Proto
	for i, arg := range cmd {
		args[i] = string(arg)
	}
	answer := c.answer
	if !s.Authenticated() {
		answer = func([]string) resp.Value { return resp.Err("NOAUTH Authentication required.") }
	}
	return server.Treatment{Answer: func() []byte { return resp.Append(nil, answer(args), proto) }}, true
}

// refuseControl answers MINIKV where nothing can be controlled.
func refuseControl(s *engine.Session, cmd [][]byte) (t server.Treatment, some bool) {
	if !isControl(cmd) {
		return t, false
	}
	proto := s.Proto
	return server.Treatment{Answer: func() []byte { return resp.Append(nil, resp.Err(errUncontrolled), proto) }}, true
}

func isControl(cmd [][]byte) bool {
	return len(cmd[0]) == len("MINIKV") && strings.EqualFold(string(cmd[0]), "MINIKV")
}
