package engine

import (
	"minikv/internal/resp"
)

// Commands of replication. What needs other nodes is answered by the handlers
// of whoever has them; a node alone has no replicas, and masters do not answer it.

var replicationCommands = []Command{
	{Name: "FAILOVER", Arity: -1, Flags: replAdmin, Run: orAlone(runFailoverAlone)},
	{Name: "PSYNC", Arity: -3, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, Run: runPsync},
	{Name: "REPLCONF", Arity: -1, Flags: replAdmin | Loading | AllowBusy, Run: runReplConf},
	{Name: "REPLICAOF", Arity: 3, Flags: replAdmin | NoAsyncLoading, Run: orAlone(runReplicaOfAlone)},
	{Name: "SLAVEOF", Arity: 3, Flags: replAdmin | NoAsyncLoading, Run: orAlone(runReplicaOfAlone)},
	{Name: "SYNC", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, Run: runPsync},
}

const (
	replAdmin = Admin | NoScript | Stale
)

// FailoverRequest is what FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]
// asks for.
type FailoverRequest struct {
	Abort, Force  bool
	Host          string // "": any replica that has caught up
	Port          int
	TimeoutMillis int64 // 0: none
}

// ParseFailover reads the arguments of FAILOVER; bad is the error text.
func ParseFailover(args [][]byte) (r FailoverRequest, bad string) {
	if len(args) == 2 && is(args[1], "ABORT") {
		return FailoverRequest{Abort: true}, ""
	}
	for i := 1; i < len(args); i++ {
		left := len(args) - i - 1
		switch {
		case is(args[i], "TIMEOUT") && left >= 1 && r.TimeoutMillis == 0:
			i++
			millis, ok := parseInt(args[i])
			if !ok {
				return r, errNotInt
			}
			if millis <= 0 {
				return r, "ERR FAILOVER timeout must be greater than 0"
			}
			r.TimeoutMillis = millis
		case is(args[i], "TO") && left >= 2 && r.Host == "":
			port, ok := parseInt(args[i+2])
			if !ok {
				return r, errNotInt
			}
			r.Host, r.Port = string(args[i+1]), int(port)
			i += 2
		case is(args[i], "FORCE") && !r.Force:
			r.Force = true
		default:
			return r, errSyntax
		}
	}
	return r, ""
}

// runFailoverAlone is FAILOVER on a node that has no replicas.
func runFailoverAlone(c *Call) resp.Value {
	request, bad := ParseFailover(c.Args)
	switch {
	case bad != "":
		return resp.Err(bad)
	case request.Abort:
		return resp.Err("ERR No failover in progress.")
	case c.Node.IsReplica():
		return resp.Err("ERR FAILOVER is not valid when server is a replica.")
	}
	return resp.Err("ERR FAILOVER requires connected replicas.")
}

// ParseReplicaOf reads the arguments of REPLICAOF host port; host is "" for NO ONE.
func ParseReplicaOf(args [][]byte) (host string, port int, bad string) {
	if is(args[1], "NO") && is(args[2], "ONE") {
		return "", 0, ""
	}
	number, ok := parseInt(args[2])
	if !ok || number < 0 || number > 65535 {
		return "", 0, "ERR Invalid master port"
	}
	return string(args[1]), int(number), ""
}

// runReplicaOfAlone is REPLICAOF on a node to which no master will answer.
func runReplicaOfAlone(c *Call) resp.Value {
	host, port, bad := ParseReplicaOf(c.Args)
	switch {
	case bad != "":
		return resp.Err(bad)
	case host == "":
		c.Node.BecomeMaster()
	case c.Node.FollowsMaster(host, port):
		return AlreadyConnected
	default:
		c.Node.BecomeReplica(host, port)
	}
	return resp.OK
}

// AlreadyConnected is the reply to a REPLICAOF that changes nothing.
var AlreadyConnected = resp.Simple("OK Already connected to specified master")
