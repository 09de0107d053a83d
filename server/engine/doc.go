// Package engine is one Redis 7.0 node without a network: a machine that is
// called. It has no goroutine, no socket and no clock or randomness of its own;
// a shell (the TCP server, the simulator) gives it commands, time and a way out
// for its replies.
//
// A [Node] owns a keyspace and everything that belongs to the whole server:
// sessions, subscriptions, watched and tracked keys, blocked clients, the script
// cache, configuration, statistics, and the replication log. A [Session] is one
// client; its replies and pushes are appended to [Session.Out] in the order in
// which Redis would send them. A [Command] is one row of the process-wide
// table; a [Call] is one execution of it.
//
// Every command takes the same path, whether it comes from a client, from a
// transaction or from a script: lookup, arity, permissions, slots, Run, effects,
// reply (dispatch.go).
//
// Effects are what a write sends to replicas: the command itself, or what its
// handler put in its place with [Call.Replicate]. The node owns the offset and
// the log; the shell carries the bytes (effects.go, replication.go).
//
// A Node is not safe for concurrent use. Nothing that can be seen depends on
// the order of a Go map.
package engine
