package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Members are taken in the order of their names and given back in reverse, each
// by its own client; nothing else is sent.
func TestWireOfMulti(t *testing.T) {
	w := &wire{reply: freeRW}
	c := lockclient.New(w, lockclient.System(), lockclient.WithID("c"))
	d := lockclient.New(w, lockclient.System(), lockclient.WithID("d"))
	lock := lockclient.Multi(c.RW("z").R(), d.Mutex("a"), c.Fenced("m"))
	assert.Equal(t, "a,m,z", lock.Key())
	h, err := lock.Lock(t.Context(), lockclient.Lease(time.Second))
	require.NoError(t, err)
	assert.Equal(t, "d:1", h.Owner())
	require.NoError(t, h.Unlock(t.Context()))
	var scripts []string
	for _, line := range w.sent(t, 9) {
		if script, keys, _ := strings.Cut(line, " "); script != "DEL" {
			key, _, _ := strings.Cut(keys, " ")
			scripts = append(scripts, script+" "+key)
		}
	}
	assert.Equal(t, []string{"mutex-acquire a", "fenced-acquire m", "read-acquire z",
		"read-release z", "mutex-release m", "mutex-release a"}, scripts)
}

// What is no lock is refused at once, not when it is to be taken.
func TestMultiNeedsLocks(t *testing.T) {
	a := lockclient.New(&wire{}, lockclient.System()).Mutex("a")
	require.PanicsWithValue(t, "lockclient: a Multi has no locks: give it those that it is to hold together",
		func() { lockclient.Multi() })
	require.PanicsWithValue(t, "lockclient: lock 1 of a Multi is nil", func() { lockclient.Multi(a, nil) })
}

// A member that is taken costs the others, at once when nobody waits.
func TestMultiGivesBack(t *testing.T) {
	w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
		if keys[0] == "c" {
			return integer(60000), nil
		}
		return free(script, keys)
	}}
	c := lockclient.New(w, lockclient.System())
	lock := lockclient.Multi(c.Mutex("a"), c.Mutex("b"), c.Mutex("c"))
	_, err := lock.TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrNotAcquired)
	assert.ErrorContains(t, err, `lock "c"`)
	var scripts []string
	for _, line := range w.sent(t, 7) {
		script, _, _ := strings.Cut(line, " ")
		scripts = append(scripts, script)
	}
	assert.Len(t, scripts, 7, "three acquisitions, two releases, two latches: %v", scripts)
	_, err = lock.TryLock(t.Context(), lockclient.Wait(50*time.Millisecond))
	require.ErrorIs(t, err, lockclient.ErrNotAcquired)
}

// A named owner of the whole takes it again by that name, whatever its members
// make of the name.
func TestMultiOfANamedOwner(t *testing.T) {
	w := &wire{reply: freeRW}
	c := lockclient.New(w, lockclient.System())
	lock := lockclient.Multi(c.RW("a").W(), c.Mutex("b"))
	for range 2 {
		h, err := lock.TryLock(t.Context(), lockclient.As("me"))
		require.NoError(t, err)
		assert.Equal(t, "me", h.Owner())
		again, err := lock.TryLock(h.Context())
		require.NoError(t, err)
		assert.Equal(t, "me", again.Owner())
	}
	assert.Equal(t, []string{"write-acquire a | 30000 me:write again", "mutex-acquire b | 30000 me again"},
		w.sent(t, 8)[6:])
}

// What a Multi loses, another one does not lose that has only its name: its members are on other servers,
// are of other kinds, or divide the same names in another way.
func TestMultisOfOneName(t *testing.T) {
	w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
		if script == "mutex-release" {
			return integer(0), nil // held once more
		}
		return freeRW(script, keys)
	}}
	for what, others := range map[string]func(c, d *lockclient.Client) [2]*lockclient.Lock{
		"on other servers": func(c, d *lockclient.Client) [2]*lockclient.Lock {
			e := lockclient.New(w, lockclient.System())
			return [2]*lockclient.Lock{lockclient.Multi(c.Mutex("a"), e.Mutex("b")),
				lockclient.Multi(c.Mutex("a"), d.Mutex("b"))}
		},
		"of other kinds": func(c, d *lockclient.Client) [2]*lockclient.Lock {
			return [2]*lockclient.Lock{lockclient.Multi(c.Mutex("a"), c.RW("b").R()),
				lockclient.Multi(c.Mutex("a"), d.RW("b").W())}
		},
		"of other names": func(c, d *lockclient.Client) [2]*lockclient.Lock {
			return [2]*lockclient.Lock{lockclient.Multi(c.Mutex("a"), c.Mutex("b,c")),
				lockclient.Multi(c.Mutex("a,b"), d.Mutex("c"))}
		},
	} {
		for _, as := range []string{"", "me"} {
			c, d := lockclient.New(w, lockclient.System()), lockclient.New(w, lockclient.System())
			pair := others(c, d)
			require.Equal(t, pair[0].Key(), pair[1].Key())
			stays, err := pair[0].TryLock(t.Context(), lockclient.As(as))
			require.NoError(t, err)
			goes, err := pair[1].TryLock(stays.In(t.Context()), lockclient.As(as))
			require.NoError(t, err)
			d.Close()
			<-goes.Lost()
			require.ErrorIs(t, goes.Unlock(t.Context()), lockclient.ErrLost)
			assert.NoError(t, context.Cause(stays.Context()), what+as)
			assert.NoError(t, stays.Unlock(t.Context()), what)
			c.Close()
		}
	}
}

