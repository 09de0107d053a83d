package cluster

import (
	"fmt"
	"maps"
	"strconv"

	"minikv/server/engine"
)

// Plan is a topology as people order it. Its processes come in the order of
// their IDs: masters m1 …, replicas r1 … in their masters' order, Sentinels s1 ….
type Plan struct {
	Masters  int // at least 1; independent of each other
	Replicas int // of each master
}

// maxProcesses bounds a topology, as a guard against slips of the hand.
const maxProcesses = 1000

// Check reports what is wrong with the plan.
func (p Plan) Check() error {
	switch {
	case p.Masters < 1:
		return fmt.Errorf("cluster: %d masters: expected at least 1", p.Masters)
	case p.Replicas < 0:
		return fmt.Errorf("cluster: %d replicas: expected at least 0", p.Replicas)
	case p.Masters > maxProcesses || p.Replicas > maxProcesses || p.Size() > maxProcesses:
		return fmt.Errorf("cluster: more than %d processes", maxProcesses)
	}
	return nil
}

// Size is the number of processes.
func (p Plan) Size() int { return p.Masters * (1 + p.Replicas) }

// Names are the names of the processes.
func (p Plan) Names() []string {
	names := make([]string, 0, p.Size())
	add := func(letter string, count int) {
		for i := range count {
			names = append(names, letter+strconv.Itoa(i+1))
		}
	}
	add("m", p.Masters)
	add("r", p.Masters*p.Replicas)
	return names
}

// MasterOf is the master that a process follows at the start; a master's is itself.
func (p Plan) MasterOf(id ID) ID {
	if int(id) <= p.Masters {
		return id
	}
	return ID((int(id)-p.Masters-1)/p.Replicas + 1)
}

// Build makes the processes, connected to each other. dir has their addresses;
// node gives each what a node alone would be made with, its parameters among it.
func (p Plan) Build(dir Directory, node func(id ID) engine.Config) []Process {
	processes := make([]Process, p.Size())
	for i := range processes {
		id := ID(i + 1)
		cfg := node(id)
		if master := p.MasterOf(id); master != id {
			host, port := dir.Endpoint(master)
			parameters := map[string]string{"replicaof": host + " " + strconv.Itoa(port)}
			maps.Copy(parameters, cfg.Parameters)
			cfg.Parameters = parameters
		}
		processes[i] = NewMember(MemberConfig{ID: id, Directory: dir, Node: cfg})
	}
	Connect(processes)
	return processes
}
