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
// Faults, such as lost replies, lost messages and servers out of reach, are put
// between client and transport, so they need no help from the environment.
//
// Time limits allow for the stalls that an environment admits (Env.Stall).
// Without stalls a message must wake within 200 ms. Where stalls last up to 3
// s, a contract takes at most some ten seconds.
package locktest
