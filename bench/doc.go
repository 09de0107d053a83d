// Command bench measures minikv beside redis-server and miniredis: the same
// bytes from one generator, in alternating rounds, each server in a process of
// its own. It prints medians with their ratios, the server's CPU time per
// operation and latencies, and checks every reply while it measures. It needs
// Linux: the generator waits for all of its connections in one thread, with epoll,
// so that what it takes from the cores that it shares with the servers is little.
//
//	go -C bench run . [--quick] [--json] [--rounds 5] [--round 250ms]
//
// Without --quick it also measures a server that does nothing but answer, which no server
// can be much faster than, start-up, memory and the simulator.
//
// compare.sh times the Go benchmarks of two commits against each other;
// instructions.sh counts what a simulated lock/unlock cycle takes; profile.sh renews
// the profiles by which minikv and locksim are compiled, cmd/*/default.pgo.
package main
