//go:build unix

package main

import (
	"os"
	"syscall"
)

// lockFile has a file for this process alone until it is closed. The error is that
// another process has it.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
