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
//			faults delay drop lost-reply duplicate
//			run for=30s`,
//		Own: sim.Own{Lock: func(c *sim.Client) sim.Lock { return newMyLock(c) }},
//	})
//
// A client that pauses for longer than its lease, or whose clock runs slow, goes on to
// believe what has ended: with such faults (pause, client-drift, jump, …) no lock that rests
// on a lease keeps exclusion, and a search shows that instead of what may be wrong with
// yours. There expect fencing=holds, of a lock whose Held has a Token.
//
// A request whose message or reply gets lost waits until its context ends, for ever if that
// has no deadline, and a client that waits does nothing wrong any more: give each request a
// deadline (Runtime.WithDeadline), as example_test.go does. What a client believes ends by
// its Held's Lost, not by ttl=.
//
// An invariant of your own is a [minikv/sim/check.Checker] of the run's events, for
// the check called own (sim.Own's Check); invariant_test.go has one.
//
// A failed test tells the shortest story, why the promise broke in it and what would have
// saved it, and the line that replays it; the story and a page of its run are files. With
// SIMTEST_REPLAY the test runs such a file, which may have been changed, and tells the
// same of it.
//
// Client code is named that ends its goroutine (t.FailNow, package require), blocks, goes
// on for ever without waiting, gives its Transports a context of real time, or goes another
// way when a run is repeated; in the first runs, which are watched one by one, also code
// that waits in real time for some tens of milliseconds in all (time.Sleep, a channel), or
// that starts a goroutine which uses its Runtime or Transports, or has not ended a tenth of
// a second after the run. So is a lock that nobody ever gets, and a promise on which no run
// had a verdict.
package simtest
