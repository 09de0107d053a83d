// Package failover has unmodified clients use locks while masters fail over,
// crash and restart and slots move, on a Sentinel set, on a cluster and on a
// master with replicas of minikv.
//
// The tests run the topology in process, start every client that this machine
// has on it, and then strike with one fault after the other. go-redis and
// rueidis are driven here, by lockclient; redis-py, ioredis, node-redis and
// Redisson by programs in interop/python, interop/node and interop/java.
// interop/run.sh builds those and runs the tests; without it they are skipped.
// docs/interop.md has their result.
//
//   - A workload is what every client does. It uses two locks, a short one and
//     a long one, and two workers contend for each. A worker that holds a lock
//     draws a token from a counter beside it. The short lock is held for some
//     milliseconds; the long one for seconds, so that somebody holds it while a
//     master fails.
//   - An event is what a worker reports: that it holds now, with its token;
//     that it is about to free; or an error that its client gave it.
//   - The referee of a client checks that no two workers hold at a time and
//     that tokens grow, and counts grants and errors.
//   - A fault is one thing that happens. After it each client must be granted
//     locks again.
//
// No grant may be lost here even when a master crashes, although replication is
// asynchronous: a master sends to its replicas before it answers, and what it
// has sent is delivered even after its end.
package failover
