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
// Times allow for the stalls that an environment admits (Env.Stall); without any,
// a message must wake within 200 ms. Where stalls last up to 3 s, a contract takes
// some ten seconds at most.
package locktest
