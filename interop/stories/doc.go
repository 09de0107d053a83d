// Package stories tells the simulator's stories once more in real time: to processes of
// redis-server and of lockclient, over TCP. What locksim says of a story must come true.
//
//   - A story is one of sim's scenarios. Its world is started as processes: a server for
//     each node, and a process for each client, which is this test's own binary and does
//     sim's workload with lockclient over go-redis.
//   - A link is between a client and a server, or a replica and its master: a proxy that
//     delays what passes as the world says, and cuts it off as partitions do. Behind a cut
//     nothing is lost unless who sent it resets the connection, as with TCP.
//   - In a governed world, of Sentinels or a cluster, servers tell each other and clients
//     where they are, so there are no links: each process has an address of its own, in a
//     network namespace, and iptables cuts what goes from one to another. That needs Linux
//     and root; else these stories are left out.
//   - A step is an `at` line. Processes are paused with SIGSTOP and crash with SIGKILL,
//     and a server whose clock jumps asks testdata/clock.c for the time.
//   - An event is what a client tells, with its time; the referee gives all events, in
//     the order of their times, to the checks of sim/check.
//
// Left out, and named at the end, are stories that need what nobody does to real processes
// here: losses of power, messages that come twice, clients of Redisson, more than a minute
// and a half. Of what is expected the checks are left out that look into servers.
//
// They take two minutes, in which they mostly wait:
//
//	REDIS_BINARY=redis-server go test ./interop/stories
package stories
