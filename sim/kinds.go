package sim

import (
	"context"
	"fmt"
	"slices"

	"minikv/lockclient"
)

// kind is a value of lock= in the world line. What is so of some locks and not of others
// follows from its row in kinds.
type kind struct {
	name    string
	masters mastery
	alone   bool // no replica is asked to confirm it, though its master may have some
	// part is what a client does with it; of has a client for each master.
	part func(c *client, of []*lockclient.Client) part
	// asked is how guards ask whether somebody has it; nil where nobody can ask.
	asked   func(of *lockclient.Client, name string) func(context.Context) (bool, error)
	books   books    // what servers count as taken of it
	options []string // of the world line that mean something to it, and nothing to most others
	Traits
}

// Traits are what others need to know of a kind of lock.
type Traits struct {
	Promise  string // the check of what it promises first: exclusion, capacity or gate
	Shared   bool   // several may have it at a time, and none of them is stale
	Lasting  bool   // it has no lease: what is taken stays so until it is given back
	KeyStays bool   // its key may be there though nobody has it
	Tokens   bool   // who has it got a fencing token
}

// exclusive are those of a lock that one client has until its lease ends.
var exclusive = Traits{Promise: "exclusion"}

// mastery says on which servers a kind of lock lives.
type mastery uint8

const (
	oneMaster   mastery = iota // one, with replicas or without; in a cluster that of its key's slot
	aMajority                  // any number, each without replicas, all of which are asked at once
	memberwise                 // any number, with replicas or without, or a cluster's: each has members of it
	anyMastered                // those that the code of a test asks
)

// isIndependent reports whether clients count the answers of masters that know nothing of
// each other.
func (m mastery) isIndependent() bool { return m == aMajority || m == memberwise }

// part is what a client does in each of its rounds; more is false after the last.
type part interface {
	round(t *task, ctx context.Context) (more bool)
}

// kinds are in the order in which error messages list them. A new kind is a row here; to
// have it in the matrix too, one in columns (sim/matrix/column.go), and to have a model of
// how Redisson's client takes it one in models (profile_kinds.go).
var kinds = []kind{
	{name: "mutex", part: locked((*lockclient.Client).Mutex), asked: asks((*lockclient.Client).Mutex), books: hashBooks,
		Traits: exclusive},
	{name: "fenced", part: locked((*lockclient.Client).Fenced), asked: asks((*lockclient.Client).Mutex), books: hashBooks,
		options: []string{"fence"}, Traits: Traits{Promise: "exclusion", Tokens: true}},
	{name: "redlock", masters: aMajority, part: quorum(lockclient.Redlock), books: stringBooks, Traits: exclusive},
	{name: "redlock-hash", masters: aMajority, part: quorum(lockclient.HashRedlock), books: stringBooks,
		Traits: exclusive},
	{name: "fair", part: locked((*lockclient.Client).Fair), asked: asks((*lockclient.Client).Fair), books: hashBooks,
		options: []string{"fair-wait"}, Traits: exclusive},
	{name: "nonreentrant", part: locked((*lockclient.Client).NonReentrant),
		asked: asks((*lockclient.Client).NonReentrant), books: hashBooks, Traits: exclusive},
	{name: "nonreentrant-fair", part: locked((*lockclient.Client).NonReentrantFair),
		asked: asks((*lockclient.Client).NonReentrantFair), books: hashBooks, options: []string{"fair-wait"},
		Traits: exclusive},
	{name: "spin", part: locked((*lockclient.Client).Spin), asked: asks((*lockclient.Client).Mutex), books: hashBooks,
		Traits: exclusive},
	{name: "simple", alone: true, part: locked((*lockclient.Client).Simple), asked: asks((*lockclient.Client).Simple),
		books: stringBooks, Traits: exclusive},
	{name: "rw", part: readsOrWrites, asked: asksBoth, books: hashBooks, options: []string{"readers", "downgrade"},
		Traits: Traits{Promise: "exclusion", Shared: true}},
	{name: "multi", masters: memberwise, part: multiplied, books: multiBooks, options: []string{"one-order"},
		Traits: exclusive},
	{name: "semaphore", part: takesPermit, books: permitBooks, options: []string{"permits"},
		Traits: Traits{Promise: "capacity", Shared: true, Lasting: true, KeyStays: true}},
	{name: "permits", part: takesLeasedPermit, books: leasedBooks, options: []string{"permits"},
		Traits: Traits{Promise: "capacity", Shared: true, KeyStays: true}},
	{name: "latch", part: countsOrWaits, books: latchBooks, options: []string{"count", "waiters"},
		Traits: Traits{Promise: "gate", Shared: true, Lasting: true, KeyStays: true}},
	{name: OwnKind, masters: anyMastered, part: ownPart, books: noBooks, options: []string{"readers", "permits", "fence"},
		Traits: Traits{Promise: "exclusion", KeyStays: true}},
}

// findKind returns the kind of that name.
func findKind(name string) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		panic("sim: no lock is called " + name)
	}
	return &kinds[i]
}

// TraitsOf are those of the kind of that name.
func TraitsOf(kind string) Traits { return findKind(kind).Traits }

// namesOf are the names of those kinds that are such.
func namesOf(is func(*kind) bool) (names []string) {
	for i := range kinds {
		if is(&kinds[i]) {
			names = append(names, kinds[i].name)
		}
	}
	return names
}

// kindNames are the names of all kinds.
func kindNames() []string { return namesOf(func(*kind) bool { return true }) }

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
