//go:build race

package minikvtest

// slower is how many times as long everything takes under the race detector.
const slower = 10
