// Command bench measures minikv beside redis-server and miniredis. One
// generator sends the same bytes to each server, in alternating rounds; each
// server is a process of its own. It prints medians with their ratios,
// latencies and the server's CPU time per operation, and checks every reply
// while it measures.
//
//	go -C bench run . [--quick] [--json] [--rounds 5] [--round 250ms]
//
// Without --quick it also measures start-up, memory, the simulator, and a
// server that does nothing but answer: no server can be much faster than that
// one.
//
// It needs Linux. The generator waits for all of its connections in one thread,
// with epoll, so that it takes little of the cores that it shares with the
// servers.
//
// bench/clients is the part that needs client libraries, a program of its own: the
// quick rows do not wait until go-redis is compiled. All programs are compiled by the
// profile of cmd/minikv, which default.pgo links to: what they share is compiled once.
//
// compare.sh times the Go benchmarks of two commits against each other.
// instructions.sh counts the instructions and cache misses of a simulated
// lock/unlock cycle. profile.sh renews cmd/*/default.pgo, the profiles with
// which minikv and locksim are compiled.
package main
