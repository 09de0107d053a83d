package locks

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	lease = time.Minute
	// waiting is how long a waiter is given to begin, and how long nothing may
	// come from it then.
	waiting = 200 * time.Millisecond
	// quiet is how long a client says nothing when it has done with a failure.
	quiet      = 300 * time.Millisecond
	quietLimit = 5 * time.Second
)

// bout is one client on one server, in one case after the other.
type bout struct {
	client
	world   world
	a, b, c *party
	name    string // of the case's lock
	told    []string
}

// say adds to the case's line.
func (b *bout) say(words ...string) { b.told = append(b.told, strings.Join(words, " ")) }

// cases, each with a lock of its own. The last one ends the master.
var cases = []struct {
	name string
	run  func(t *testing.T, b *bout)
}{
	{"taken", taken},
	{"contended", contended},
	{"extended", extended},
	{"released", released},
	{"expired", expired},
	{"expired, free", expiredFree},
	{"reply lost", replyLost},
	{"release, reply lost", releaseReplyLost},
	{"failover", failover},
}

// taken: what a lock is on the server.
func taken(t *testing.T, b *bout) {
	b.say(b.a.try(t, b.name))
	b.say(state(t, b.world, b.name))
	b.a.release(t, b.name)
}

// contended: while one holds the other is refused, or waits until the first releases.
func contended(t *testing.T, b *bout) {
	require.Equal(t, "ok", b.a.try(t, b.name))
	b.say("B", b.b.try(t, b.name))
	waiter := b.b.ask(t, "wait", b.name)
	select {
	case answer := <-waiter:
		require.Equal(t, "none", answer)
		b.say("cannot wait")
		b.a.release(t, b.name)
		return
	case <-time.After(waiting):
	}
	require.Equal(t, "ok", b.a.release(t, b.name))
	b.say("waits:", b.b.await(t, waiter), "after A's release")
	b.b.release(t, b.name)
}

// extended: the lease begins anew. It is made short first, and not by the library.
func extended(t *testing.T, b *bout) {
	require.Equal(t, "ok", b.a.try(t, b.name))
	admin := connect(t, b.world.master())
	for _, key := range leased(t, admin) {
		require.NoError(t, admin.PExpire(t.Context(), key, lease/2).Err())
	}
	answer := b.a.extend(t, b.name)
	b.say(answer)
	if answer != "none" {
		b.say(state(t, b.world, b.name))
	}
	b.a.release(t, b.name)
}

// released: the next one gets it, and the first has nothing more to release.
func released(t *testing.T, b *bout) {
	require.Equal(t, "ok", b.a.try(t, b.name))
	b.say(b.a.release(t, b.name))
	b.say("leaves", state(t, b.world, b.name))
	b.say("B", b.b.try(t, b.name))
	b.say("A again", b.a.release(t, b.name))
	b.aftermath(t)
}

// expired: A is cut off until its lease has ended and B holds, and comes back.
func expired(t *testing.T, b *bout) {
	b.outlive(t)
	b.say("B", b.b.try(t, b.name))
	b.world.judge(t, b.name, false)
	b.a.front.thaw()
	b.say("A extends:", b.a.extend(t, b.name))
	b.say("releases:", b.a.release(t, b.name))
	b.aftermath(t)
}

// expiredFree: the same, but nobody else wants the lock.
func expiredFree(t *testing.T, b *bout) {
	b.outlive(t)
	b.a.front.thaw()
	b.say("A extends:", b.a.extend(t, b.name))
	b.say("leaves", state(t, b.world, b.name))
	b.say("A releases:", b.a.release(t, b.name))
}

// outlive has A take the lock, cuts it off, and lets the lease end.
func (b *bout) outlive(t *testing.T) {
	require.Equal(t, "ok", b.a.try(t, b.name))
	admin := connect(t, b.world.master())
	keys := leased(t, admin)
	require.NotEmpty(t, keys)
	b.a.front.cut()
	if b.absolute {
		endLeases(t, b.world)
	} else {
		b.world.pass(t)
	}
	require.Eventually(t, func() bool { return admin.Exists(t.Context(), keys...).Val() == 0 }, soon, time.Millisecond)
}

// replyLost: A's attempt succeeds, but the connection breaks before the reply.
func replyLost(t *testing.T, b *bout) {
	b.world.loseReply(t, b.a.front, b.name)
	answer := b.a.try(t, b.name)
	b.say(answer)
	require.True(t, b.world.hasLost(t, b.a.front))
	b.a.front.settle(quiet, quietLimit)
	b.say("leaves", state(t, b.world, b.name))
	b.say("B", b.b.try(t, b.name))
	if answer == "ok" {
		b.say("A releases:", b.a.release(t, b.name))
		b.say("leaves", state(t, b.world, b.name))
	}
	b.a.reconnect(t)
}

// releaseReplyLost: A's release succeeds, but the connection breaks before the
// reply. It cannot be struck for sure when the library sends more by itself.
func releaseReplyLost(t *testing.T, b *bout) {
	if b.renews {
		b.say("-")
		return
	}
	require.Equal(t, "ok", b.a.try(t, b.name))
	b.world.loseReply(t, b.a.front, b.name)
	b.say(b.a.release(t, b.name))
	require.True(t, b.world.hasLost(t, b.a.front))
	b.a.front.settle(quiet, quietLimit)
	b.say("leaves", state(t, b.world, b.name))
	b.say("B", b.b.try(t, b.name))
	b.a.reconnect(t)
}

// failover: the master crashes with A's lock before the replica has got it.
func failover(t *testing.T, b *bout) {
	b.world.hold(t)
	require.Equal(t, "ok", b.a.try(t, b.name))
	b.world.promote(t)
	for _, p := range []*party{b.a, b.b, b.c} {
		p.front.lead(b.world.master())
		p.reconnect(t)
	}
	b.say("B", b.b.try(t, b.name))
	b.world.judge(t, b.name, true)
	b.say("A extends:", b.a.extend(t, b.name))
	b.say("releases:", b.a.release(t, b.name))
	b.aftermath(t)
}

// aftermath: whether B still has what it took, by what C sees and by its own release.
func (b *bout) aftermath(t *testing.T) {
	switch answer, _, _ := strings.Cut(b.c.try(t, b.name), " "); answer {
	case "no":
		b.say("B keeps it")
	case "ok":
		b.say("B's is gone")
	default:
		b.say("C", answer)
	}
	b.say("B releases:", b.b.release(t, b.name))
}
