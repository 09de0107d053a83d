package server

import "minikv/server/engine"

// Machine is what the shell needs of a node, see Config.Machine.
type Machine = engine.Machine
