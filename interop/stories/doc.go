// Package stories repeats the simulator's scenarios in real time, with
// processes of redis-server and of lockclient over TCP. What locksim says of a
// scenario must come true.
//
//   - A story is one of sim's scenarios. Its world is started as processes: a
//     server for each node, and a process for each client, which is this test's
//     own binary and does sim's workload with lockclient over go-redis.
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
//     SIGKILL; a server whose clock jumps asks testdata/clock.c for the time.
//   - An event is what a client reports, with its time. The referee gives all
//     events, in the order of their times, to the checks of sim/check.
//
// Stories are left out, and named at the end, if they need what nobody does to
// real processes here: losses of power, messages that come twice, clients of
// Redisson, more than ten clients, or more than a minute and a half. Of the
// expected checks those are left out that look into servers.
//
// The tests take two minutes, most of which is waiting:
//
//	REDIS_BINARY=redis-server go test ./interop/stories
package stories
