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
// sent again only after a refusal that proves it was not executed: MOVED, ASK,
// and over a cluster's client READONLY. Over others READONLY, as a master replies
// that has just become a replica, is the result: nothing was taken.
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
// # Sentinels
//
// go-redis asks one Sentinel for the master, and another one only when that has
// not answered within go-redis's own limits; not when a dial has ended before,
// with its context or after DialTimeout. If a machine falls silent that has both the
// master and that Sentinel, the adapter has go-redis look aside, without that end,
// which takes 2 (MaxRetries + 1) times ReadTimeout at most. MaxRetries -1 with a
// ReadTimeout of 1 s makes that 2 s; by default it may take longer than a lease.
//
// A client with ReplicaOnly cannot keep locks: a latch that a replica has not heard
// of counts as open. New cannot see that option.
//
// # Subscriptions
//
// Each channel waited on has a connection of its own. When that breaks, another
// one is made, and the waiters are told that messages may have been missed.
// When nobody waits any more the connection is kept for 2 s, for the next
// waiter of any channel.
package goredis
