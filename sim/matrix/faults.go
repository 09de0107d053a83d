package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// faultKinds are the kinds of fault that rows name.
var faultKinds = []string{
	"pause-client", "pause-asking", "pause-server", "pause-minority",
	"crash-holder", "crash-waiter",
	"cut", "drop-reply", "drop-message", "duplicate",
	"jump-server", "jump-client", "offset-client",
	"rate-below-3x", "rate-above-3x", "rate-below-1%", "rate-above-1%",
	"failover", "outage", "outage-minority", "split",
	"restart-synced", "restart-late", "restart-empty", "restart-empty-late",
	"evict", "evict-spare", "migrate",
}

// faultNames reads a list of kinds of fault.
func faultNames(text string) ([]string, error) {
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(faultKinds, name) {
			return nil, fmt.Errorf("unknown kind of fault %q: expected %s", name, strings.Join(faultKinds, ", "))
		}
	}
	return names, nil
}
