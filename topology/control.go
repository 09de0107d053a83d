package topology

import (
	"minikv/internal/resp"
	"minikv/server"
	"minikv/server/engine"
)

// controlCommand is the command that is not Redis's.
const controlCommand = "MINIKV"

// control is how Config.Control answers a command.
func (n *Node) control(s *engine.Session, cmd [][]byte) server.Treatment {
	args := make([]string, len(cmd))
	for i, arg := range cmd {
		args[i] = string(arg)
	}
	proto := s.Proto
	return server.Treatment{Answer: func() []byte {
		return resp.Append(nil, n.topology.cfg.Control(n, args), proto)
	}}
}
