//go:build unix

package redisserver

import "syscall"

// Pause stops a process where it is, until Resume.
func Pause(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

// Resume lets a process go on.
func Resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