// Who uses the context of a Multi that was given back does not ask in the name of its owner.
func TestMultiInTheContextOfOneThatIsOver(t *testing.T) {
	w := &wire{reply: freeRW}
	c := lockclient.New(w, lockclient.System())
	lock := lockclient.Multi(c.Mutex("a"), c.Mutex("b"))
	h, err := lock.TryLock(t.Context(), lockclient.As("me"))
	require.NoError(t, err)
	require.NoError(t, h.Unlock(t.Context()))
	again, err := lock.TryLock(h.In(t.Context()))
	require.NoError(t, err)
	assert.NotEqual(t, "me", again.Owner())
}

// What becomes of a member's request is what becomes of the whole.
func TestMultiErrors(t *testing.T) {
	broken := errors.New("connection reset")
	for script, want := range map[string]error{
		"mutex-acquire": lockclient.ErrUnknown, "mutex-extend": lockclient.ErrUnknown, "mutex-release": lockclient.ErrUnknown,
	} {
		w := &wire{reply: func(s string, keys []string) (lockclient.Reply, error) {
			if s == script && keys[0] == "b" {
				return lockclient.Reply{}, broken
			}
			return free(s, keys)
		}}
		c := lockclient.New(w, lockclient.System())
		h, err := lockclient.Multi(c.Mutex("a"), c.Mutex("b")).Lock(t.Context())
		if err == nil {
			err = errors.Join(h.Extend(t.Context(), time.Minute), h.Unlock(t.Context()))
		}
		assert.ErrorIs(t, err, want, script)
		assert.NotErrorIs(t, err, lockclient.ErrNotAcquired, script)
		c.Close()
	}
}

// Where a member is lost while another one is asked for, the whole is lost: nobody has
// ended the caller's context.
func TestMultiLosesAMemberBeforeItIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{}
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-acquire" && keys[0] == "b" {
				<-w.asked.Done()
				return lockclient.Reply{}, w.asked.Err()
			}
			return free(script, keys)
		}
		c := lockclient.New(w, lockclient.System())
		_, err := lockclient.Multi(c.Mutex("a"), c.Mutex("b")).Lock(t.Context(), lockclient.Lease(time.Second))
		assert.ErrorIs(t, err, lockclient.ErrLost)
		assert.NotErrorIs(t, err, context.Canceled)
		assert.Contains(t, err.Error(), `lock "a,b": "a" was lost`)
	})
}

// So it is where that one is granted all the same: whoever gets the whole is told.
func TestMultiLosesAMemberAsTheLastIsGranted(t *testing.T) {
	w := &wire{}
	c, d := lockclient.New(w, lockclient.System()), lockclient.New(w, lockclient.System())
	w.reply = func(script string, keys []string) (lockclient.Reply, error) {
		if script == "mutex-acquire" && keys[0] == "z" {
			d.Close()
		}
		return free(script, keys)
	}
	h, err := lockclient.Multi(c.Mutex("a"), d.Mutex("b"), c.Mutex("z")).Lock(t.Context())
	require.NoError(t, err)
	select {
	case <-h.Lost():
	default:
		assert.Fail(t, "nobody is told")
	}
	assert.Equal(t, lockclient.ErrLost, context.Cause(h.Context()))
	assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)
}

// Where the caller's context ends the error is that of the context: nothing was lost.
func TestMultiOfWhichTheCallerGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &wire{}
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-acquire" && keys[0] == "b" {
				cancel()
				return integer(60000), nil
			}
			return free(script, keys)
		}
		c := lockclient.New(w, lockclient.System())
		_, err := lockclient.Multi(c.Mutex("a"), c.Mutex("b")).Lock(ctx)
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, lockclient.ErrLost)
	})
}

