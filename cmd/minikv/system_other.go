//go:build !unix

package main

import (
	"os"
	"syscall"
)

// detached is what this system has of a session of one's own: nothing.
func detached() *syscall.SysProcAttr { return nil }

// passedOn are the signals that exec passes on to its command.
var passedOn = []os.Signal{os.Interrupt}

// fromTerminal reports whether keys of a terminal send the signal, to all that runs there.
func fromTerminal(os.Signal) bool { return true }

// exitCode is the command's.
func exitCode(state *os.ProcessState) int { return state.ExitCode() }
