package goredis_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/locktest"
	"minikv/minikvtest"
)

var (
	wiresSeed   = flag.Uint64("wires.seed", 1, "first seed of TestBrokenWires")
	wiresRuns   = flag.Int("wires.runs", 0, "how many seeds TestBrokenWires runs; 0: one for each kind")
	wiresBeside = flag.Int("wires.beside", 30, "how many of them at once")
	wiresKind   = flag.String("wires.kind", "", "the only kind of lock in TestBrokenWires")
	wiresSite   = flag.String("wires.site", "", "sentinels or cluster, which fail over; \"\": servers without replicas")
	wiresLog    = flag.Bool("wires.log", false, "TestBrokenWires tells what happens")
)

const (
	wiresLast    = 100 * second // of each run, before all is healed
	wiresTimeout = 3 * second   // WithTimeout
	wiresKeys    = 2
	wiresPermits = 3 // of a semaphore
)

// Over connections that are slow, stall and break, with servers that stop and start and
// processes that end, no two clients rely on one lock, what is relied on is in Redis,
// nothing takes longer than it may, and in the end all is free. A seed's draws are its
// own, but these are clients of real time: a second run of it is another one.
func TestBrokenWires(t *testing.T) {
	var kinds []locktest.Kind
	for _, k := range locktest.Kinds() {
		if !k.Opening && (*wiresKind == "" || k.Name == *wiresKind) && (*wiresSite == "" || k.Masters == 1) {
			kinds = append(kinds, k)
		}
	}
	require.NotEmpty(t, kinds, "no kind is named %q", *wiresKind)
	runs := *wiresRuns
	if runs == 0 {
		runs = len(kinds)
	}
	slots := make(chan struct{}, *wiresBeside)
	var all sync.WaitGroup
	for i := range runs {
		r := &wiresRun{seed: *wiresSeed + uint64(i), rt: lockclient.System(), relying: map[*lockclient.Held]holder{},
			tokens: map[string]uint64{}, taken: map[string]int64{}}
		r.kind = kinds[r.seed%uint64(len(kinds))]
		r.library = []string{"go-redis", "rueidis"}[(r.seed+r.seed/uint64(len(kinds)))%2]
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(fmt.Sprintf("%d/%s/%s", r.seed, r.kind.Name, r.library), r.run)
		})
	}
	all.Wait()
}

// wiresRun is three processes with two tasks each, and what they rely on.
type wiresRun struct {
	*testing.T
	seed    uint64
	kind    locktest.Kind
	library string
	rt      lockclient.Runtime
	begun   time.Time
	servers *minikvtest.Servers
	sure    []*lockclient.Client // by master, over wires that are whole

	mu      sync.Mutex
	relying map[*lockclient.Held]holder
	tokens  map[string]uint64 // the last ones, by key
	taken   map[string]int64  // permits of a semaphore, by key
}

// holder is somebody who got a lock.
type holder struct {
	key, who string
	shared   bool
}

func (r *wiresRun) logf(format string, args ...any) {
	if *wiresLog {
		r.Logf("%12v "+format, append([]any{time.Since(r.begun)}, args...)...)
	}
}

func (r *wiresRun) run(t *testing.T) {
	r.T = t
	r.serve()
	r.begun = time.Now()
	sure, leave := r.clients(whole(r.servers.DialContext), "go-redis", 0)
	t.Cleanup(leave)
	r.sure = sure
	for key := range wiresKeys {
		r.prepare(r.key(key))
	}
	var all sync.WaitGroup
	last := wiresLast
	if *wiresSite != "" {
		last *= 3 // a failover takes as long as ever
	}
	end := r.begun.Add(last)
	for number := range 3 {
		w := newWires(r.servers.DialContext, r.seed, uint64(10*number))
		time.AfterFunc(last, w.heal)
		all.Go(func() { r.process(number, w, end) })
	}
	all.Go(func() { r.trouble(rand.New(rand.NewPCG(r.seed, 1000)), end) })
	all.Wait()
	r.logf("all tasks have ended")
	for key := range wiresKeys {
		r.free(r.key(key))
	}
}

func (r *wiresRun) key(i int) string { return fmt.Sprintf("lock:%d", i) }

// prepare makes what a key's locks need. It asks again, as on a busy machine the answers
// may take longer than a client waits: all runs begin at once.
func (r *wiresRun) prepare(key string) {
	err := error(lockclient.ErrUnknown)
	for tries := 0; tries < 10 && errors.Is(err, lockclient.ErrUnknown); tries++ {
		err = nil
		if r.kind.Prepare != nil {
			err = r.kind.Prepare(r.Context(), key, r.sure)
		}
		if r.kind.Counting && err == nil {
			_, err = r.sure[0].Semaphore(key).TrySetPermits(r.Context(), wiresPermits)
		}
	}
	require.NoError(r, err)
}

