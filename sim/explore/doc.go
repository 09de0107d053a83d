// Package explore looks for runs of a scenario in which a promise is broken,
// says which fault broke it, and makes the story short.
//
// A [Problem] is a scenario and the checks whose violation counts. [Search]
// runs it with many seeds and draws a plan of faults from each. A [Hit] is a
// run that violates a check, told as a scenario with plain `at` lines. Its
// Needs are the kinds of fault without which the same run does not violate it.
// [Shrink] leaves out what a hit does not need: faults, then operations, then
// clients and servers, then digits.
//
// In a world without time only the order of what happens is chosen. [Exhaust]
// runs every order of a small world, [Sample] random orders of a larger one. What one
// server sends one client stays in its order there, messages of Pub/Sub between replies.
//
// Results depend on the problem and its seeds alone, not on how many workers
// there are; only pool.go knows of them.
package explore
