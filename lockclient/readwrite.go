package lockclient

import (
	"context"
	"strings"
	"time"
)

// writeSuffix is what the owner of a write side has more than that of the read
// side, in Redisson's form.
const writeSuffix = ":write"

// Constant after initialisation.
var (
	readAcquire     = embedded("read_acquire")
	readRelease     = embedded("read_release")
	readRelease316  = embedded("read_release_316")
	writeAcquire    = embedded("write_acquire")
	writeRelease    = embedded("write_release")
	writeRelease316 = embedded("write_release_316")
	rwExtend        = embedded("rw_extend")
	rwForce         = embedded("rw_force")
	rwForce316      = embedded("rw_force_316")

	readRenewal    = renewal{renewBatch, leased(embedded("read_renew"), readName)}
	readRenewal316 = renewal{1, leased(embedded("read_renew_316"), readName316)}
)

// readName names a hold of a read side: KEYS lock and prefix of its timers, ARGV
// the number of owners and these.
func readName(h *hold) (keys, args []string) {
	return []string{h.key, timersPrefix(h.key)}, []string{"1", h.owner}
}

func readName316(h *hold) (keys, args []string) {
	return []string{h.key, timersPrefix(h.key)}, []string{h.owner}
}

// RWLock names a lock that many readers or one writer hold. Its two sides, R and W, are
// locks with holds and leases of their own. It is safe for concurrent use.
type RWLock struct {
	client *Client
	key    string
}

// RW names Redisson's read-write lock (RReadWriteLock): a hash at key, of its mode and of
// owner to hold count, and a timer for each hold of a reader, so that a reader that died
// is gone after its lease whatever the others do. The lock is unfair: readers that
// overlap without end keep writers waiting.
//
// A holder of the write side may take the read side with its Held.Context or Held.In. It
// then holds both, and reads on when it unlocks the write side. Other waiting readers
// then join: those of Go at once, or after WithPoll if a Java program wrote. All who read
// inside one write have its owner on the wire, and what As says of named owners is true
// of them.
//
// The reverse is impossible: a reader that asks for the write side with the context of
// its hold would wait for itself, and gets ErrDeadlock at once.
//
// A reader whose lease is longer than Redisson's watchdog timeout is safe only among Go
// programs: a renewal by a Java reader cuts the lock's life to its own.
func (c *Client) RW(key string) RWLock { return RWLock{c, key} }

// Key returns the lock's name.
func (l RWLock) Key() string { return l.key }

// R names the read side: many may hold it at a time, while nobody else writes.
func (l RWLock) R() *Lock {
	k := &readSide{hashLock{client: l.client, key: l.key, steady: true, dialect: readDialect{l.dialect()}}}
	return &Lock{client: l.client, key: l.key, kind: k}
}

// W names the write side: one owner holds it, while nobody else reads. On the wire its
// owners end in ":write", as Redisson's do. An owner named with As, HoldCount or HeldBy
// is the same with that ending and without, on either side.
func (l RWLock) W() *Lock {
	k := &writeSide{hashLock{client: l.client, key: l.key, dialect: writeDialect{l.dialect()}}}
	return &Lock{client: l.client, key: l.key, space: writeSpace, kind: k}
}

func (l RWLock) dialect() rwDialect { return rwDialect{mutex(l)} }

// readSide is the kind of R.
type readSide struct{ hashLock }

func (k *readSide) ownerNamed(name string) string { return strings.TrimSuffix(name, writeSuffix) }

func (k *readSide) renewal() *renewal {
	if k.client.compat316 {
		return &readRenewal316
	}
	return &readRenewal
}

// ownerIn returns the owner that writes in ctx: no other may read meanwhile. All
// that read there share it, as if they had named it.
func (k *readSide) ownerIn(ctx context.Context) string {
	writer := holdKey{k.client, writeSpace, k.key}.in(ctx)
	if !k.client.isHeld(writer) {
		return ""
	}
	return strings.TrimSuffix(writer.owner, writeSuffix)
}

func (k *readSide) extend(ctx context.Context, h *Held, lease time.Duration) error {
	return k.client.extendRW(ctx, h.hold, lease, "read")
}

// isLocked tells whether there are readers: alone, or beside the field of a
// writer that reads too.
func (k *readSide) isLocked(ctx context.Context) (bool, error) {
	mode, err := k.client.rwMode(ctx, k.key)
	if mode != "write" {
		return mode == "read", err
	}
	fields, err := k.client.integer(ctx, k.key, "HLEN", k.key)
	return fields > 2, err
}

// writeSide is the kind of W.
type writeSide struct{ hashLock }

