// Package simtest tests a lock client of your own in simulated worlds, in which
// messages get lost, clocks jump and servers fail as a seed says.
//
// The client is written against lockclient.Transport and lockclient.Runtime,
// which the simulator's [sim.Client] gives it. [Run] looks for a run that
// breaks what the scenario expects, makes its story short, and fails the test
// with it. docs/scenarios.md lists all that a scenario may say.
//
//	simtest.Run(t, simtest.Test{
//		Scenario: `
//			world lock=own clients=3 ttl=3s hold=0s..2s think=0s..1s
//			expect exclusion=holds
//			faults delay drop lost-reply duplicate
//			run for=30s`,
//		Own: sim.Own{Lock: func(c *sim.Client) sim.Lock { return newMyLock(c) }},
//	})
//
// The client must
//   - give each request a deadline (Runtime.WithDeadline), as example_test.go does:
//     one whose message gets lost waits until its context ends, and
//   - tell by its Held's Lost when it no longer believes that it holds the lock. The
//     simulator does not end that belief after ttl=.
//
// # Which world
//
// hold= and think= had better be ranges from 0: with fixed ones clients meet at the same
// place each time, and a lost wake-up is not found. Nor is it where a later release wakes
// who has missed one: try few rounds, too, such as hold=0s..50ms think=0s..100ms rounds=3,
// and expect progress=holds. Beliefs of two tasks of one client are no overlap.
//
// # What to expect
//
// A client that pauses for longer than its lease, or whose clock runs slow,
// goes on to believe that it holds a lock whose lease has ended. With such
// faults (pause, client-drift, jump, …) no lock that rests on a lease keeps
// exclusion, and a search finds that in place of what may be wrong with yours.
// There expect fencing=holds; that takes a lock whose Held has a Token, and fence=on.
//
// An invariant of your own is a [minikv/sim/check.Checker], for the check called own
// (sim.Own's Check); invariant_test.go has two.
//
// # What a failed test tells
//
// A failed test tells the shortest story, why the promise broke, what would have saved it,
// and the line that replays it. The story and a page of its run are files. With
// SIMTEST_REPLAY the test runs such a file, which may have been changed.
//
// A test also fails, and names the client code, or its own check, if that
//   - panics, or ends its goroutine (t.FailNow, package require),
//   - blocks, or goes on for ever without waiting,
//   - gives its Transports a context of real time, or
//   - goes another way when a run is repeated.
//
// The first runs are watched one by one. In these it is also named if it
//   - waits in real time for some tens of milliseconds in all (time.Sleep), or
//   - starts a goroutine that uses its Runtime or Transports, or has not ended
//     a tenth of a second after the run.
//
// It fails as well when nobody ever gets the lock, or no run had a verdict on a promise.
package simtest
