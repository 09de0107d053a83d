// Package sim is the virtual world: the shipped lock client over the shipped
// server, in deterministic virtual time.
//
// A [World] has one event queue, ordered by (virtual time, sequence). Clients
// are processes: groups of coroutines with a clock of their own, which a crash
// ends together. Nodes are engine.Nodes, each with its own clock. Between them
// is a network that delays, drops and partitions, first in first out on each
// connection. What the locks protect is a resource that can check fencing
// tokens.
//
// What is sent into a partition arrives when that has healed, as over TCP, though its
// client gave it up long ago, or has died: at once, and with pool=on, where each request
// has a connection of its own, when TCP sends it again, which may be as long after the
// heal as the request was under way before. With abort=on such a connection is closed after
// 5 s without an answer, and drops what has not arrived, as those of lockclient/goredis are.
// What a server had sent when it crashes is gone.
//
// Whatever could go two ways is a draw from a [Chooser], keyed by its stream
// and its place in it; 0 is always the dull choice. So a run is its set of
// non-zero draws, and the same seed gives the same run, byte for byte, on every
// machine.
//
// A [Scenario] is a file: a claim, a world, what is expected, a story. Its run
// is judged by the checkers of package check, which see events only: what
// clients believed, what the resource accepted.
package sim
