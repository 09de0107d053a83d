// Package lockclient is the lock library: Redisson's locks in Go, compatible
// with Redisson's current wire protocol, so that Go and Java programs contend
// for the same lock on the same keys. Most programs need no more than
//
//	err := client.Mutex("orders:42").Do(ctx, func(ctx context.Context, h *lockclient.Held) error {
//		return work(ctx)
//	})
//
// where ctx inside ends, with cause ErrLost, as soon as the lock can no longer
// be relied on.
//
// A [Client] speaks to one Redis. A [Lock] is only a name; each acquisition of
// it gives a [Held]. Locks come from [Client.Mutex], Fair, Spin, NonReentrant,
// NonReentrantFair, Fenced, Simple and both sides of RW, and from [Multi],
// [Redlock] and [HashRedlock]. There are also [Semaphore], [PermitSemaphore]
// and [Latch]. docs/redisson.md has the Go form of each call of Redisson,
// docs/acl.md the rights that an ACL user needs.
//
// Locks of one name exclude each other, whatever their kinds. An Unlock wakes
// those who wait for its own kind, as which Mutex, NonReentrant and Fenced count
// together; others look again when the TTL that they have seen ends. Only the fair
// ones know of the queue. The key of a Simple or a Redlock is a text, at which
// other kinds fail with WRONGTYPE. Java's read-write locks do not see what is
// locked as another kind: docs/anomalies.md, B31.
//
// # Nouns
//
// An owner is the identity on the wire, "uuid:n". A hold is what one owner has
// of one lock; re-entering gives another Held of the same hold.
//
// The lease is a hold's claim, which ends. The watchdog renews it, unless it
// was fixed with [Lease]. The validity of a hold is what is left of the lease
// by this client's monotonic clock, counted from before the request was sent,
// less a drift of 1 % + 2 ms.
//
// # Invariants
//
//   - A first acquisition has an owner id of its own, used by no other: giving
//     back after a lost reply cannot touch anything else.
//   - Nothing is held without a reply that says so; an acquisition of unknown
//     outcome is [ErrUnknown] and is given back in the background.
//   - A hold is lost once: when a renewal is refused, or when its validity
//     ends. No late reply revives it.
//   - Counts have no owners, but requests leave a record. A request to a
//     [Semaphore] or a [Latch] whose outcome is unknown is withdrawn or
//     repeated, and counts once.
//   - No wait depends on a message alone. The TTL that Redis reported ends it,
//     or the next look: after [WithPoll], or for locks after the lease of
//     [WithWatchdog].
//   - All waiting, time, randomness, concurrency and I/O go through [Runtime]
//     and [Transport]. Outside [System] this package starts no goroutine and
//     neither sends nor receives on a channel, and it never holds a mutex
//     across a call of a Runtime, a Transport or the user. So the simulator
//     runs this very code in virtual time.
package lockclient
