// Package topology runs several server processes at once in real time, each on
// a port of its own: independent nodes, masters with replicas, a Sentinel set or
// a cluster, as a [cluster.Plan] says.
//
// A [Topology] has the network between its nodes in its hand: how long messages
// take, which of them arrive. A [Node] can be killed and restarted, frozen and
// thawed, cut off, and its clock can be set.
//
// Each node's process is a machine that a server.Server lets one goroutine at a
// time use. What it has for other processes is fetched right after each use and
// handed to the network, which only queues; one goroutine for each node delivers
// what has arrived. No goroutine ever waits for a node while it uses another.
package topology
