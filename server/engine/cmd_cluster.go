package engine

import "minikv/internal/resp"

// Commands that concern a cluster, as a node outside of one answers them,
// https://redis.io/docs/latest/commands/?group=cluster

var clusterCommands = []Command{
	{Name: "ASKING", Arity: 1, Flags: Fast, Groups: "fast connection", Run: runAsking},
	{Name: "CLUSTER", Arity: -2, Groups: "slow", Run: orAlone(runCluster)},
	{Name: "READONLY", Arity: 1, Flags: Loading | Stale | Fast, Groups: "fast connection", Run: runReadOnly},
	{Name: "READWRITE", Arity: 1, Flags: Loading | Stale | Fast, Groups: "fast connection", Run: runReadWrite},
}

// runCluster is CLUSTER without cluster support: every subcommand that 7.0 has
// is refused.
func runCluster(c *Call) resp.Value {
	for _, name := range clusterSubcommands {
		if is(c.Args[1], name) {
			return resp.Err(errClusterOff)
		}
	}
	return resp.Err(errUnknownSub("CLUSTER", c.Args[1]))
}

var clusterSubcommands = []string{
	"ADDSLOTS", "ADDSLOTSRANGE", "BUMPEPOCH", "COUNT-FAILURE-REPORTS", "COUNTKEYSINSLOT", "DELSLOTS",
	"DELSLOTSRANGE", "FAILOVER", "FLUSHSLOTS", "FORGET", "GETKEYSINSLOT", "HELP", "INFO", "KEYSLOT", "LINKS", "MEET",
	"MYID", "NODES", "REPLICAS", "REPLICATE", "RESET", "SAVECONFIG", "SET-CONFIG-EPOCH", "SETSLOT", "SHARDS",
	"SLAVES", "SLOTS",
}

// runReadOnly is READONLY.
func runReadOnly(c *Call) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	c.Session.readOnly = true
	return resp.OK
}

// runReadWrite is READWRITE.
func runReadWrite(c *Call) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	c.Session.readOnly = false
	return resp.OK
}

// runAsking is ASKING.
func runAsking(c *Call) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	c.Session.asking = true
	return resp.OK
}
