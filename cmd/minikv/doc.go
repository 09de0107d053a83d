// Command minikv is a Redis server emulator in one process: it takes
// redis-server's own arguments and configuration files, and answers its clients
// as redis-server 7.0.15 does. It keeps its data in memory only.
//
//   - main.go: the command line; config.go: redis-server's arguments and
//     configuration file; options.go, plan.go: the directives that only minikv
//     has; guess.go: what an unknown word was probably meant to be.
//   - backend.go: one server, as redis-server is; nodes.go: several servers, or
//     one that tests control; listen.go: addresses; places.go: the addresses
//     that clients and nodes are told; doors.go: the listeners, which
//     CONFIG SET port exchanges; tls.go: certificates; users.go: user lines and
//     the aclfile; files.go: reading files, and removing them; strict.go: commands
//     that are absent; recorder.go: --trace.
//   - serve.go: the life of the process, signals; log.go: lines like
//     redis-server's; daemon.go: the same program in the background.
//   - control.go: the command MINIKV; verbs.go, verbs_node.go: what it can do;
//     reception.go: the control port.
//   - exec.go: a command with servers of its own; trace.go: what --trace has
//     written; diff.go: a comparison with another server.
package main
