package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// rights are what a user needs for locks named N: commands, keys and channels.
type rights [3][]string

// without are r but for one of them.
func (r rights) without(part, i int) rights {
	r[part] = slices.Delete(slices.Clone(r[part]), i, i+1)
	return r
}

// rules are r as ACL SETUSER has them, for locks of some names.
func (r rights) rules(names string) (rules []string) {
	for part, sign := range []string{"+", "~", "&"} {
		for _, one := range r[part] {
			rules = append(rules, sign+strings.ReplaceAll(one, "N", names))
		}
	}
	return rules
}

var quoted = regexp.MustCompile("`([^`]+)`")

// documentedRights reads docs/acl.md: what each kind needs on a single server, what
// anybody needs elsewhere, by place, and the example.
func documentedRights(t *testing.T) (kinds map[string]rights, places map[string][]string, example string) {
	text, err := os.ReadFile("../../docs/acl.md")
	require.NoError(t, err)
	kinds, places = map[string]rights{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		var cells [][]string
		row := strings.Split(strings.TrimSpace(strings.ReplaceAll(line, `\|`, "/")), "|")
		for _, cell := range row[1:] {
			var list []string
			for _, found := range quoted.FindAllStringSubmatch(cell, -1) {
				list = append(list, strings.ReplaceAll(found[1], "/", "|"))
			}
			cells = append(cells, list)
		}
		switch {
		case strings.HasPrefix(line, "ACL SETUSER "):
			example = strings.TrimSpace(line)
		case len(cells) == 5 && cells[0] != nil:
			for _, kind := range cells[0] {
				kinds[kind] = withThoseOfMutex(cells, kinds["Mutex"])
			}
		case len(cells) == 3 && strings.HasPrefix(row[1], " all"):
			for kind, r := range kinds {
				if !slices.Contains(cells[0], kind) {
					r[0] = append(slices.Clone(cells[1]), r[0]...)
					kinds[kind] = r
				}
			}
		case len(cells) == 3 && cells[1] != nil:
			places[strings.TrimSpace(row[1])] = cells[1]
		}
	}
	return kinds, places, example
}

// withThoseOfMutex is a row of the table of kinds.
func withThoseOfMutex(cells [][]string, mutex rights) (r rights) {
	for part := range r {
		for _, one := range cells[part+1] {
			if one == "Mutex" {
				r[part] = append(r[part], mutex[part]...)
			} else {
				r[part] = append(r[part], one)
			}
		}
	}
	return r
}

// user is a user with some rights, and what it does is refused.
type user struct {
	admin   *redis.Client
	name    string
	options redis.Options
}

// newUser makes one.
func newUser(t *testing.T, addr, name string, rules []string) *user {
	u := &user{admin: redis.NewClient(&redis.Options{Addr: addr}), name: name}
	u.options = redis.Options{Addr: addr, Username: name, Password: "pw", DisableIdentity: true}
	command := []any{"ACL", "SETUSER", name, "reset", "on", ">pw", "resetchannels", "-@all"}
	for _, rule := range rules {
		command = append(command, rule)
	}
	require.NoError(t, u.admin.Do(t.Context(), command...).Err())
	t.Cleanup(func() {
		u.admin.Do(context.Background(), "ACL", "DELUSER", name)
		u.admin.Close()
	})
	return u
}

// client is a client of the user's, whose next script of that name seems to get no reply.
func (u *user) client(t *testing.T, opts ...lockclient.Option) *visitor {
	rdb := redis.NewClient(&u.options)
	v := &visitor{Transport: transportOf(t, rdb)}
	v.Client = lockclient.New(v, lockclient.System(), opts...)
	t.Cleanup(func() {
		v.Close()
		rdb.Close()
	})
	return v
}

// refused are the rights that the user lacked so far.
func (u *user) refused(t *testing.T) (objects []string) {
	entries, err := u.admin.Do(context.WithoutCancel(t.Context()), "ACL", "LOG", "100000").Slice()
	require.NoError(t, err)
	for _, entry := range entries {
		fields := entry.(map[any]any)
		if fields["username"] == u.name {
			objects = append(objects, fmt.Sprint(fields["reason"], " ", fields["object"]))
		}
	}
	return objects
}

// visitor is a client of a user.
type visitor struct {
	*lockclient.Client
	lockclient.Transport
	loses atomic.Value // the name of the script whose next reply is lost
}

