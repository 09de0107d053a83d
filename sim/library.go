package sim

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed scenarios/*.scenario
var library embed.FS

// tourFirst are the scenarios with which the tour begins, in its order; the
// others follow by name.
var tourFirst = []string{
	"contention",
	"crashed_holder_frees_after_ttl",
	"pause_outlives_lease",
	"failover_before_replication",
	"redlock_survives_two_lost_masters",
	"clock_jump_breaks_redlock",
	"lost_unlock_message_costs_one_ttl",
}

// Library returns the embedded scenarios, in the order of the tour. It panics
// when one does not parse: a test reads them all.
func Library() []*Scenario {
	entries, err := library.ReadDir("scenarios")
	if err != nil {
		panic(err)
	}
	names := append([]string(nil), tourFirst...)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".scenario")
		if _, err := oneOf(Option{"scenario", name}, names); err != nil {
			names = append(names, name)
		}
	}
	list := make([]*Scenario, len(names))
	for i, name := range names {
		s, err := Find(name)
		if err != nil {
			panic(err)
		}
		list[i] = s
	}
	return list
}

// Find returns the embedded scenario of that name.
func Find(name string) (*Scenario, error) {
	text, err := library.ReadFile("scenarios/" + name + ".scenario")
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q", name)
	}
	return ParseScenario(name+".scenario", string(text))
}
