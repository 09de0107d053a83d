//go:build unix

package main

import (
	"os"
	"syscall"
)

// detached makes a process the leader of its own session.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// passedOn are the signals that exec passes on to its command.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// fromTerminal reports whether keys of a terminal send the signal, to all that runs there.
func fromTerminal(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }

// exitCode is a shell's: 128+N after signal N.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
