// Package rueidis carries lockclient over rueidis: a single server, a sentinel
// set or a cluster.
//
//	// import adapter "minikv/lockclient/rueidis"
//	rdb, err := adapter.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
//	transport, err := adapter.New(ctx, rdb)
//	client := lockclient.New(transport, lockclient.System())
//
// # Requests are sent once
//
// rueidis sends read-only commands again after a network error. This adapter
// builds every command so that rueidis takes it for a write, which it sends
// once. Only a refusal that proves that nothing was executed (MOVED, ASK) is
// followed.
//
// A client must not have a ConnLifetime, which [NewClient] refuses: when that has
// passed rueidis closes the connection, and sends again what was not answered
// within a second. Permits would be added twice.
//
// Nor must it be ReplicaOnly, which [NewClient] refuses, too: a latch that a
// replica has not heard of counts as open.
//
// A context that ends frees its caller at once.
//
// # Requests that were given up do not arrive late
//
// TCP delivers what was sent into a partition when that heals, long after its
// sender gave it up. An Unlock may then end a later hold in the same owner's
// name. The connections of [NewClient] drop what has not arrived when they are
// closed (SO_LINGER 0), and one over which nothing comes is closed after
// ConnWriteTimeout. NewClient makes that 5 s in place of rueidis's 10 s, since
// it must be at most twice lockclient's WithTimeout (3 s).
//
// Over a client of rueidis.NewClient, an Unlock or an Extend that was given up
// can arrive later than lockclient expects.
//
// # Sentinels
//
// If a machine falls silent that has both the master and the Sentinel which the
// client asks, rueidis may find no other master until one of the two is back. No
// setting is known that helps.
//
// # Subscriptions
//
// Each channel waited on has a connection of its own. When it breaks, the
// adapter connects and subscribes again, and tells the waiters that messages
// may have been missed. When nobody waits any more the connection is kept for 2
// s, for the next waiter of any channel.
//
// These connections count against the client's BlockingPoolSize (1024 by
// default); so, for a moment, do those of requests that replicas confirm.
// BlockingPoolSize must exceed the number of channels waited on; each waiter of
// a fair lock has a channel of its own. When subscriptions use up the pool, no
// lock can be taken or renewed any more.
package rueidis
