package sim

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A slow replica is late with what its master has changed, and confirms it late; the end of its
// master comes behind that.
func TestSlowReplica(t *testing.T) {
	const world = "world replicas=1 clients=1 lock=mutex ttl=10s renew=off hold=500ms rounds=1 delay=1ms sync=on\n"
	lines, _ := story(t, world+"at 0s slow r1 for=20s by=800ms\nat 10ms start c1\nrun for=30s\n")
	for _, want := range []string{`^0.816 r1 applied the effects of m1`, `^0.818 c1 holds`,
		`^2.124 r1 applied`, `^2.924 r1 applied`} {
		require.True(t, slices.ContainsFunc(lines, regexp.MustCompile(want).MatchString), "%s: %s", want, lines)
	}
	lines, _ = story(t, world+"at 0s slow r1 for=20s by=300ms\nat 10ms start c1\nat 824ms crash m1\nrun for=30s\n")
	i := slices.IndexFunc(lines, regexp.MustCompile(`r1 deliver m1 connection closed`).MatchString)
	require.Regexp(t, `^1.124 r1 applied`, lines[i-1])
}
