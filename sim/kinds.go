package sim

import (
	"context"
	"fmt"
	"slices"

	"minikv/lockclient"
)

// kind is a value of lock= in the world line: how a client takes such a lock,
// and what a server has of it.
type kind struct {
	name    string
	masters mastery
	part    func(c *client, of []*lockclient.Client) part // of has a client for each master
	books   books
}

// mastery says on which servers a kind of lock lives.
type mastery uint8

const (
	oneMaster   mastery = iota // with replicas or without
	independent                // on any number, each without replicas
)

// part is what a client does in each of its rounds; more is false after the last.
type part interface {
	round(t *task, ctx context.Context) (more bool)
}

// kinds are in the order in which error messages list them.
var kinds = []kind{
	{"mutex", oneMaster, locked((*lockclient.Client).Mutex), hashBooks},
	{"fenced", oneMaster, locked((*lockclient.Client).Fenced), hashBooks},
	{"redlock", independent, quorum(lockclient.Redlock), stringBooks},
	{"redlock-hash", independent, quorum(lockclient.HashRedlock), stringBooks},
	{"fair", oneMaster, locked((*lockclient.Client).Fair), hashBooks},
	{"nonreentrant", oneMaster, locked((*lockclient.Client).NonReentrant), hashBooks},
	{"nonreentrant-fair", oneMaster, locked((*lockclient.Client).NonReentrantFair), hashBooks},
	{"spin", oneMaster, locked((*lockclient.Client).Spin), hashBooks},
	{"simple", oneMaster, locked((*lockclient.Client).Simple), stringBooks},
	{"rw", oneMaster, readsOrWrites, hashBooks},
	{"multi", independent, multiplied, multiBooks},
	{"semaphore", oneMaster, takesPermit, permitBooks},
	{"permits", oneMaster, takesLeasedPermit, leasedBooks},
	{"latch", oneMaster, countsOrWaits, latchBooks},
}

// findKind returns the kind of that name.
func findKind(name string) kind {
	if name == OwnKind {
		return kind{OwnKind, oneMaster, ownPart, noBooks}
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		panic("sim: no lock is called " + name)
	}
	return kinds[i]
}

// kindNames are the names of all kinds.
func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// lockSource is a lock as a source.
type lockSource struct{ lock *lockclient.Lock }

// Lock implements source.
func (s lockSource) Lock(ctx context.Context, t terms) (holding, error) {
	h, err := s.lock.Lock(ctx, t.options()...)
	if err != nil {
		return nil, err // not a nil *Held in an interface
	}
	return h, nil
}

// locked is the part of who takes a lock of one master.
func locked(lock func(*lockclient.Client, string) *lockclient.Lock) func(*client, []*lockclient.Client) part {
	return func(c *client, of []*lockclient.Client) part {
		return newWorker(c, lockSource{lock(of[0], lockName(c.lock))})
	}
}

// quorum is the part of who takes a lock of several masters.
func quorum(lock func(string, ...*lockclient.Client) *lockclient.Lock) func(*client, []*lockclient.Client) part {
	return func(c *client, of []*lockclient.Client) part {
		return newWorker(c, lockSource{lock(lockName(c.lock), of...)})
	}
}

// readsOrWrites is the part of a reader, or of a writer that reads inside.
func readsOrWrites(c *client, of []*lockclient.Client) part {
	lock := of[0].RW(lockName(c.lock))
	read := lockSource{lock.R()}
	if c.reads() {
		return newWorker(c, read)
	}
	return &worker{c: c, outer: lockSource{lock.W()}, inner: read, mixed: true}
}

// members is of how many locks a multi consists.
const members = 3

// memberName is a member of a multi; members live on the masters in turn.
func memberName(lock int32, i int) string { return fmt.Sprintf("%s.%d", lockName(lock), i+1) }

// ofMembers makes a client's locks of the members of its multi, in the order in which it
// names them; every other client does so in the opposite one, unless the world has one
// order for all. of has a client for each master.
func ofMembers[C, L any](c *client, of []C, lock func(C, string) L) []L {
	locks := make([]L, members)
	for i := range locks {
		locks[i] = lock(of[i%len(of)], memberName(c.lock, i))
	}
	if c.number%2 == 0 && !c.load.OneOrder {
		slices.Reverse(locks)
	}
	return locks
}

// multiplied is the part of who takes several locks.
func multiplied(c *client, of []*lockclient.Client) part {
	return newWorker(c, lockSource{lockclient.Multi(ofMembers(c, of, (*lockclient.Client).Mutex)...)})
}
