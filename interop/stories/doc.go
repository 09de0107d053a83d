// Package stories repeats the simulator's scenarios in real time, with
// processes of redis-server and of lockclient over TCP. What locksim says of a
// scenario must come true.
//
//   - A story is one of sim's scenarios. Its world is started as processes: a
//     server for each node, and a process for each client, which is this test's
//     own binary and does sim's workload with lockclient over go-redis.
//   - A finding is a story of the stored matrix that breaks a promise, at times
//     that processes can keep. It must break it here as well.
//   - In the profile of Redisson a client is Redisson itself, in a JVM: interop's
//     Java program Stories. Clients share one unless something happens to theirs.
//   - A link connects a client to a server, or a replica to its master. It is a
//     proxy that delays what passes as the world says, and cuts it off as
//     partitions do. Behind a cut nothing is lost unless its sender resets the
//     connection, as with TCP.
//   - In a governed world, one with Sentinels or a cluster, servers tell each
//     other and clients where they are, so there are no links. Each process has
//     an address of its own in a network namespace, and iptables cuts what goes
//     from one to another. That needs Linux and root; without them these
//     stories are left out.
//   - A step is an `at` line. Processes are paused with SIGSTOP and crash with
//     SIGKILL. A machine, testdata/machine.c, gives a process a clock that may be
//     wrong, and tells what of its append-only file a loss of power leaves.
//   - An event is what a client reports, with its time. The referee gives all
//     events, in the order of their times, to the checks of sim/check.
//
// Stories are left out, and named at the end with the reason, if they need what
// nobody does to real processes here. Of the expected checks those are left out
// that look into servers.
//
// The tests take three minutes, most of which is waiting; with INTEROP_JAVA=1
// they have Redisson too, and take ten:
//
//	REDIS_BINARY=redis-server go test ./interop/stories
package stories
