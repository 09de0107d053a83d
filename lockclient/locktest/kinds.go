package locktest

import (
	"context"

	"minikv/lockclient"
)

// Kind is a kind of lock or synchronizer, and what it claims to do.
type Kind struct {
	Name      string
	Masters   int  // how many independent masters it needs
	Reentrant bool // an owner may take it again
	Renewed   bool // the watchdog renews it
	Woken     bool // its waiters are woken by messages
	Queued    bool // its waiters are served in the order in which they asked
	Fenced    bool // it has fencing tokens
	Shared    bool // the read side of a read-write lock, which has many holders
	Composed  bool // made of the mutexes key, key:, key:: …
	Expiring  bool // one of the permits of a PermitSemaphore
	Counting  bool // a semaphore; it has no Lock
	Opening   bool // a latch; it has no Lock
	// Lock names the lock of key; clients has one client for each master.
	Lock func(key string, clients []*lockclient.Client) *lockclient.Lock
	// Rival, unless nil, is what processes with odd numbers lock instead.
	Rival func(key string, clients []*lockclient.Client) *lockclient.Lock
	// Prepare, unless nil, is called for each process before it locks.
	Prepare func(ctx context.Context, key string, clients []*lockclient.Client) error
	// Options, unless nil, returns the options of the clients of process i.
	Options func(i int) []lockclient.Option
}

// Kinds returns every kind of lock and synchronizer.
func Kinds() []Kind {
	hash := Kind{Masters: 1, Reentrant: true, Renewed: true}
	mutex := hash.of("mutex", (*lockclient.Client).Mutex)
	mutex.Woken = true
	fenced := mutex.of("fenced", (*lockclient.Client).Fenced)
	fenced.Fenced = true
	fair := mutex.of("fair", (*lockclient.Client).Fair)
	fair.Queued = true
	spin := hash.of("spin", (*lockclient.Client).Spin)
	write := mutex.of("write", func(c *lockclient.Client, key string) *lockclient.Lock { return c.RW(key).W() })
	read := mutex.of("read", func(c *lockclient.Client, key string) *lockclient.Lock { return c.RW(key).R() })
	read.Shared, read.Rival = true, write.Lock
	multi := mutex.of("multi", func(c *lockclient.Client, key string) *lockclient.Lock {
		return lockclient.Multi(c.Mutex(memberKey(key, 1)), c.Mutex(memberKey(key, 0)))
	})
	multi.Composed = true
	permit := Kind{Masters: 1, Renewed: true, Woken: true, Expiring: true}.of("permit",
		func(c *lockclient.Client, key string) *lockclient.Lock { return c.PermitSemaphore(key).Permit() })
	permit.Prepare = func(ctx context.Context, key string, c []*lockclient.Client) error {
		_, err := c[0].PermitSemaphore(key).TrySetPermits(ctx, 1)
		return err
	}
	semaphore := Kind{Name: "semaphore", Masters: 1, Counting: true}
	latch := Kind{Name: "latch", Masters: 1, Opening: true}
	hashRedlock := quorum("hash-redlock", lockclient.HashRedlock)
	hashRedlock.Woken = true
	return []Kind{
		mutex, fenced, fair, spin,
		mutex.of("non-reentrant", (*lockclient.Client).NonReentrant).once(),
		fair.of("non-reentrant-fair", (*lockclient.Client).NonReentrantFair).once(),
		write, read, multi,
		mutex.in316(), fair.in316(), spin.in316(), write.in316(), read.in316(),
		mutex.mixed(), fair.mixed(), read.mixed(),
		permit, permit.in316(),
		semaphore, semaphore.in316(), semaphore.mixed(),
		latch, latch.in316(), latch.mixed(),
		Kind{Masters: 1}.of("simple", (*lockclient.Client).Simple),
		quorum("redlock", lockclient.Redlock), hashRedlock, hashRedlock.in316(),
	}
}

// of is another kind with the same claims.
func (k Kind) of(name string, lock func(*lockclient.Client, string) *lockclient.Lock) Kind {
	k.Name = name
	k.Lock = func(key string, c []*lockclient.Client) *lockclient.Lock { return lock(c[0], key) }
	return k
}

// quorum is a kind that lives on three masters.
func quorum(name string, lock func(string, ...*lockclient.Client) *lockclient.Lock) Kind {
	return Kind{Name: name, Masters: 3, Lock: func(key string, c []*lockclient.Client) *lockclient.Lock {
		return lock(key, c...)
	}}
}

// once is the kind that no owner may take again.
func (k Kind) once() Kind {
	k.Reentrant = false
	return k
}

// in316 is the kind in the protocol of Redisson 3.16.
func (k Kind) in316() Kind {
	k.Name += "-316"
	k.Options = func(int) []lockclient.Option { return []lockclient.Option{lockclient.Compat316()} }
	return k
}

// mixed is the kind with every other process speaking the protocol of 3.16.
func (k Kind) mixed() Kind {
	k.Name += "-mixed"
	k.Options = func(i int) []lockclient.Option {
		if i%2 == 0 {
			return []lockclient.Option{lockclient.Compat316()}
		}
		return nil
	}
	return k
}

func (k Kind) options(process int) []lockclient.Option {
	if k.Options == nil {
		return nil
	}
	return k.Options(process)
}
