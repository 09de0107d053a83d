// Package server is the TCP shell around a node: sockets, goroutines and the
// wall clock. It knows no commands; it cuts bytes into commands, gives them to
// a [Machine] (an engine.Node, or anything with its methods), and carries the
// bytes that the machine leaves for its sessions.
//
// A [Server] owns one machine. Several nodes are several Servers.
//
//   - The gate (gate.go): one goroutine at a time uses the machine. While a
//     script runs past its time limit, others are let in between two of its
//     steps, so that they can be told BUSY and can kill it.
//   - A connection (wire.go) cuts bytes into commands and has them executed.
//     Its carrier brings the bytes. On Linux one loop over epoll
//     (loop_linux.go) carries all sockets, and serves them in the order in
//     which something arrived, as Redis does. Sockets of other systems, and any
//     other net.Conn, such as a Pipe or one over TLS (secure.go), have a
//     goroutine each (lane.go); these get hold of the machine in any order. Both carriers read on while a
//     session is blocked, so that they notice when its peer leaves.
//   - A turn (wire.go) is one stay inside the gate: of all sockets that are
//     ready, or of one lane. Its output is written after the gate has been
//     left.
//   - An outbox (outbox.go) holds the bytes of one session in the order in
//     which the machine made them, whoever caused them. Nothing that sends to a
//     session ever waits for its peer: its carrier writes what is left.
//   - The timer (server.go) calls Tick when the machine's next deadline is due.
package server