func (v *visitor) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	reply, err := v.Transport.Eval(ctx, s, keys, args)
	if err == nil && v.loses.CompareAndSwap(s.Name, "") {
		err = errLostReply
	}
	return reply, err
}

var errLostReply = errors.New("the reply was lost")

const (
	watchdog = 3 * time.Second        // after a third of it is renewed
	brief    = time.Second            // a lease that is waited for
	soon     = 100 * time.Millisecond // to what is sent in the background
	patient  = 5 * time.Second        // for that on a busy machine
)

// exercise does with one kind, for locks of a name, whatever sends something. It ends at
// the first error.
type exercise func(ctx context.Context, a, b *visitor, admin *redis.Client, name string) error

// exercises are those of all kinds.
var exercises = map[string]exercise{
	"Mutex":            followed(exerciseOf((*lockclient.Client).Mutex, true), exerciseSilence),
	"NonReentrant":     exerciseOf((*lockclient.Client).NonReentrant, false),
	"Fenced":           exerciseOf((*lockclient.Client).Fenced, true),
	"Fair":             exerciseOf((*lockclient.Client).Fair, true),
	"NonReentrantFair": exerciseOf((*lockclient.Client).NonReentrantFair, false),
	"Spin":             exerciseOf((*lockclient.Client).Spin, true),
	"Simple":           exerciseOf((*lockclient.Client).Simple, false),
	"HashRedlock": exerciseOf(func(c *lockclient.Client, name string) *lockclient.Lock {
		return lockclient.HashRedlock(name, c)
	}, false),
	"Redlock": exerciseOf(func(c *lockclient.Client, name string) *lockclient.Lock {
		return lockclient.Redlock(name, c)
	}, false),
	"RW":              exerciseSides,
	"Semaphore":       exerciseSemaphore,
	"PermitSemaphore": exercisePermits,
	"Latch":           exerciseLatch,
}

// exerciseOf is the exercise of a lock.
func exerciseOf(lock func(c *lockclient.Client, name string) *lockclient.Lock, reentrant bool) exercise {
	return func(ctx context.Context, a, b *visitor, _ *redis.Client, name string) error {
		of := func(v *visitor) *lockclient.Lock { return lock(v.Client, name) }
		h, err := of(a).TryLock(ctx, lockclient.NodeTimeout(patient)) // what is given up is not sent, nor refused
		if err != nil {
			return err
		}
		time.Sleep(watchdog/3 + soon) // it is renewed
		if reentrant {
			err = of(a).Do(h.Context(), func(context.Context, *lockclient.Held) error { return nil })
		}
		return errors.Join(err, h.Extend(ctx, time.Minute), inspect(ctx, of(b), h.Owner()),
			exerciseWaiters(ctx, of(a), of(b), h), exerciseForce(ctx, of(a)))
	}
}

// followed is two exercises.
func followed(first, second exercise) exercise {
	return func(ctx context.Context, a, b *visitor, admin *redis.Client, name string) error {
		if err := first(ctx, a, b, admin, name); err != nil {
			return err
		}
		return second(ctx, a, b, admin, name)
	}
}

// exerciseSilence has one wait for so long that its connection is asked whether it lives.
func exerciseSilence(ctx context.Context, a, b *visitor, _ *redis.Client, name string) error {
	h, err := a.Mutex(name).TryLock(ctx)
	if err != nil {
		return err
	}
	time.AfterFunc(4500*time.Millisecond, func() { _ = h.Unlock(ctx) })
	return b.Mutex(name).Do(ctx, func(context.Context, *lockclient.Held) error { return nil })
}

// inspect asks for whatever can be asked of a lock.
func inspect(ctx context.Context, l *lockclient.Lock, owner string) error {
	_, err1 := l.IsLocked(ctx)
	_, err2 := l.HoldCount(ctx, owner)
	_, _, err3 := l.TTL(ctx)
	return supported(errors.Join(err1, err2, err3))
}

