package sim

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed scenarios/*.scenario
var library embed.FS

// tour are the scenarios of the tour, in its order: each teaches something new.
var tour = []string{
	"contention",
	"crashed_holder_frees_after_ttl",
	"pause_outlives_lease",
	"failover_before_replication",
	"redlock_survives_two_lost_masters",
	"clock_jump_breaks_redlock",
	"lost_unlock_message_costs_one_ttl",
	"unconfirmed_grant_is_refused",
	"one_confirmation_of_two_is_not_enough",
	"unknown_acquisition_is_given_back",
	"crashed_reader_does_not_hold_up_writers",
	"wrong_clock_breaks_fair_order_only",
	"doubled_release_counts_once",
}

// Tour returns the scenarios of the tour.
func Tour() []*Scenario { return read(tour) }

// Library returns the embedded scenarios: those of the tour first, then the others by
// name.
func Library() []*Scenario {
	entries, err := library.ReadDir("scenarios")
	if err != nil {
		panic(err)
	}
	names := append([]string(nil), tour...)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".scenario")
		if _, err := oneOf(Option{"scenario", name}, names); err != nil {
			names = append(names, name)
		}
	}
	return read(names)
}

// read reads embedded scenarios. It panics when one does not parse: a test reads
// them all.
func read(names []string) []*Scenario {
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

// Find returns the embedded scenario of that name, or an error.
func Find(name string) (*Scenario, error) {
	text, err := library.ReadFile("scenarios/" + name + ".scenario")
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q", name)
	}
	return ParseScenario(name+".scenario", string(text))
}
