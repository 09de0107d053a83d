//go:build !unix

package main

import "syscall"

// detached is what this system has of a session of one's own: nothing.
func detached() *syscall.SysProcAttr { return nil }
