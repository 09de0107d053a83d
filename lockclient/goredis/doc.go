// Package goredis carries lockclient over go-redis: a single server, a sentinel
// set (redis.NewFailoverClient) or a cluster.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	transport, err := goredis.New(ctx, rdb)
//	client := lockclient.New(transport, lockclient.System())
//
// go-redis re-sends commands after a time-out or a broken connection, up to
// three times. A lock that is taken twice by one request is a lock that one
// unlock does not free, so this adapter sends every command with NoRetry, which
// leaves only the re-sending after a refusal that proves it was not executed
// (MOVED, ASK, READONLY). A context that ends frees its caller at once, also
// when the client's ContextTimeoutEnabled is off.
//
// What was sent into a partition would arrive when that heals, long after it was given up: an
// Unlock, when its lock is another's by then, in the same owner's name. So New adds a hook to
// the client, by which connections that are made from then on drop, when they are closed, what
// has not arrived (SO_LINGER 0). go-redis closes the connection of a request that is not
// answered after ReadTimeout, or with its context if ContextTimeoutEnabled is set: without
// that, ReadTimeout (5 s by default) must be at most twice lockclient's WithTimeout (3 s). The
// server does not hear of that in a partition either: until its tcp-keepalive it has a connection
// of nobody, whose BLPOP may take something. Who blocks has better a client for that alone.
//
// Each channel waited on has a connection of its own. When that breaks, another
// one is made, and the waiters are told that messages may have been missed. When
// nobody waits any more it is kept for 2 s, for the next who waits for anything.
package goredis
