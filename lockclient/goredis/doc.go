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
// Each channel waited on has a connection of its own. When that breaks, another
// one is made, and the waiters are told that messages may have been missed. When
// nobody waits any more it is kept for 2 s, for the next who waits for anything.
package goredis
