// Package simtest tests a lock client of your own in simulated worlds, in which
// messages get lost, clocks jump and servers fail as a seed says.
//
// The client is written against lockclient.Transport and lockclient.Runtime,
// which the simulator's [sim.Client] gives it. [Run] looks for a run that breaks
// what the scenario expects, makes its story short, and fails the test with it:
//
//	simtest.Run(t, simtest.Test{
//		Scenario: `
//			world lock=own clients=2 ttl=3s hold=1s think=1s
//			expect exclusion=holds
//			faults pause delay
//			run for=30s`,
//		Own: sim.Own{Lock: func(c *sim.Client) sim.Lock { return newMyLock(c) }},
//	})
//
// A request whose message or reply gets lost waits until its context ends, for ever if that
// has no deadline, and a client that waits does nothing wrong any more: give each request a
// deadline (Runtime.WithDeadline), as example_test.go does. What a client believes ends by
// its Held's Lost, not by ttl=.
//
// An invariant of your own is a [minikv/sim/check.Checker] of the run's events, for
// the check called own (sim.Own's Check); invariant_test.go has one.
//
// A failed test prints the line that replays it. Client code is named that ends its
// goroutine (t.FailNow, package require), blocks, goes on for ever without waiting, gives
// its Transports a context of real time, or goes another way when a run is repeated; in
// the first runs, which are watched one by one, also code that waits in real time for
// some tens of milliseconds in all (time.Sleep, a channel), or that starts a goroutine
// which uses its Runtime or Transports, or has not ended a tenth of a second after the
// run. So is a lock that nobody ever gets, and a promise on which no run had a verdict.
package simtest
