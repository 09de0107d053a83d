// Command minikv is a Redis server emulator in one process: it takes
// redis-server's own arguments and configuration files, and answers its clients
// as redis-server 7.0.15 does. It keeps its data in memory only.
//
//   - main.go: the command; config.go: redis-server's command line and
//     configuration file.
//   - serve.go: addresses, signals, the life of the process; log.go: lines like
//     redis-server's; daemon.go: the same program in the background.
package main
