package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"minikv/lockclient"
)

// Env is where contracts run: servers, time and tasks.
type Env interface {
	// Context is the parent of the contexts that a contract makes.
	Context() context.Context
	// Runtime gives all processes of a contract their time and their tasks.
	Runtime() lockclient.Runtime
	// Transport connects one process to one of several independent masters, numbered from 0.
	// The masters need not be empty: contracts use random keys.
	Transport(master int) (lockclient.Transport, error)
	// Stall is how long a task or a request may be held up here: seconds on a real machine,
	// which has other things to do; 0 in simulated time.
	Stall() time.Duration
	// Stalled is how long tasks have been held up here in all, so far.
	Stalled() time.Duration
}

// Contract is one property of locks.
type Contract struct {
	// Name is the claim, with underscores for spaces.
	Name string
	// Applies tells whether a kind claims the property.
	Applies func(Kind) bool

	clauses func(*run)
}

// Run checks the contract. The error names the clause that is broken. It is nil if tasks
// were meanwhile held up for longer than Env.Stall.
func (c Contract) Run(env Env, kind Kind) (err error) {
	r := &run{env: env, rt: env.Runtime(), kind: kind, ctx: env.Context(), brief: 2*short + env.Stall(),
		stalled: env.Stalled()}
	defer func() {
		for _, p := range r.processes {
			p.close()
		}
		if broken := recover(); broken != nil {
			f, ok := broken.(failure)
			if !ok {
				panic(broken)
			}
			err = fmt.Errorf("%s: %s: %s", kind.Name, c.Name, f.clause)
		}
	}()
	var random [8]byte
	r.rt.Random(random[:])
	r.key = fmt.Sprintf("locktest:%x", random)
	c.clauses(r)
	return nil
}

// failure ends a contract.
type failure struct{ clause string }

// run is one run of a contract.
type run struct {
	env       Env
	rt        lockclient.Runtime
	kind      Kind
	ctx       context.Context
	key       string
	processes []*process
	brief     time.Duration // a lease that is waited for, longer than a stall
	stalled   time.Duration // Env.Stalled when it began
}

// process is one process that locks: its clients, and the faults between them
// and their masters.
type process struct {
	clients []*lockclient.Client
	faults  []*faults
	lock    *lockclient.Lock
}

func (p *process) close() {
	for _, c := range p.clients {
		c.Close()
	}
}

// process starts a process.
func (r *run) process(opts ...lockclient.Option) *process {
	p := &process{}
	patient := []lockclient.Option{lockclient.WithTimeout(lockclient.DefaultTimeout + r.env.Stall())}
	for master := range r.kind.Masters {
		t, err := r.env.Transport(master)
		r.ok("connect", err)
		f := &faults{Transport: t}
		c := lockclient.New(f, r.rt, slices.Concat(patient, r.kind.options(len(r.processes)), opts)...)
		_, err = c.Mutex(r.key).IsLocked(r.ctx) // a first connection takes its time
		r.ok("ask whether a lock is held", err)
		f.set(func(f *faults) { f.answers = 0 })
		p.faults = append(p.faults, f)
		p.clients = append(p.clients, c)
	}
	if r.kind.Prepare != nil {
		r.ok("prepare", r.kind.Prepare(r.ctx, r.key, p.clients))
	}
	lock := r.kind.Lock
	if r.kind.Rival != nil && len(r.processes)%2 == 1 {
		lock = r.kind.Rival
	}
	if lock != nil {
		p.lock = lock(r.key, p.clients)
	}
	r.processes = append(r.processes, p)
	return p
}

// that requires a clause to hold.
func (r *run) that(holds bool, clause string, args ...any) {
	if !holds {
		panic(failure{fmt.Sprintf(clause, args...)})
	}
}

// ok requires an operation to succeed.
func (r *run) ok(operation string, err error) {
	r.that(err == nil, "%s: %v", operation, err)
}

// is requires an operation to fail with an error.
func (r *run) is(operation string, err, want error) {
	r.that(errors.Is(err, want), "%s: got error %v, want %v", operation, err, want)
}

// take takes the lock, which must be free. It waits a little, as late masters
// of a quorum may still be giving back what a refused attempt took there.
func (r *run) take(p *process, opts ...lockclient.LockOption) *lockclient.Held {
	opts = append(opts, lockclient.NodeTimeout(slack), lockclient.Wait(slack))
	h, err := p.lock.TryLock(r.ctx, opts...)
	r.ok("take a free lock", err)
	return h
}

// refused requires the lock to be taken by somebody else.
func (r *run) refused(p *process, when string) {
	_, err := p.lock.TryLock(r.ctx)
	r.is("take the lock "+when, err, lockclient.ErrNotAcquired)
}

// within requires that no more than limit has passed since a time, but for what
// the machine was held up.
func (r *run) within(limit, since time.Duration, what string) {
	took, stalled := r.rt.Mono()-since, r.env.Stalled()-r.stalled
	r.that(took < limit+r.env.Stall()+stalled, "%s: %v, the limit is %v", what, took, limit)
}

// until waits until something is seen.
func (r *run) until(what string, shows func() (bool, error)) {
	for begun := r.rt.Mono(); ; r.sleep(10 * time.Millisecond) {
		is, err := shows()
		r.ok("ask whether "+what, err)
		if is {
			return
		}
		r.that(r.rt.Mono() < begun+slack, "never seen: %s", what)
	}
}

// sleep lets d pass.
func (r *run) sleep(d time.Duration) {
	_, _ = r.rt.NewGate().Wait(r.ctx, d)
}

// task is something that goes on beside the contract.
type task struct {
	done lockclient.Gate
	held *lockclient.Held
	err  error
}

// start runs f beside the contract; f may set what its task held.
func (r *run) start(f func(t *task) error) *task {
	t := &task{done: r.rt.NewGate()}
	r.rt.Go(func() {
		t.err = f(t)
		t.done.Open()
	})
	return t
}

// end waits for the end of a task, at most a minute.
func (r *run) end(t *task) error {
	ended, err := t.done.Wait(r.ctx, time.Minute)
	r.ok("wait", err)
	r.that(ended, "a task never came to an end")
	return t.err
}

// waiter starts to wait for the lock.
func (r *run) waiter(p *process, opts ...lockclient.LockOption) *task {
	return r.start(func(t *task) (err error) {
		t.held, err = p.lock.Lock(r.ctx, append(opts, lockclient.NodeTimeout(slack))...)
		return err
	})
}

// await returns what a waiter got.
func (r *run) await(t *task) *lockclient.Held {
	r.ok("wait for the lock", r.end(t))
	return t.held
}
