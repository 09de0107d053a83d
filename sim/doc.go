// Package sim is the virtual world: the shipped lock client over the shipped
// server, in deterministic virtual time.
//
// A [World] has one event queue, ordered by (virtual time, sequence). Clients
// are processes: groups of coroutines with a clock of their own, which a crash
// ends together. Nodes are engine.Nodes, each with its own clock. Between them
// is a network that delays, drops and partitions messages, first in first out
// on each connection. The locks protect a resource that can check fencing
// tokens.
//
// A [Scenario] is a file: a claim, a world, what is expected, a story. Its run
// is judged by the checkers of package check, which see events only: what
// clients believed, what the resource accepted.
//
// # Choices
//
// Whatever could go two ways is a draw from a [Chooser], keyed by its stream
// and its place in it; 0 is always the dull choice. So a run is its set of
// non-zero draws, and the same seed gives the same run, byte for byte, on every
// machine.
//
// # Partitions
//
// As over TCP, what is sent into a partition arrives after that has healed,
// even if its client gave it up long ago, or has died. When it arrives depends
// on options of the world line:
//
//   - By default requests share connections, and it arrives at once.
//   - With pool=on each request has a connection of its own. It arrives when
//     TCP sends it again, which may be as long after the heal as the request
//     had been under way before.
//   - With abort=on, which needs pool=on, the connection of a request that gets
//     no answer is closed after 5 s, and what has not arrived by then is
//     dropped. The connections of lockclient/goredis do the same.
//
// If a server crashes, what it had sent into a partition is gone.
package sim
