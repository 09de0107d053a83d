// Command locksim runs Redis lock clients over minikv in deterministic virtual
// time and says which lock keeps which promise. Without arguments it gives a
// tour.
package main
