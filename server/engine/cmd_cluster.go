package engine

import "minikv/internal/resp"

// Commands that concern a cluster, with what a node outside of one answers,
// https://redis.io/docs/latest/commands/?group=cluster

var clusterCommands = []Command{
	{Name: "ASKING", Arity: 1, Flags: Fast, Groups: "connection", Run: runAsking},
	{Name: "CLUSTER", Arity: -2, Sub: clusterSubcommands},
	{Name: "MIGRATE", Arity: -6, Flags: Write, Groups: "keyspace dangerous", Run: orAlone(runMigrateAlone)},
	{Name: "READONLY", Arity: 1, Flags: Loading | Stale | Fast, Groups: "connection", Run: runReadOnly},
	{Name: "READWRITE", Arity: 1, Flags: Loading | Stale | Fast, Groups: "connection", Run: runReadWrite},
}

const clusterAdmin = Admin | Stale | NoAsyncLoading

var clusterSubcommands = []Command{
	ofCluster("ADDSLOTS", -3, clusterAdmin),
	ofCluster("ADDSLOTSRANGE", -4, clusterAdmin),
	ofCluster("BUMPEPOCH", 2, clusterAdmin),
	ofCluster("COUNT-FAILURE-REPORTS", 3, Admin|Stale),
	ofCluster("COUNTKEYSINSLOT", 3, Stale),
	ofCluster("DELSLOTS", -3, clusterAdmin),
	ofCluster("DELSLOTSRANGE", -4, clusterAdmin),
	ofCluster("FAILOVER", -2, clusterAdmin),
	ofCluster("FLUSHSLOTS", 2, clusterAdmin),
	ofCluster("FORGET", 3, clusterAdmin),
	ofCluster("GETKEYSINSLOT", 4, Stale),
	helpInCluster(help("CLUSTER", "", clusterHelp)),
	ofCluster("INFO", 2, Stale),
	ofCluster("KEYSLOT", 3, Stale),
	ofCluster("LINKS", 2, Stale),
	ofCluster("MEET", -4, clusterAdmin),
	ofCluster("MYID", 2, Stale),
	ofCluster("NODES", 2, Stale),
	ofCluster("REPLICAS", 3, Admin|Stale),
	ofCluster("REPLICATE", 3, clusterAdmin),
	ofCluster("RESET", -2, Admin|NoScript|Stale),
	ofCluster("SAVECONFIG", 2, clusterAdmin),
	ofCluster("SET-CONFIG-EPOCH", 3, clusterAdmin),
	ofCluster("SETSLOT", -4, clusterAdmin),
	ofCluster("SHARDS", 2, Stale),
	ofCluster("SLAVES", 3, Admin|Stale),
	ofCluster("SLOTS", 2, Stale),
}

// ofCluster is a subcommand of CLUSTER, which the cluster answers.
func ofCluster(name string, arity int, flags Flag) Command {
	alone := func(*Call) resp.Value { return resp.Err(errClusterOff) }
	return Command{Name: name, Arity: arity, Flags: flags, Run: orAlone(alone)}
}

// helpInCluster lets CLUSTER HELP be refused outside of a cluster, as all of CLUSTER is.
func helpInCluster(cmd Command) Command {
	run := cmd.Run
	cmd.Run = func(c *Call) resp.Value {
		if c.Node.cfg.Topology == nil {
			return resp.Err(errClusterOff)
		}
		return run(c)
	}
	return cmd
}

// runReadOnly is READONLY. In a script it changes nothing, as READWRITE and ASKING do there:
// each command of a script has what its client has asked for.
func runReadOnly(c *Call) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	if !c.Script {
		c.Session.readOnly = true
	}
	return resp.OK
}

// runReadWrite is READWRITE.
func runReadWrite(c *Call) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	if !c.Script {
		c.Session.readOnly = false
	}
	return resp.OK
}

// runAsking is ASKING.
func runAsking(c *Call) resp.Value {
	if c.Node.cfg.Topology == nil {
		return resp.Err(errClusterOff)
	}
	if !c.Script {
		c.Session.asking = true
	}
	return resp.OK
}
