//go:build !unix

package main

import "os"

// lockFile has a file for this process alone, where that can be had.
func lockFile(*os.File) error { return nil }
