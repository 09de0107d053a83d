// Package java has Redisson, in a JVM, and lockclient contend for the same
// locks.
//
// The folder holds a Maven project, the agent: a program that uses Redisson's
// locks as it is told line by line (agent/interop/Agent.java says how), built
// once for each version of Redisson. The tests start it beside a client of
// lockclient, on minikv and on redis-server, and hold both to the same
// contracts, in both directions. interop/run.sh builds the agent and runs the
// tests; without it they are skipped. docs/interop.md has their result.
//
//   - A party is one side of a test: lockclient here, or Redisson there. Both
//     obey the same requests, so a contract is written once.
//   - A duel is one contract between a party that holds and one that waits.
//   - A story is what happens to one thread of Redisson, over a connection that
//     records its requests and interferes with them. The same happens to the
//     simulator's model of Redisson: both must do the same.
package java
