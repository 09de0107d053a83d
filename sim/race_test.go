//go:build race

package sim

// raceDetector says that stacks are larger.
const raceDetector = true
