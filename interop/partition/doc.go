// Package partition has real clients and servers in a network that is really cut, and
// holds to them what the simulator's network believes of TCP.
//
// The tests run in a network namespace of their own, in which there is only the
// loopback interface: they start themselves again in it, so that nothing of theirs is
// seen outside, and nothing of it is left when the process has ended, however it ends. That
// needs Linux, root, ip and iptables; where one is missing, or when INTEROP_PARTITION is
// not set, as interop/run.sh does, the tests are skipped.
//
//   - A place is where a client stands: an address of its own. What goes from there to
//     the servers, or back, can be cut off and healed, which touches nobody else, so the
//     tests run side by side: they mostly wait.
//   - A watcher is told by the server of all that is executed (MONITOR), over a
//     connection that is never cut.
//   - A client is lockclient over go-redis or rueidis, with their default options, or over
//     rueidis with those of NewClient of the adapter.
//
// What is dropped is sent again by the kernel, and by nobody else. The pauses between
// its attempts double, so what waits for a heal arrives at the latest when twice the time
// has passed that there was between its sending and the heal. The tests demand that
// bound and give a busy machine a few seconds more; they demand no shorter time.
package partition
