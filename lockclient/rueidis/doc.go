// Package rueidis carries lockclient over rueidis: a single server, a sentinel
// set or a cluster.
//
//	// import adapter "minikv/lockclient/rueidis"
//	rdb, err := adapter.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
//	transport, err := adapter.New(ctx, rdb)
//	client := lockclient.New(transport, lockclient.System())
//
// rueidis sends read-only commands again after a network error. This adapter
// builds every command so that rueidis takes it for a write, which it sends
// once; only a refusal that proves that nothing was executed (MOVED, ASK) is
// followed. A context that ends frees its caller at once.
//
// What was sent into a partition would arrive when that heals, long after it was given up: an
// Unlock, when its lock is another's by then, in the same owner's name. The connections of
// [NewClient] drop, when they are closed, what has not arrived (SO_LINGER 0), and one over which
// nothing comes is closed after ConnWriteTimeout: 5 s, in place of rueidis's 10 s, as it must be
// at most twice lockclient's WithTimeout (3 s). Over a client of rueidis.NewClient an Unlock or
// an Extend that was given up can come later than lockclient reckons with.
//
// Each channel waited on has a connection of its own. When it breaks, the
// adapter connects and subscribes again, and tells the waiters that messages
// may have been missed. When nobody waits any more it is kept for 2 s, for the next
// who waits for anything. These connections count against the client's
// BlockingPoolSize (1024 by default), and so do for a moment those of requests
// that replicas confirm. It must exceed the number of channels waited on, of which
// each waiter of a fair lock has one: where they take it all, no lock is taken any
// more, and none is renewed.
package rueidis
