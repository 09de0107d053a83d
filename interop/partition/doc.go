// Package partition has real clients and servers in a network that is really
// cut. It tests on them what the simulator's network assumes about TCP.
//
// The tests start themselves again in a network namespace of their own, which
// has only the loopback interface: nothing is seen outside, and nothing is left
// when the process has ended, however it ends. That needs Linux, root, ip and
// iptables. The tests are skipped where one of these is missing, or when
// INTEROP_PARTITION is not set; interop/run.sh sets it.
//
//   - A place is where a client stands: an address of its own. What goes from
//     there to the servers, or back, can be cut off and healed. That touches
//     nobody else, so the tests, which mostly wait, run side by side.
//   - A watcher is told by the server of all that is executed (MONITOR), over a
//     connection that is never cut.
//   - A client is lockclient over go-redis or rueidis, with their default
//     options, or over rueidis with those of NewClient of the adapter.
//
// What is dropped is sent again by the kernel, and by nobody else. The pauses
// between its attempts double. So what waits for a heal arrives at the latest
// when twice the time between its sending and the heal has passed since it was
// sent. The tests demand that bound and give a busy machine a few seconds more;
// they demand no shorter time.
package partition
