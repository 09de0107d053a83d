package simtest

import "time"

// SetPatience makes a test that blocks fail sooner.
func SetPatience(d time.Duration) (before time.Duration) {
	before, patience = patience, d
	return before
}
