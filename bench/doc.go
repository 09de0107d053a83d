// Command bench measures minikv beside redis-server and miniredis: the same
// bytes from one generator, in alternating rounds, each server in a process of
// its own. It prints medians with their ratios, the server's CPU time per
// operation and latencies, and checks every reply while it measures.
//
//	go -C bench run . [--quick] [--json] [--rounds 5] [--round 250ms]
package main
