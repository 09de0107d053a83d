// Package check holds the promises of a lock, one file each, as functions of a
// run's events.
//
// A [Checker] observes every event while a run goes on and gives its verdict
// at the end. Verdicts are holds, violated and unknown; the worst wins. What a
// client believes, and what the protected resource accepted, decides; no
// checker looks inside a lock.
package check
