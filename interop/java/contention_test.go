package java

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	contenders = 3 // threads of each party
	visits     = 8 // of each thread
	// longest is how long one may wait that is woken whenever it is its turn: well under a lease
	longest = 10 * time.Second
)

// shortLease is how long Redisson sleeps that a message has not woken, in milliseconds.
const shortLease = "3000"

// forgets tells whether Redisson forgets a message that finds nobody asleep: who was
// refused before, and sleeps after it, does so until the lease ends (docs/anomalies.md, B 26).
func forgets(kind string) bool { return kind == "read" || kind == "write" }

// contends has several threads of both parties take the lock again and again: nobody is
// inside with anyone whom it excludes, and nobody sleeps through its turn, but as forgets says.
func contends(d *duel) {
	lease := lease
	if forgets(d.kind) {
		lease = shortLease
	}
	var alone, together atomic.Int64 // who is inside, and may be so only alone, or together with others
	var all sync.WaitGroup
	visit := func(a actor, shares bool) error {
		begun := time.Now()
		if _, err := a.call("lock", lease); err != nil {
			return err
		}
		waited, mine := time.Since(begun), &alone
		if shares {
			mine = &together
		}
		mine.Add(1)
		time.Sleep(time.Millisecond)
		if n, m := alone.Load(), together.Load(); n > 1 || n == 1 && m > 0 {
			return fmt.Errorf("%d and %d are inside", n, m)
		}
		mine.Add(-1)
		if waited > longest {
			return fmt.Errorf("waited for %v", waited)
		}
		_, err := a.call("unlock", "")
		return err
	}
	for _, p := range []party{d.here, d.there} {
		for i := range contenders {
			a := actor{d, p, fmt.Sprint("contender", i), d.kind, d.key + ":contended"}
			shares := d.rival != d.kind
			if i == 0 && shares {
				a, shares = a.of(d.rival), false
			}
			all.Go(func() {
				for range visits {
					if !assert.NoError(d, visit(a, shares), "%s %s", p.name(), a.thread) {
						return
					}
				}
			})
		}
	}
	all.Wait()
}