func (k *writeSide) ownerNamed(name string) string {
	return strings.TrimSuffix(name, writeSuffix) + writeSuffix
}

// newOwner refuses an owner that reads already: it would wait for itself.
func (k *writeSide) newOwner(_ context.Context, named string) (string, error) {
	switch {
	case named == "":
		named = k.client.freshOwner() + writeSuffix
	case k.reads(named):
		return named, ErrDeadlock
	}
	return named, k.client.fits(k.key)
}

// reads tells whether an owner of this side reads.
func (k *writeSide) reads(owner string) bool {
	return k.client.hasNamed(holdID{hashSpace, k.key, strings.TrimSuffix(owner, writeSuffix)})
}

// release gives back what a named owner has lost, too, if it reads: its reading would keep that, and
// all others from reading. As it reads the name is still its own. It asks once.
func (k *writeSide) release(ctx context.Context, held *Held, lv leaving) error {
	owner := held.hold.owner
	if lv.lost && lv.named && !lv.followed && k.reads(owner) {
		_, err := k.unlock(ctx, owner, lv.lease, k.client.record(k.key), 0, false)
		return err
	}
	return k.hashLock.release(ctx, held, lv)
}

func (k *writeSide) extend(ctx context.Context, h *Held, lease time.Duration) error {
	return k.client.extendRW(ctx, h.hold, lease, "write")
}

func (k *writeSide) isLocked(ctx context.Context) (bool, error) {
	mode, err := k.client.rwMode(ctx, k.key)
	return mode == "write", err
}

// rwMode returns the mode of the read-write lock named key, "" if it is free.
func (c *Client) rwMode(ctx context.Context, key string) (string, error) {
	reply, err := c.do(ctx, c.timeout, key, "HGET", key, "mode")
	return reply.Text, err
}

// extendRW gives a hold of one side a new lease.
func (c *Client) extendRW(ctx context.Context, h *hold, lease time.Duration, side string) error {
	keys := []string{h.key, timersPrefix(h.key)}
	return c.extend(ctx, call{rwExtend, keys, []string{millis(lease), h.owner, side}})
}

// rwDialect is what both sides have in common. Their replies are a mutex's.
type rwDialect struct{ mutex }

func (d rwDialect) await(ctx context.Context, _ *request) (waiting, error) {
	return d.client.join(ctx, rwChannel(d.key))
}

// forceMode frees a lock in the mode that the message stands for.
func (d rwDialect) forceMode(message string) call {
	keys := []string{d.key, rwChannel(d.key)}
	if d.client.compat316 {
		return call{rwForce316, keys, []string{message}}
	}
	return call{rwForce, keys, []string{message, d.client.publishCommand()}}
}

// readDialect is the dialect of R.
type readDialect struct{ rwDialect }

func (d readDialect) acquire(r *request) call {
	return call{readAcquire, []string{d.key, timersKey(d.key, r.owner)},
		r.again(millis(r.lease), r.owner, r.owner+writeSuffix)}
}

// read has a reader look again before the writer's lease ends: Redisson tells
// nobody when a writer goes on as a reader.
func (d readDialect) read(reply Reply, ans *answer) error {
	err := d.rwDialect.read(reply, ans)
	if poll := d.client.poll; ans.hint < 0 || ans.hint > poll {
		ans.hint = poll
	}
	return err
}

// release leaves the leases of other holds as they are.
func (d readDialect) release(owner string, _ time.Duration, latch string) call {
	c := d.client
	keys := []string{d.key, rwChannel(d.key), timersKey(d.key, owner), timersPrefix(d.key)}
	args := []string{wakeOne, owner}
	if c.compat316 {
		return call{readRelease316, keys, args}
	}
	return call{readRelease, append(keys, latch), append(args, c.publishCommand(), millis(c.latchTTL()))}
}

func (d readDialect) force() call { return d.forceMode(wakeOne) }

// writeDialect is the dialect of W.
type writeDialect struct{ rwDialect }

func (d writeDialect) acquire(r *request) call {
	return call{writeAcquire, []string{d.key}, r.again(millis(r.lease), r.owner)}
}

func (d writeDialect) release(owner string, lease time.Duration, latch string) call {
	c := d.client
	keys, args := []string{d.key, rwChannel(d.key)}, []string{wakeAll, millis(lease), owner}
	if c.compat316 {
		return call{writeRelease316, append(keys, timersPrefix(d.key)), args}
	}
	keys, args = append(keys, latch, timersPrefix(d.key)), append(args, c.publishCommand(), millis(c.latchTTL()))
	return call{writeRelease, keys, args}
}

func (d writeDialect) force() call { return d.forceMode(wakeAll) }
