package topology

import (
	"minikv/internal/resp"
	"minikv/server"
	"minikv/server/engine"
)

// controlCommand is the command that is not Redis's.
const controlCommand = "MINIKV"

// noAuth is Redis's answer to who has not given the password.
const noAuth = "NOAUTH Authentication required."

// control is how Config.Control answers a command.
func (n *Node) control(s *engine.Session, cmd [][]byte) server.Treatment {
	args := make([]string, len(cmd))
	for i, arg := range cmd {
		args[i] = string(arg)
	}
	proto := s.Proto
	if !s.Authenticated() {
		return server.Treatment{Answer: func() []byte { return resp.Append(nil, resp.Err(noAuth), proto) }}
	}
	return server.Treatment{Answer: func() []byte {
		return resp.Append(nil, n.topology.cfg.Control(n, args), proto)
	}}
}
