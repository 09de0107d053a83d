package failover

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// event is what a worker tells. Programs print one as a line of JSON.
type event struct {
	Do    string // hold, free, error
	Lock  string // short or long
	Token int64  // of a hold and of its end
	Text  string // of an error
}

// referee watches one client. It is safe for concurrent use.
type referee struct {
	mu         sync.Mutex
	holder     map[string]int64 // the token of who holds the lock
	token      map[string]int64 // the largest so far
	grants     int              // of the short lock
	long       int              // of the long lock
	errors     int
	lastError  string
	violations []string
	during     string        // what has happened last
	last       time.Time     // when the short lock was granted
	gap        time.Duration // the longest time between two such grants since begin
}

func newReferee() *referee {
	return &referee{holder: map[string]int64{}, token: map[string]int64{}, last: time.Now()}
}

// note takes what a worker tells, in the order in which all of them told it.
func (r *referee) note(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Do {
	case "error":
		r.errors++
		r.lastError = e.Text
	case "hold":
		r.hold(e)
	case "free":
		if r.holder[e.Lock] == e.Token {
			delete(r.holder, e.Lock)
		}
	default:
		r.violate("unknown event %+v", e)
	}
}

func (r *referee) hold(e event) {
	if other, held := r.holder[e.Lock]; held {
		r.violate("%s: %d and %d hold at a time", e.Lock, other, e.Token)
	}
	if e.Token <= r.token[e.Lock] {
		r.violate("%s: token %d after %d", e.Lock, e.Token, r.token[e.Lock])
	}
	r.holder[e.Lock] = e.Token
	r.token[e.Lock] = max(r.token[e.Lock], e.Token)
	if e.Lock == "long" {
		r.long++
		return
	}
	r.grants++
	now := time.Now()
	r.gap = max(r.gap, now.Sub(r.last))
	r.last = now
}

func (r *referee) violate(format string, args ...any) {
	if len(r.violations) < 10 { // more say no more
		r.violations = append(r.violations, fmt.Sprintf(format, args...)+r.during)
	}
}

// begin forgets the gaps so far, and notes what happens now.
func (r *referee) begin(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gap, r.during = 0, ", during the "+fault
}

// standing is what the referee has counted.
func (r *referee) standing() (grants int, gap time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.grants, max(r.gap, time.Since(r.last))
}

// await waits for so many grants of the short lock.
func (r *referee) await(t *testing.T, what string, grants int, end time.Time) {
	t.Helper()
	for {
		r.mu.Lock()
		now, lastError := r.grants, r.lastError
		r.mu.Unlock()
		if now >= grants {
			return
		}
		require.True(t, time.Now().Before(end), "%s: no: %d grants of %d, the last error: %s", what, now, grants, lastError)
		time.Sleep(pollPeriod)
	}
}

// judge requires that all was well, and logs the sums. careless says that the
// client is known to let two hold at a time, also on redis-server.
func (r *referee) judge(t *testing.T, name string, careless bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%s: %d short and %d long grants, %d errors, the last: %s", name, r.grants, r.long, r.errors, r.lastError)
	if careless {
		t.Logf("%s: violations: %q", name, r.violations)
	} else {
		assert.Empty(t, r.violations, name)
	}
	assert.Positive(t, r.long, "%s: grants of the long lock", name)
}

// The referee sees what it is there for.
func TestReferee(t *testing.T) {
	r := newReferee()
	for _, e := range []event{
		{Do: "hold", Lock: "short", Token: 1}, {Do: "hold", Lock: "long", Token: 1},
		{Do: "free", Lock: "short", Token: 1}, {Do: "hold", Lock: "short", Token: 2},
	} {
		r.note(e)
	}
	assert.Empty(t, r.violations)
	assert.Equal(t, 2, r.grants)
	r.note(event{Do: "hold", Lock: "short", Token: 3})
	assert.Equal(t, []string{"short: 2 and 3 hold at a time"}, r.violations)
	r.note(event{Do: "free", Lock: "long", Token: 1})
	r.note(event{Do: "hold", Lock: "long", Token: 1})
	assert.Equal(t, "long: token 1 after 1", r.violations[1])
}
