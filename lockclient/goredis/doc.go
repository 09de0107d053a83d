// Package goredis carries lockclient over go-redis: a single server, a sentinel
// set (redis.NewFailoverClient) or a cluster.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	transport, err := goredis.New(ctx, rdb)
//	client := lockclient.New(transport, lockclient.System())
//
// # Requests are sent once
//
// go-redis sends a command again after a time-out or a broken connection, up to
// three times. But a lock that one request takes twice is not freed by one
// unlock. So this adapter sends every command with NoRetry. A command is then
// sent again only after a refusal that proves it was not executed (MOVED, ASK,
// READONLY).
//
// A context that ends frees its caller at once, also when the client's
// ContextTimeoutEnabled is off.
//
// # Requests that were given up do not arrive late
//
// TCP delivers what was sent into a partition when that heals, long after its
// sender gave it up. An Unlock may then end a later hold in the same owner's
// name. So New adds a hook to the client: connections that are made from then
// on drop what has not arrived when they are closed (SO_LINGER 0).
//
// go-redis closes the connection of a request that is not answered within
// ReadTimeout, or whose context has ended if ContextTimeoutEnabled is set.
// Without ContextTimeoutEnabled, ReadTimeout (5 s by default) must be at most
// twice lockclient's WithTimeout (3 s).
//
// In a partition the server does not hear that a connection was closed. Until
// its tcp-keepalive ends it, that connection belongs to nobody, and a BLPOP on
// it may still take something. Use a separate client for commands that block.
//
// # Subscriptions
//
// Each channel waited on has a connection of its own. When that breaks, another
// one is made, and the waiters are told that messages may have been missed.
// When nobody waits any more the connection is kept for 2 s, for the next
// waiter of any channel.
package goredis