// supported is err, unless a lock cannot be asked.
func supported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// exerciseWaiters has two wait for a lock that is held, and a third give up between them.
func exerciseWaiters(ctx context.Context, a, b *lockclient.Lock, h *lockclient.Held) error {
	ended := make(chan error, 3)
	wait := func(l *lockclient.Lock, opts ...lockclient.LockOption) {
		go func() {
			held, err := l.Lock(ctx, opts...)
			if err == nil {
				err = held.Unlock(ctx)
			}
			ended <- err
		}()
		time.Sleep(soon)
	}
	wait(b)
	wait(a, lockclient.Wait(2*soon))
	wait(b)
	time.Sleep(soon)
	err := h.Unlock(ctx)
	for range 3 {
		if e := <-ended; !errors.Is(e, lockclient.ErrNotAcquired) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// exerciseForce forces a lock.
func exerciseForce(ctx context.Context, l *lockclient.Lock) error {
	if _, err := l.TryLock(ctx, lockclient.Lease(time.Minute)); err != nil {
		return err
	}
	_, err := l.ForceUnlock(ctx)
	return supported(err)
}

// exerciseSides is the exercise of a read-write lock.
func exerciseSides(ctx context.Context, a, b *visitor, _ *redis.Client, name string) error {
	w, err := a.RW(name).W().TryLock(ctx)
	if err != nil {
		return err
	}
	r, err := a.RW(name).R().TryLock(w.Context())
	if err != nil {
		return err
	}
	time.Sleep(watchdog/3 + soon) // both are renewed
	err = errors.Join(r.Extend(ctx, time.Minute), w.Extend(ctx, time.Minute), inspect(ctx, b.RW(name).R(), r.Owner()),
		inspect(ctx, b.RW(name).W(), w.Owner()), w.Unlock(ctx))
	if err != nil {
		return err
	}
	other, err := b.RW(name).R().TryLock(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(other.Unlock(ctx), exerciseWaiters(ctx, a.RW(name).R(), b.RW(name).W(), r)); err != nil {
		return err
	}
	return errors.Join(exerciseForce(ctx, a.RW(name).R()), exerciseForce(ctx, a.RW(name).W()))
}

// exerciseSemaphore is the exercise of a semaphore.
func exerciseSemaphore(ctx context.Context, a, b *visitor, _ *redis.Client, name string) error {
	s := a.Semaphore(name)
	if _, err := s.TrySetPermits(ctx, 1); err != nil {
		return err
	}
	a.loses.Store("semaphore-acquire")
	if _, err := s.TryAcquire(ctx, 1); !errors.Is(err, lockclient.ErrUnknown) {
		return errors.Join(err, errors.New("a reply was to be lost"))
	}
	p, err := s.Acquire(ctx, 1)
	if err != nil {
		return err
	}
	time.AfterFunc(soon, func() { _ = p.Release(ctx) })
	q, err := b.Semaphore(name).Acquire(ctx, 1)
	if err != nil {
		return err
	}
	_, err1 := s.AddPermits(ctx, 1)
	_, err2 := s.Drain(ctx)
	_, err3 := s.Available(ctx)
	return errors.Join(err1, err2, err3, q.Release(ctx))
}

// exercisePermits is the exercise of a semaphore of permits that expire.
func exercisePermits(ctx context.Context, a, b *visitor, admin *redis.Client, name string) error {
	s := a.PermitSemaphore(name)
	if _, err := s.TrySetPermits(ctx, 1); err != nil {
		return err
	}
	admin.PExpire(ctx, name, time.Minute) // as a program of Redisson may have done
	if _, err := s.TryAcquire(ctx, brief); err != nil {
		return err
	}
	time.Sleep(brief + soon) // its lease has ended
	h, err := s.Permit().TryLock(ctx)
	if err != nil {
		return err
	}
	time.Sleep(watchdog/3 + soon) // it is renewed
	_, err1 := s.Acquired(ctx)
	if err := errors.Join(err1, s.SetPermits(ctx, 1), s.AddPermits(ctx, 1), h.Extend(ctx, time.Minute)); err != nil {
		return err
	}
	if _, err := s.TryAcquire(ctx, brief); err != nil {
		return err
	}
	return exerciseWaiters(ctx, s.Permit(), b.PermitSemaphore(name).Permit(), h)
}

// exerciseLatch is the exercise of a latch.
func exerciseLatch(ctx context.Context, a, b *visitor, _ *redis.Client, name string) error {
	l := a.Latch(name)
	if _, err := l.TrySetCount(ctx, 2); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Latch(name).Wait(ctx) }()
	time.Sleep(soon)
	_, err1 := l.CountDown(ctx)
	a.loses.Store("latch-count-down")
	_, err2 := l.CountDown(ctx)
	if !errors.Is(err2, lockclient.ErrUnknown) {
		return errors.Join(err1, err2, errors.New("a reply was to be lost"))
	}
	if err := errors.Join(err1, <-ended); err != nil {
		return err
	}
	_, err3 := l.TrySetCount(ctx, 1)
	_, err4 := l.Delete(ctx)
	return errors.Join(err3, err4)
}

var rightsTried atomic.Int64

// exercised runs an exercise as a user with some rights. It returns what was refused, and
// the error with which it ended; it ends early when something is refused. An error of a
// machine that stood still, for which nothing was refused, says nothing.
func exercised(t *testing.T, addr, kind string, r rights, after time.Duration) (refused []string, err error) {
	return thrice(func() ([]string, error) { return exercisedOnce(t, addr, kind, r, after) })
}

// thrice tries what a machine that stands still may spoil: an error without a refusal.
func thrice(try func() (refused []string, err error)) (refused []string, err error) {
	for range 3 {
		if refused, err = try(); err == nil || len(refused) > 0 {
			return refused, err
		}
		settle()
	}
	return refused, err
}

func exercisedOnce(
	t *testing.T, addr, kind string, r rights, after time.Duration,
) (refused []string, err error) {
	name := fmt.Sprintf("%s:%d", uniqueKey(t), rightsTried.Add(1))
	u := newUser(t, addr, name, r.rules(name))
	opts := []lockclient.Option{lockclient.WithWatchdog(watchdog), lockclient.WithTimeout(10 * time.Second)}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a, b := u.client(t, opts...), u.client(t, opts...)
	defer a.Close()
	defer b.Close()
	return watched(cancel, func() error { return exercises[kind](ctx, a, b, u.admin, name) },
		after, func() []string { return u.refused(t) })
}

// What docs/acl.md says is enough for each kind, and each right is needed.
func TestRights(t *testing.T) {
	kinds, _, example := documentedRights(t)
	line := "ACL SETUSER worker on >secret resetchannels -@all " + strings.Join(kinds["Mutex"].rules("orders:*"), " ")
	assert.Equal(t, line, example)
	require.Len(t, kinds, len(exercises))
	var all sync.WaitGroup
	for _, s := range servers(t) {
		admin := redis.NewClient(&redis.Options{Addr: s.addr})
		t.Cleanup(func() {
			admin.ConfigSet(context.Background(), "acllog-max-len", "128")
			admin.Close()
		})
		require.NoError(t, admin.ConfigSet(t.Context(), "acllog-max-len", "100000").Err())
		all.Go(func() {
			var enough sync.WaitGroup
			for kind, r := range kinds {
				enough.Go(func() {
					refused, err := exercised(t, s.addr, kind, r, soon)
					assert.NoError(t, err, "%s on %s", kind, s.name)
					assert.Empty(t, refused, "%s on %s", kind, s.name)
				})
			}
			enough.Wait()
			eachIsNeeded(t, s, kinds)
			assert.NoError(t, admin.ScriptFlush(t.Context()).Err()) // else no text is sent
			r := kinds["Mutex"]
			refused, _ := exercised(t, s.addr, "Mutex", r.without(0, slices.Index(r[0], "eval")), patient)
			assert.NotEmpty(t, refused, "without eval")
		})
	}
	all.Wait()
}

// eachIsNeeded takes each right away in turn. Where the machine stood still, nobody may have
// had to wait: what was not refused then is tried again, twice, when nothing else is.
func eachIsNeeded(t *testing.T, s backend, kinds map[string]rights) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var again []func() bool
	few := make(chan struct{}, 24)
	for kind, r := range kinds {
		for part, several := range r {
			for i, one := range several {
				if one == "eval" || one == "ping" && kind != "Mutex" {
					continue // which is tried once
				}
				few <- struct{}{}
				all.Go(func() {
					defer func() { <-few }()
					try := func() bool {
						refused, err := exercised(t, s.addr, kind, r.without(part, i), patient)
						if len(refused) == 0 {
							t.Logf("%s without %s on %s: nothing was refused: %v", kind, one, s.name, err)
						}
						return len(refused) > 0
					}
					if !try() {
						mu.Lock()
						defer mu.Unlock()
						again = append(again, try)
					}
				})
			}
		}
	}
	all.Wait()
	for _, try := range again {
		settle()
		assert.True(t, try() || try(), "each right is needed")
	}
}
