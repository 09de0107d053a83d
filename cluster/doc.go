// Package cluster is many nodes: what links engine.Nodes to each other.
//
// Like a node, everything here is a machine that is called, without goroutines,
// sockets or time of its own. The TCP shell and the simulator decide when a
// message travels; this package decides what it says.
//
// A [Process] is a node with its links, a [Member], or a Sentinel. Processes send each
// other messages over connections; a [Post] and a [Directory] are how.
//
// With a bus, from [NewBus] or a [Layout], a member is part of a cluster of slots:
// it knows the other nodes as peers, tells and hears of them by gossip over the
// Bus lane, and elects a replica in the place of a master that has failed.
package cluster
