// Package matrix says which lock keeps which promise under which fault, and
// searches for the opposite.
//
// A [Row] is a file: a scenario of faults. It fixes topology, lock, lease and
// the kinds of fault, never times, targets, order or which message. Its cells
// give, for each kind of lock in each profile, the verdict that theory expects
// and the reason, both written before anything was run. A cell whose verdict
// depends on a condition is two cells, in two variants of the row.
//
// The codes of verdicts:
//
//	S, Sv      safe: beliefs never overlap, capacity and gate are kept (Sv:
//	           against others that take the same locks together)
//	U          unsafe: a run that breaks that can be found
//	U/r        exclusion breaks, the resource refuses what is stale
//	U!         exclusion breaks, and the resource accepts what is stale
//	L(t)       safe, and after the faults everybody proceeds within t
//	D          somebody waits for ever
//	LEAK       something stays taken for ever that nobody has
//	U/D        one of both
//	S D        safe, but somebody waits for ever
//	-          not applicable
//	check=v    a check by its name
package matrix
