package sim

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nodes hear of the death of another one behind what that had sent.
func TestDeathsComeLast(t *testing.T) {
	heard := regexp.MustCompile(`^\S+ (\w+) (?:deliver m1|applied the effects of m1)(.*)`)
	for seed := range 8 {
		lines, _ := story(t, "world cluster=3x1 clients=1 ttl=20s renew=off hold=20ms think=20ms delay=1ms..200ms "+
			"down-after=2s\nat 0s start c1\nat 5010ms crash m1\nrun for=6s seed="+fmt.Sprint(seed)+"\n")
		closed := map[string]bool{}
		for _, line := range lines {
			if at := heard.FindStringSubmatch(line); at != nil {
				end := strings.Contains(at[2], "connection closed")
				require.False(t, closed[at[1]] && !end, "seed %d: %s", seed, line)
				closed[at[1]] = end && line > "5.010" && line[0] == '5'
			}
		}
		require.NotEmpty(t, closed)
	}
}
