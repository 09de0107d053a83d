// Package failover has unmodified clients use locks while masters fail over,
// crash and restart and slots move, on a Sentinel set, on a cluster and on a
// master with replicas of minikv.
//
// The tests run the topology in process, start every client that this machine
// has on it, and then let things happen, one after the other. go-redis and
// rueidis are driven here, by lockclient; redis-py, ioredis, node-redis and
// Redisson by programs in interop/python, interop/node and interop/java.
// interop/run.sh builds those and runs the tests; without it they are skipped.
// docs/interop.md has their result.
//
//   - A workload is what every client does: of two locks, short and long, each
//     has two workers that contend for it. Who holds it draws a token from a
//     counter beside it. The short one is held for some milliseconds; the long
//     one for seconds, so that there is one who holds it while a master fails.
//   - An event is what a worker tells: that it holds now, with its token, that it
//     is about to free, or an error that its client gave it.
//   - The referee of a client sees that no two workers hold at a time and that
//     tokens grow, and counts.
//   - A fault is one thing that happens. After it each client must be granted
//     locks again.
//
// No grant may be lost here even when a master crashes, though replication is
// asynchronous: what a master has sent is delivered after its end, and it sends
// before it answers.
package failover
