// Package topology runs several server processes at once, each on a port of its
// own or in memory: independent nodes, masters with replicas, a Sentinel set or
// a cluster, as a [cluster.Plan] says. It has what tests need of them, for both
// package minikvtest and the control commands of cmd/minikv.
//
// A [Topology] has one [Clock], either the computer's or one that stands still
// until it is moved. It also controls the network between its nodes: how long
// messages take, and which of them arrive. A [Node] can be killed and
// restarted, frozen and thawed, cut off, and its own clock can be set.
//
// A [Fault] is a rule that strikes commands of clients: they come late, get an
// error, get lost, or their replies do. [Topology.WaitBlocked] waits until
// clients are really waiting, [Topology.Locks] reads keys as the locks that
// they are, and a [Trace] tells what has happened and who held a lock together
// with whom.
//
// Each node's process is a machine that a server.Server lets one goroutine at a
// time use. What it has for other processes is fetched right after each use and
// handed to the network, which only queues; one goroutine for each node
// delivers what has arrived. No goroutine ever waits for a node while it uses
// another. On a virtual clock nobody sets a timer: Advance goes from one thing
// that falls due to the next, and does it.
//
// A Topology and what belongs to it may be used by several goroutines at once.
package topology
