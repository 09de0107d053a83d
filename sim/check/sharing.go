package check

import "minikv/trace"

// NewSharing makes Exclusion for a read-write lock: beliefs of readers, and of
// writers that only read, may overlap; those of others overlap with nobody's.
func NewSharing(name Names, reads func(trace.Actor) bool) *Exclusion {
	x := NewExclusion(name)
	x.reads = reads
	return x
}
