// Package server is the TCP shell around a node: sockets, goroutines and the
// wall clock. It knows no commands; it cuts bytes into commands, gives them to
// a [Machine] (an engine.Node, or anything with its methods), and carries the
// bytes that the machine leaves for its sessions.
//
// A [Server] owns one machine. Several nodes are several Servers.
//
//   - The gate (gate.go): one goroutine at a time uses the machine, taking it
//     once for all the commands of one read. While a script runs past its time
//     limit, others are let in between two of its steps, so that they can be
//     told BUSY and can kill it.
//   - A connection (wire.go) is one goroutine that reads, executes and writes.
//     While its session is blocked it only reads, so that it sees its peer leave.
//   - An outbox (outbox.go) holds the bytes of one session in the order in which
//     the machine made them, whoever caused them. Nothing that sends to a
//     session ever waits for its peer.
//   - The timer (server.go) calls Tick when the machine's next deadline is due.
package server
