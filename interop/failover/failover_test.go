package failover

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/topology"
)

const (
	startLimit   = 2 * time.Minute        // for all clients to connect
	recoverLimit = 40 * time.Second       // from a fault to the last of the grants that it must not prevent
	settled      = 10                     // so many grants must follow
	between      = 5 * time.Millisecond   // a worker's pause after it has freed
	missedAfter  = 3 * time.Second        // a node that is silent so long is down for the others
	pollPeriod   = 100 * time.Millisecond // at which the tests look
)

// holdTimes is how long each lock is held.
var holdTimes = map[string]time.Duration{"short": 5 * time.Millisecond, "long": 4 * time.Second}

// client starts a workload on a topology; it ends with the test.
type client struct {
	name  string
	start func(t *testing.T, mode string, addresses []string) *referee
	// careless is a mode in which the client itself lets two hold at a time; "" is none.
	careless string
}

// fault is one thing that happens to a topology. do returns when it is over for
// the nodes; clients may still be busy with it.
type fault struct {
	name string
	do   func(t *testing.T, top *topology.Topology)
}

// Clients follow Sentinels from master to master.
func TestSentinel(t *testing.T) {
	top := start(t, cluster.Plan{
		Masters: 1, Replicas: 2, Sentinels: 3, DownAfter: missedAfter, FailoverTimeout: 10 * time.Second,
	})
	for _, s := range []string{"s1", "s2", "s3"} {
		// After a hold-up of two seconds they would do nothing for 30 (TILT).
		do(t, top.Node(s), "SENTINEL", "DEBUG", "TILT-TRIGGER", faultLimit.Milliseconds())
	}
	run(t, top, "sentinel", addresses(top, "s1", "s2", "s3"), allClients(t), sentinelFaults)
}

// Clients follow a cluster's slots from master to master.
func TestCluster(t *testing.T) {
	top := start(t, cluster.Plan{Masters: 3, Replicas: 1, Cluster: true})
	run(t, top, "cluster", addresses(top, "m1", "m2", "m3"), allClients(t), clusterFaults)
}

// A client that was told which node is the master gets along when nodes restart.
// Only Redisson has a mode for this.
func TestReplicas(t *testing.T) {
	top := start(t, cluster.Plan{Masters: 1, Replicas: 2})
	run(t, top, "master-slave", addresses(top, "m1", "r1", "r2"), redissons(t), replicaFaults)
}

func start(t *testing.T, plan cluster.Plan) *topology.Topology {
	if os.Getenv("INTEROP_FAILOVER") == "" {
		t.Skip("interop/run.sh builds the clients and runs this")
	}
	cfg := topology.Config{Plan: plan}
	cfg.Node.Parameters = map[string]string{"cluster-node-timeout": fmt.Sprint(missedAfter.Milliseconds())}
	top, err := topology.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(top.Close)
	return top
}

func addresses(top *topology.Topology, names ...string) (all []string) {
	for _, name := range names {
		all = append(all, top.Node(name).Address())
	}
	return all
}

// run starts the clients, lets the faults happen, and requires of each client
// that it goes on after each of them. It prints a table of the longest time
// that each client was without the short lock.
func run(
	t *testing.T, top *topology.Topology, mode string, addresses []string, clients []client, faults []fault,
) {
	if len(clients) == 0 {
		t.Skip("no client of this mode was built")
	}
	referees := make([]*referee, len(clients))
	for i, c := range clients {
		referees[i] = c.start(t, mode, addresses)
	}
	for i, c := range clients {
		referees[i].await(t, c.name+" starts", settled, time.Now().Add(startLimit))
	}
	for _, f := range faults {
		begun := time.Now()
		for _, r := range referees {
			r.begin(f.name)
		}
		f.do(t, top)
		t.Logf("%s: over for the nodes after %d ms", f.name, time.Since(begun).Milliseconds())
		recovered(t, mode, f, clients, referees, begun)
	}
	for i, c := range clients {
		referees[i].judge(t, c.name, c.careless == mode)
	}
}

// recovered waits until each client has been granted the short lock again, and
// prints a line for each.
func recovered(
	t *testing.T, mode string, f fault, clients []client, referees []*referee, begun time.Time,
) {
	before := make([]int, len(clients))
	for i, r := range referees {
		before[i], _ = r.standing()
	}
	for i, c := range clients {
		referees[i].await(t, c.name+" goes on after "+f.name, before[i]+settled, begun.Add(recoverLimit))
	}
	for i, c := range clients {
		_, gap := referees[i].standing()
		fmt.Printf("| %-16s | %-12s | %-25s | %5d ms |\n", c.name, mode, f.name, gap.Milliseconds())
	}
}
