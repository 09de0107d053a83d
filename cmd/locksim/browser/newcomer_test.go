package browser

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNewcomer walks the way from the README's first lines to a violation that is
// seen and explained, with the program built: the tour in a terminal, then its page.
func TestNewcomer(t *testing.T) {
	start := time.Now()
	tour, err := exec.Command(locksim).Output()
	require.NoError(t, err)
	require.Regexp(t, `(?s)A failover before replication grants the lock twice: the replica never heard of the first `+
		`grant\..*m1 crashes\n.*r1 is promoted to master\n.*c2 holds lock:1.*exclusion  violated  c1 `, string(tour))
	require.Contains(t, string(tour), "locksim serve")
	t.Logf("the tour explains it after %v", time.Since(start).Round(time.Millisecond))
	v := visit(t, serve(t), 1280)
	v.opens(v.home)
	v.clicks(`a[href^="/run/failover_before_replication?"]`)
	v.sees(".verdicts", "exclusion violated")
	v.sees("#why", "r1 is promoted to master")
	v.clicks("#why li:nth-child(5) button")
	v.sees("#event", "c2 holds lock:1")
	t.Logf("its page shows it after %v", time.Since(start).Round(time.Millisecond))
	require.Less(t, time.Since(start), time.Minute)
}
