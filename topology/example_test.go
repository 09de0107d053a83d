package topology_test

import (
	"fmt"
	"log"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/topology"
)

// A lease ends when the clock is moved; and a replica that has not heard of a lock grants
// it again when it takes over.
func Example() {
	top, err := topology.Start(topology.Config{
		Plan:     cluster.Plan{Masters: 1, Replicas: 1},
		InMemory: true, // clients come by Dial; else each node has a port
		Virtual:  true, // time stands still until it is moved
	})
	if err != nil {
		log.Fatal(err)
	}
	defer top.Close()
	ask := func(n *topology.Node, args ...string) {
		reply, err := n.Command(args...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.Name(), resp.Inline(reply))
	}
	m1, r1 := top.Node("m1"), top.Node("r1")

	ask(m1, "SET", "orders:42", "worker-1", "NX", "PX", "30000")
	ask(m1, "SET", "orders:42", "worker-2", "NX", "PX", "30000")
	if err := top.Clock().Advance(31 * time.Second); err != nil {
		log.Fatal(err)
	}
	if err := r1.HoldReplication(); err != nil {
		log.Fatal(err)
	}
	ask(m1, "SET", "orders:42", "worker-2", "NX", "PX", "30000")
	ask(r1, "REPLICAOF", "NO", "ONE")
	ask(r1, "SET", "orders:42", "worker-3", "NX", "PX", "30000")
	// Output:
	// m1 OK
	// m1 nil
	// m1 OK
	// r1 OK
	// r1 OK
}
