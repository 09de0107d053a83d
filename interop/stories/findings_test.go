package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/matrix"
)

// findings are the shortest stories of the stored matrix that violate a promise, by the profile
// of their clients, at times that processes can keep. Others are omitted: names by the reason.
func findings(t *testing.T, profile string) (stories []*sim.Scenario, omitted map[string][]string) {
	omitted = map[string][]string{}
	for lines := json.NewDecoder(strings.NewReader(matrix.Stored)); lines.More(); {
		var r matrix.Result
		require.NoError(t, lines.Decode(&r))
		for _, c := range r.Claims {
			if r.Profile != profile || c.Story == "" {
				continue
			}
			cell := fmt.Sprintf("row %d %s %s %s", r.Row, r.Variant, r.Lock, c.Check)
			s, err := sim.ParseScenario(strings.Join(strings.Fields(cell), "-")+".scenario", c.Story)
			require.NoError(t, err)
			slow, why := inRealTime(t, s)
			if why != "" {
				omitted[why] = append(omitted[why], s.Name)
				continue
			}
			stories = append(stories, slow)
		}
	}
	return stories, omitted
}

const (
	tries    = 200 // ways to tell a story
	runs     = 10  // of each way in the simulator, all of which must violate what the story says
	tellings = 4   // to processes, as a machine can be busy: what happens once can happen
)

// inRealTime returns a story with the steps of s at times that processes can keep: though each
// of them comes up to a tenth of a second late, it violates what s violates. Otherwise it says
// why there is none.
func inRealTime(t *testing.T, s *sim.Scenario) (slow *sim.Scenario, why string) {
	if why = beyond(s); why != "" {
		return nil, why
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range tries {
		if slow = slowed(t, s, random); isSteady(t, slow, random) {
			return slow, beyond(slow)
		}
	}
	return nil, "milliseconds that decide"
}

func pick[T any](random *rand.Rand, among ...T) T { return among[random.IntN(len(among))] }

// slowed returns s with at least a quarter of a second between its steps.
func slowed(t *testing.T, s *sim.Scenario, random *rand.Rand) *sim.Scenario {
	slow := *s
	slow.Steps = slices.Clone(s.Steps)
	before, now := s.Steps[0].At, time.Duration(0)
	if s.World.Replicas > 0 {
		now = pick(random, 0, 0, 3*time.Second) // what there is at the beginning may have replicated
	}
	for i := range slow.Steps {
		gap := slow.Steps[i].At - before
		before += gap
		switch {
		case i == 0:
		case gap < 250*time.Millisecond:
			gap = pick(random, 250*time.Millisecond, 500*time.Millisecond, time.Second, 2*time.Second)
		default:
			gap = pick(random, gap, gap, gap/2, gap*2)
		}
		now += gap
		slow.Steps[i].At = now
	}
	for i := range slow.Steps[1:] {
		a, b := &slow.Steps[i], &slow.Steps[i+1]
		if a.Verb == "start" && b.Verb == "start" && random.IntN(2) == 0 {
			a.Args, b.Args = b.Args, a.Args
		}
	}
	slow.For = now + max(s.For-before, pick(random, 3*time.Second, 5*time.Second, 10*time.Second))
	again := &slow
	set := func(name string, values ...string) {
		if value := pick(random, values...); value != "" {
			var err error
			again, err = again.With(name, value)
			require.NoError(t, err)
		}
	}
	given := func(name string) bool {
		return slices.ContainsFunc(s.World.Words, func(o sim.Option) bool { return o.Name == name })
	}
	if given("scales") {
		set("scales", "off")
	}
	if !given("hold") {
		set("hold", "2s", "5s", "20s")
	}
	if s.World.Replicas > 0 {
		set("lag", "", "", "1s", "3s")
	}
	again.Name = s.Name
	return again
}

// isSteady reports whether s comes out as it says whenever its steps come a little late.
func isSteady(t *testing.T, s *sim.Scenario, random *rand.Rand) bool {
	for n := range uint64(runs) {
		late := *s
		late.Steps = slices.Clone(s.Steps)
		for i := range late.Steps {
			late.Steps[i].At += time.Duration(random.IntN(100)) * time.Millisecond
		}
		again, err := late.With("delay", "1ms..10ms")
		require.NoError(t, err)
		report, err := again.Run(context.Background(), sim.Options{Seed: s.Seed + n})
		require.NoError(t, err)
		if !report.AsExpected() {
			return false
		}
	}
	return true
}

// TestFindings tells what searches have found to real processes: whatever the stored matrix says
// lockclient cannot promise, it does not keep there either.
func TestFindings(t *testing.T) {
	needRedis(t)
	stories, omitted := findings(t, "lockclient")
	tellSome(t, stories, omitted, tellings)
}

// TestFindingsOfRedisson is the same for Redisson.
func TestFindingsOfRedisson(t *testing.T) {
	if !hasRedisson() {
		t.Skip("interop/run.sh builds Redisson and runs this")
	}
	needRedis(t)
	stories, omitted := findings(t, "redisson")
	tellSome(t, stories, omitted, tellings)
}
