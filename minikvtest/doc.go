// Package minikvtest runs Redis servers inside a test: one, a master with
// replicas, independent masters, a Sentinel set or a cluster. They answer as
// redis-server 7.0.15 does, and end with the test.
//
//	func TestOrders(t *testing.T) {
//		s := minikvtest.Run(t)
//		client := redis.NewClient(&redis.Options{Addr: s.Addr()})
//		…
//	}
//
// Time is the computer's, or with [Virtual] stands still until [Servers.Clock]
// is told to move: TTLs, TIME, blocking timeouts, elections, all by one clock. In a bubble of
// testing/synctest, time is the bubble's; the servers then open no port, and
// clients reach them through [Servers.DialContext] or [Node.Dial].
//
// [Servers.Inject] makes rules that strike commands of clients: an error, a
// delay, a broken connection, a lost request, a lost reply.
// [Servers.WaitBlocked] waits until clients really wait. [Servers.Locks] reads
// keys as locks, [Servers.Overlaps] tells who held one together with whom. A
// test that fails shows the last lines of what happened.
//
// A [Node] can be killed, restarted, frozen, cut off and failed over; its data
// is seeded and looked at through [Database]. Whatever cannot be done fails the test, in a
// subtest that shares servers by [Servers.In] the subtest.
//
// docs/testing.md has recipes, docs/migration-from-miniredis.md the names that
// miniredis gives to all this.
package minikvtest
