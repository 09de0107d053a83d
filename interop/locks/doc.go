// Package locks compares minikv with redis-server by means of other people's
// lock libraries: in every case that the author of a library would want to
// test, both servers must give the same answers.
//
//   - A worker is a program that uses the libraries of one language as it is
//     told line by line (interop/go/worker says how). interop/run.sh builds the
//     workers and runs the tests; without it they are skipped.
//   - A client is a library in a worker. Its parties are A, which the fault of
//     a case strikes; B, which wants the same lock; and C, which only looks
//     whether it is free.
//   - A front stands between a party and the server. It can cut the party off,
//     and lead it to another server.
//   - A world is a master with a replica, of minikv or of redis-server, and the
//     means to lose a reply, end leases and fail over there. minikv has the
//     command MINIKV for that; redis-server needs a front of its own, PEXPIRE
//     and SIGKILL.
//   - A case is what happens to a lock. It gives a line of text: what was
//     answered and what was left on the server.
//
// docs/interop.md has the lines of all clients in all cases. A test fails when
// the lines of the two servers differ, or differ from those of the document.
//
// No lease is so short that a slow machine could end it: all last a minute. A
// case that needs the end of one moves the server's clock, on minikv, or has
// the server end it, on redis-server.
package locks
