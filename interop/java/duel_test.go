package java

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	wakeLimit = 200 * time.Millisecond // from the call of unlock to the waiter's return
	settle    = 50 * time.Millisecond  // from subscribing to being parked, and more
)

// duel is a contract between a party that holds and one that waits.
type duel struct {
	*testing.T
	kind         string
	rival        string // the kind of lock that the waiter wants when it must wait
	silent       bool   // its waiters are not woken by messages
	key          string
	holds, waits party
	here, there  party           // the same two: lockclient and Redisson
	server       *redis.Client   // to look at what is there
	masters      []*redis.Client // all of a Redlock's; server is the first
	slowest      time.Duration   // wake-up
}

func (d *duel) holder(thread string) actor { return actor{d, d.holds, thread, d.kind, d.key} }

func (d *duel) waiter(thread string) actor { return actor{d, d.waits, thread, d.kind, d.key} }

// rivals is a thread of the waiter that asks for what the holder excludes.
func (d *duel) rivals(thread string) actor { return actor{d, d.waits, thread, d.rival, d.key} }

// parked waits until n channels of this key are subscribed to, and a little
// longer.
func (d *duel) parked(n int) {
	d.Helper()
	subscribed := func() bool { return d.silent || len(d.channels()) >= n }
	require.Eventually(d, subscribed, callLimit, time.Millisecond)
	time.Sleep(settle)
}

// freeEverywhere waits until no master has the key. Who unlocks a Redlock is
// answered by a majority; the others may follow.
func (d *duel) freeEverywhere() {
	d.Helper()
	for _, master := range d.masters {
		free := func() bool { return master.Exists(d.Context(), d.key).Val() == 0 }
		require.Eventually(d, free, callLimit, time.Millisecond)
	}
}

// channels are those of this key that somebody is subscribed to.
func (d *duel) channels() []string {
	all, err := d.server.PubSubChannels(d.Context(), "*").Result()
	require.NoError(d, err)
	var mine []string
	for _, channel := range all {
		if strings.Contains(channel, d.key) {
			mine = append(mine, channel)
		}
	}
	return mine
}

// wakes has an act end w's wait, and returns the result of w.
func (d *duel) wakes(w *waiting, act func()) string {
	d.Helper()
	begun := time.Now()
	act()
	select {
	case <-w.done:
	case <-time.After(callLimit):
		require.FailNow(d, w.who+" was not woken")
	}
	require.NoError(d, w.err)
	d.slowest = max(d.slowest, w.at.Sub(begun))
	return w.result
}

// actor is one thread of a party, and a lock.
type actor struct {
	duel              *duel
	party             party
	thread, kind, key string
}

// of is the same thread with another kind of lock on the key.
func (a actor) of(kind string) actor {
	a.kind = kind
	return a
}

func (a actor) call(verb, argument string) (string, error) {
	return a.party.call(request{a.thread, a.kind, a.key, verb, argument})
}

// ask has something done that must succeed, and returns the result.
func (a actor) ask(verb, argument string) string {
	a.duel.Helper()
	result, err := a.call(verb, argument)
	require.NoError(a.duel, err)
	return result
}

// says requires a result.
func (a actor) says(verb, argument, want string) {
	a.duel.Helper()
	assert.Equal(a.duel, want, a.ask(verb, argument), "%s %s %s", a.party.name(), verb, argument)
}

// waiting is a request that is not answered at once.
type waiting struct {
	who    string
	done   chan struct{}
	at     time.Time // of the answer
	result string
	err    error
}

// begin starts something that will wait.
func (a actor) begin(verb, argument string) *waiting {
	w := &waiting{who: a.party.name() + "'s " + a.thread, done: make(chan struct{})}
	go func() {
		w.result, w.err = a.call(verb, argument)
		w.at = time.Now()
		close(w.done)
	}()
	return w
}

// waits tells whether the request has not been answered yet.
func (w *waiting) waits() bool {
	select {
	case <-w.done:
		return false
	default:
		return true
	}
}

// Leases in milliseconds.
const (
	lease   = "60000" // no TTL ends a wait here
	noLease = "-1"    // the watchdog's
)

func (a actor) lock() string {
	a.duel.Helper()
	return a.ask("lock", lease)
}

func (a actor) beginLock() *waiting { return a.begin("lock", lease) }

func (a actor) unlock() {
	a.duel.Helper()
	a.ask("unlock", "")
}

// isRefused requires the lock to be another's.
func (a actor) isRefused() {
	a.duel.Helper()
	a.says("tryLock", "", "false")
}

// getsIt requires the lock to be free, and leaves it so.
func (a actor) getsIt() {
	a.duel.Helper()
	a.says("tryLock", "", "true")
	a.unlock()
}
