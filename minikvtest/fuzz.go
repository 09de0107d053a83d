package minikvtest

import (
	"fmt"
	"testing"
)

// ofFuzz is the testing.TB of servers that a fuzz test has started before its inputs:
// while one is tried, nothing of a testing.F may be called.
type ofFuzz struct{ *testing.F }

// callable is t, so that it may be called whenever servers are used.
func callable(t testing.TB) testing.TB {
	if f, ok := t.(*testing.F); ok {
		return ofFuzz{f}
	}
	return t
}

// Helper does nothing: within the function that is fuzzed it would panic.
func (ofFuzz) Helper() {}

// Fatalf ends the test, and within the function that is fuzzed the input's, by a panic.
func (f ofFuzz) Fatalf(format string, args ...any) {
	defer func() {
		if recover() != nil {
			panic(fmt.Sprintf(format, args...))
		}
	}()
	f.F.Fatalf(format, args...)
}