// The whole lasts as long as its shortest member, and ends when a member's
// client is closed. Its end is told once.
func TestMultiEndsWithAMember(t *testing.T) {
	w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
		if script == "mutex-release" {
			return integer(0), nil // held once more
		}
		return free(script, keys)
	}}
	events := make(chan lockclient.Event, 20)
	c := lockclient.New(w, lockclient.System(), lockclient.WithObserver(func(e lockclient.Event) {
		if e.Kind == lockclient.Lost {
			events <- e
		}
	}))
	d := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(time.Second))
	h, err := lockclient.Multi(c.Mutex("a"), d.Mutex("b")).Lock(t.Context())
	require.NoError(t, err)
	other, err := c.Mutex("a").Lock(h.Context())
	require.NoError(t, err)
	assert.Less(t, h.Until(), other.Until())
	d.Close()
	<-h.Lost()
	<-h.Context().Done()
	assert.Equal(t, lockclient.ErrLost, context.Cause(h.Context()))
	assert.Equal(t, "a,b", (<-events).Key)
	assert.ErrorIs(t, h.Extend(t.Context(), time.Second), lockclient.ErrLost)
	assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)
	assert.NoError(t, other.Unlock(t.Context()), "the other member was not lost")
	assert.Empty(t, events)
}

// What a Multi within a Multi has is not renewed either when another member is lost.
func TestMultiInAMultiThatIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		renewed := 0
		c := lockclient.New(&wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script != "mutex-renew" {
				return free(script, keys)
			}
			known := lockclient.Reply{Kind: lockclient.ListReply}
			for _, key := range keys {
				if key == "a" {
					renewed++
				}
				known.List = append(known.List, integer(map[string]int64{"a": 1}[key])) // "b" is gone
			}
			return known, nil
		}}, lockclient.System())
		h, err := lockclient.Multi(lockclient.Multi(c.Mutex("a")), c.Mutex("b")).Lock(t.Context())
		require.NoError(t, err)
		<-h.Lost()
		time.Sleep(time.Minute)
		assert.Equal(t, 1, renewed)
		c.Close()
	})
}

// What is left of a lease is the same by all clocks: each client may have a System of its own.
func TestMultiOfSeveralClocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := lockclient.New(&wire{reply: free}, lockclient.System())
		defer old.Close()
		time.Sleep(time.Hour)
		young := lockclient.New(&wire{reply: free}, lockclient.System())
		defer young.Close()
		for _, locks := range [][]*lockclient.Lock{
			{old.Mutex("a"), young.Mutex("b")}, {young.Mutex("a"), old.Mutex("b")},
		} {
			h, err := lockclient.Multi(locks...).Lock(t.Context(), lockclient.Lease(10*time.Second))
			require.NoError(t, err)
			assert.Equal(t, 9898*time.Millisecond, h.Left())
			time.Sleep(time.Second)
			assert.Equal(t, 8898*time.Millisecond, h.Left())
			require.NoError(t, h.Unlock(t.Context()))
		}
	})
}

// Two accounts on two servers are locked together.
func ExampleMulti() {
	east := lockclient.New(&wire{reply: free}, lockclient.System())
	west := lockclient.New(&wire{reply: free}, lockclient.System())
	defer east.Close()
	defer west.Close()

	both := lockclient.Multi(west.Mutex("account:7"), east.Mutex("account:3"))
	err := both.Do(context.Background(), func(_ context.Context, h *lockclient.Held) error {
		fmt.Println("holding", h.Key())
		return nil
	})
	fmt.Println(err)
	// Output:
	// holding account:3,account:7
	// <nil>
}

// A member that its cluster refuses is asked for again for as long as one request may take, as a lock by
// itself is, also where others were taken before it.
func TestMemberThatItsClusterRefuses(t *testing.T) {
	for lasts, wait := range map[time.Duration]time.Duration{2 * time.Second: time.Minute, 8 * time.Second: time.Minute,
		time.Second: 0} {
		bubble(t, func(t *testing.T) {
			begun := time.Now()
			w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
				if keys[0] == "b" && time.Since(begun) < lasts {
					return lockclient.Reply{}, &lockclient.ServerError{Text: "CLUSTERDOWN The cluster is down"}
				}
				return free(script, keys)
			}}
			c := lockclient.New(w, lockclient.System())
			defer c.Close()
			h, err := lockclient.Multi(c.Mutex("a"), c.Mutex("b")).Lock(t.Context(), lockclient.Wait(wait))
			var refused *lockclient.ServerError
			switch {
			case wait == 0:
				require.ErrorAs(t, err, &refused)
				assert.Zero(t, time.Since(begun))
			case lasts > lockclient.DefaultTimeout:
				require.ErrorAs(t, err, &refused)
				assert.InDelta(t, lockclient.DefaultTimeout, time.Since(begun), float64(time.Second))
			default:
				require.NoError(t, err)
				require.NoError(t, h.Unlock(t.Context()))
			}
		})
	}
}
