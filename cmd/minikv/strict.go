package main

import (
	"slices"
	"strings"
	"sync"

	"minikv/server"
)

// strictness collects the commands that clients have sent in vain: redis-server
// knows them and minikv does not.
type strictness struct {
	logs *logger

	mu       sync.Mutex
	commands []string // in the order in which they came first
}

// note is topology.Config.Unsupported.
func (s *strictness) note(node, command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.commands, command) {
		s.commands = append(s.commands, command)
		s.logs.log(server.LevelWarning, node+": "+command+": a command of redis-server that minikv does not have")
	}
}

// verdict is the error of a run in which there were such commands.
func (s *strictness) verdict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.commands) == 0 {
		return nil
	}
	return &unsupportedError{s.commands}
}

// unsupportedError ends a strict run.
type unsupportedError struct{ commands []string }

func (e *unsupportedError) Error() string {
	return "--strict: clients have sent commands of redis-server that minikv does not have: " +
		strings.Join(e.commands, ", ")
}
