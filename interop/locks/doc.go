// Package locks holds minikv to redis-server with the lock libraries of other
// people: what each of them answers, in every case that its author would want to
// test, must be the same on both servers.
//
//   - A worker is a program that uses the libraries of one language as it is told
//     line by line (interop/go/worker says how). interop/run.sh builds the workers
//     and runs the tests; without it they are skipped.
//   - A client is a library in a worker. Its parties are A, who is struck by what
//     happens, B, who wants the same lock, and C, who only looks whether it is free.
//   - A front stands between a party and the server. It can cut the party off,
//     and lead it to another server.
//   - A world is a master with a replica, of minikv or of redis-server, and how to
//     lose a reply, end leases and fail over there: minikv has the command MINIKV
//     for it, redis-server needs a front of its own, PEXPIRE and SIGKILL.
//   - A case is what happens to a lock. It gives a line of text: what was answered
//     and what was left on the server.
//
// docs/interop.md has the lines of all clients in all cases. A test fails when
// those of the two servers differ, or when they are no longer those of the document.
//
// No lease is so short that a slow machine could end it: all have a minute, and a
// case that needs the end of one lets the server's clock run, on minikv, or has
// the server end it, on redis-server.
package locks
