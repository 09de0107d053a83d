package cluster

import (
	"fmt"
	"strconv"
)

// Standing is a process's place in its topology.
type Standing struct {
	Role  string // master, replica or sentinel
	Epoch uint64 // the latest that it has heard of; 0 if there are none
	// State is, for a node of a cluster, what it thinks of the cluster: ok or fail. For
	// another replica it says whom it follows ("follows 1"), and for a Sentinel whom it
	// names as the first master ("names 1"), both by ID. For another master it is "".
	State string
}

// String returns the standing in a few words.
func (s Standing) String() string { return fmt.Sprintf("%s epoch=%d %s", s.Role, s.Epoch, s.State) }

// StandingOf returns where a process stands now.
func StandingOf(p Process) Standing {
	switch p := p.(type) {
	case *Sentinel:
		s := Standing{Role: "sentinel", Epoch: uint64(p.epoch)}
		if len(p.masters) > 0 {
			at := p.masters[0].currentAddress()
			s.State = "names " + strconv.Itoa(int(p.cfg.Directory.Resolve(at.host, at.port)))
		}
		return s
	case *Member:
		return p.standing()
	}
	return Standing{}
}

func (m *Member) standing() Standing {
	s := Standing{Role: "master"}
	if m.node.IsReplica() {
		s.Role = "replica"
		s.State = "follows " + strconv.Itoa(int(m.up.to))
	}
	if b, ok := m.bus.(*busNode); ok {
		s.Epoch, s.State = b.currentEpoch, b.state.String()
	}
	return s
}