// free sees to it that nothing is left of a key once leases and places in queues have ended.
func (r *wiresRun) free(key string) {
	if r.kind.Counting {
		r.restored(key)
		return
	}
	var err error
	for range 150 { // an old master follows the new one some ten real seconds later
		var h *lockclient.Held
		h, err = r.kind.Lock(key, r.sure).Lock(r.Context(), lockclient.Wait(400*second))
		if err == nil {
			r.check("unlock in the end", h.Unlock(r.Context()))
			return
		}
		time.Sleep(second)
	}
	r.Errorf("%s cannot be locked in the end: %v", key, err)
}

// restored waits until all permits of a semaphore are free.
func (r *wiresRun) restored(key string) {
	var free int64
	var err error
	for range 150 {
		free, err = r.sure[0].Semaphore(key).Available(r.Context())
		if err == nil && free == wiresPermits {
			return
		}
		time.Sleep(second)
	}
	r.broken("%d permits of %s are free in the end: %v", free, key, err)
}

// process lives several times, one after the other; what the earlier ones held is left
// to its leases.
func (r *wiresRun) process(number int, w *wires, end time.Time) {
	for life := 0; time.Now().Before(end); life++ {
		clients, leave := r.clients(w, r.library, number)
		var tasks sync.WaitGroup
		for i := range 2 {
			t := &wiresTask{wiresRun: r, clients: clients, process: number,
				name:  fmt.Sprintf("p%d.%d.t%d", number, life, i),
				draws: rand.New(rand.NewPCG(r.seed, uint64(10*number+i+1)<<8+uint64(life)))}
			tasks.Go(func() {
				for time.Now().Before(end) && t.cycle() {
				}
			})
		}
		if r.kind.Counting { // whose permits a process that ends would keep
			tasks.Wait()
			r.Cleanup(leave)
			continue
		}
		death := time.AfterFunc(10*second+w.upTo(2*wiresLast), func() {
			r.logf("p%d.%d ends", number, life)
			leave()
		})
		tasks.Wait()
		if death.Stop() {
			leave()
		}
	}
}

// broken tells of a promise that did not hold. No replica is asked for a Simple: failovers
// lose it.
func (r *wiresRun) broken(format string, args ...any) {
	if *wiresSite != "sentinels" || r.kind.Name != "simple" {
		r.Errorf("%v: "+format, append([]any{time.Since(r.begun)}, args...)...)
	}
}

// relies tells whether a client may rely on a lock.
func (r *wiresRun) relies(h *lockclient.Held) bool { return !isLost(h) && r.rt.Mono() < h.Until() }

// admit notes a grant. Nobody else may rely on the lock.
func (r *wiresRun) admit(h *lockclient.Held, is holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logf("%s has %s as %s for %v", is.who, is.key, h.Owner(), h.Until()-r.rt.Mono())
	if token, ok := h.Token(); ok {
		if token <= r.tokens[is.key] {
			r.broken("%s gets token %d of %s after %d", is.who, token, is.key, r.tokens[is.key])
		}
		r.tokens[is.key] = token
	}
	for other, was := range r.relying {
		if was.key == is.key && !(was.shared && is.shared) && r.relies(other) && r.relies(h) {
			r.broken("%s gets %s as %s while %s relies on it as %s for %v more", is.who, is.key, h.Owner(),
				was.who, other.Owner(), other.Until()-r.rt.Mono())
		}
	}
	r.relying[h] = is
}

// surely is the same lock over wires that are whole.
func (r *wiresRun) surely(is holder) *lockclient.Lock {
	if r.kind.Rival != nil && !is.shared {
		return r.kind.Rival(is.key, r.sure)
	}
	return r.kind.Lock(is.key, r.sure)
}

// wiresErrors are the errors of a lock that is well.
var wiresErrors = []error{context.DeadlineExceeded, lockclient.ErrNotAcquired, lockclient.ErrUnknown,
	lockclient.ErrLost, lockclient.ErrNotSent, lockclient.ErrClosed, lockclient.ErrDeadlock}

// refuses are the answers of servers that fail over.
var refuses = regexp.MustCompile(`^(READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|UNBLOCKED) `)

// check looks at an error.
func (r *wiresRun) check(what string, err error) {
	if *wiresSite != "" {
		var refused *lockclient.ServerError
		if errors.Is(err, lockclient.ErrReplication) || errors.As(err, &refused) && refuses.MatchString(refused.Text) {
			return
		}
	}
	if err != nil && !slices.ContainsFunc(wiresErrors, func(one error) bool { return errors.Is(err, one) }) {
		r.Errorf("%v: %s: %v", time.Since(r.begun), what, err)
	}
}
