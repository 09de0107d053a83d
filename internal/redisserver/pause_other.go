//go:build !unix

package redisserver

import "errors"

// Pause stops a process where it is, until Resume. Here it cannot.
func Pause(int) error { return errors.ErrUnsupported }

// Resume lets a process go on.
func Resume(int) error { return errors.ErrUnsupported }
