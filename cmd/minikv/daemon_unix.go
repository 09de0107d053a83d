//go:build unix

package main

import "syscall"

// detached makes a process the leader of its own session.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
