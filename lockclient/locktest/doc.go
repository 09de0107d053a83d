// Package locktest states what every lock of lockclient must do: one Contract
// for each property, as a function over an environment that has servers, time
// and tasks. The same contracts run over real sockets and in virtual time.
//
//	for _, kind := range locktest.Kinds() {
//		for _, contract := range locktest.Contracts() {
//			if contract.Applies(kind) {
//				err := contract.Run(env, kind) // says which clause is broken
//			}
//		}
//	}
//
// Faults are put between client and transport, so they need no help from the
// environment: replies and messages that get lost, servers out of reach.
//
// Times are generous enough for a busy machine, and no contract takes more than
// ten seconds.
package locktest
