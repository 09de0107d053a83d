// Package cluster is many nodes: what links engine.Nodes to each other.
//
// Like a node, everything here is a machine that is called, without goroutines,
// sockets or time of its own. The TCP shell and the simulator decide when a
// message travels; this package decides what it says.
//
// A [Process] is either a [Member], which is a node with its links, or a
// [Sentinel]. Processes send each other messages over connections. A [Post]
// names the connections and collects the messages; a [Directory] has the
// addresses.
//
// With a bus, from a [Layout], a member is part of a cluster of
// slots. It knows the other nodes as peers and exchanges gossip with them over
// the Bus lane. When a master has failed, the masters elect a replica in its
// place.
//
// A [Sentinel] is a client of the servers that it watches. It learns from INFO,
// PING and what other Sentinels publish, and acts by REPLICAOF. Its code
// follows sentinel.c, a file for each concern:
//
//   - sentinel_instance.go: whom it watches
//   - sentinel_link.go: over which connections
//   - sentinel_info.go, sentinel_hello.go: what it reads
//   - sentinel_down.go: whom it believes to be down
//   - sentinel_failover.go: whom it promotes
//   - sentinel_event.go, sentinel_show.go: what it tells
//   - sentinel_commands.go, sentinel_set.go: what it is told
package cluster
