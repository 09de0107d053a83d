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
// Time. By default it is the computer's. With [Virtual] it stands still until
// [Servers.Clock] moves it: TTLs, TIME, blocking timeouts and elections follow
// that one clock. In a bubble of testing/synctest, time is the bubble's; the
// servers then open no port, and clients reach them through
// [Servers.DialContext] or [Node.Dial].
//
// Faults. [Servers.Inject] makes rules that strike commands of clients: an
// error, a delay, a broken connection, a lost request, a lost reply. A [Node]
// can be killed, restarted, frozen, cut off and failed over.
//
// Inspection. [Database] seeds the data of a node and reads it.
// [Servers.WaitBlocked] waits until clients are really waiting. [Servers.Locks]
// reads keys as locks, [Servers.Overlaps] tells who held a lock together with
// whom. A test that fails shows the last lines of what happened.
//
// Errors. A call that cannot do what it is asked fails the test that the
// servers were made for. A subtest that shares the servers of its parent uses
// [Servers.In], so that the subtest fails instead.
//
// docs/testing.md has recipes; docs/migration-from-miniredis.md lists what each
// name of miniredis is called here.
package minikvtest
