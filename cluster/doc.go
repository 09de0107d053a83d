// Package cluster is many nodes: what links engine.Nodes to each other.
//
// Like a node, everything here is a machine that is called, without goroutines,
// sockets or time of its own. The TCP shell and the simulator decide when a
// message travels; this package decides what it says.
//
// A [Process] is a node with its links, a [Member], or a [Sentinel]. Processes send each
// other messages over connections; a [Post] and a [Directory] are how.
//
// With a bus, from [NewBus] or a [Layout], a member is part of a cluster of slots:
// it knows the other nodes as peers, tells and hears of them by gossip over the
// Bus lane, and elects a replica in the place of a master that has failed.
//
// A [Sentinel] is a client of the servers it watches: it learns from INFO, PING and
// what other Sentinels publish, and acts by REPLICAOF. Its files follow sentinel.c: whom it
// watches (sentinel_instance.go), over which connections (_link), what it reads
// (_info, _hello), whom it believes to be down (_down), whom it promotes (_failover), what it
// tells (_event, _show) and is told (_commands, _set).
package cluster
