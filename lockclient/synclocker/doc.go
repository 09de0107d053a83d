// Package synclocker makes a sync.Locker of a lockclient.Lock, for code that
// takes nothing else.
//
//	locker := synclocker.New(ctx, client.Mutex("cache"), func(err error) { log.Panic(err) })
//
// A sync.Locker cannot say that a lock was not taken or was lost, or who holds
// it. Code that can choose uses Lock.Do.
package synclocker
