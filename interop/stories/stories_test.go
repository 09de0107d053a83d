package stories

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/sim"
)

const (
	mostTime     = time.Minute // of a story that is told
	mostClients  = 10
	mostStarting = 8 // worlds at a time
)

// A story has the verdicts that it expects, which are the simulator's. All are told at once;
// one that goes otherwise, as may be on a machine that is busy, is told once more, alone.
func TestStories(t *testing.T) {
	redisserver.Binary(t)
	if !redisserver.Installed() {
		t.Skip("redis-server " + redisserver.Version + " is not installed")
	}
	var stories, alone []*sim.Scenario
	omitted := map[string][]string{} // names by reason
	for _, s := range sim.Library() {
		if why := beyond(s); why != "" {
			omitted[why] = append(omitted[why], s.Name)
		} else {
			stories = append(stories, s)
		}
	}
	fmt.Printf("%d stories are told to real processes; not those of\n", len(stories))
	for _, why := range slices.Sorted(maps.Keys(omitted)) {
		fmt.Printf("- %s: %s\n", why, strings.Join(omitted[why], ", "))
	}
	var ready, all sync.WaitGroup // no story begins while processes of another one are being started
	ready.Add(len(stories))
	starting := make(chan bool, mostStarting)
	otherwise := make([]string, len(stories))
	for i, s := range stories {
		all.Go(func() {
			t.Run(s.Name, func(t *testing.T) {
				otherwise[i] = tell(t, s, starting, &ready)
			})
		})
	}
	all.Wait()
	for i, s := range stories {
		if otherwise[i] != "" {
			fmt.Printf("%s went otherwise:%s\n", s.Name, otherwise[i])
			alone = append(alone, s)
		}
	}
	for _, s := range alone {
		t.Run(s.Name+" alone", func(t *testing.T) {
			var ready sync.WaitGroup
			ready.Add(1)
			require.Empty(t, tell(t, s, make(chan bool, 1), &ready))
		})
	}
}

// tell tells a story when all are ready, and returns what went otherwise than it says, and
// how.
func tell(t *testing.T, s *sim.Scenario, starting chan bool, ready *sync.WaitGroup) string {
	a := &attempt{T: t}
	w := newWorld(a, s)
	a.try(func() {
		starting <- true
		defer func() {
			<-starting
			ready.Done()
		}()
		w.startAll()
	})
	ready.Wait()
	if len(a.failures) == 0 {
		a.try(w.run)
	}
	for _, result := range w.referee.judge() {
		i := slices.IndexFunc(s.Expect, func(e sim.Expectation) bool { return e.Check == result.Check })
		t.Logf("%s %s: %s", result.Check, result.Verdict, result.Reason)
		if want := s.Expect[i].Verdict; want != result.Verdict.String() {
			a.Errorf("%s is %s, expected was %s: %s", result.Check, result.Verdict, want, result.Reason)
		}
	}
	if len(a.failures) == 0 {
		return ""
	}
	return "\n" + strings.Join(a.failures, "\n") + w.referee.String()
}

// attempt is a test that may fail without being failed.
type attempt struct {
	*testing.T
	mu       sync.Mutex
	failures []string
}

// Errorf notes a failure.
func (a *attempt) Errorf(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures = append(a.failures, fmt.Sprintf(format, args...))
}

// FailNow ends what is tried.
func (a *attempt) FailNow() { runtime.Goexit() }

// try calls f, which may fail.
func (a *attempt) try(f func()) {
	var done sync.WaitGroup
	done.Go(f)
	done.Wait()
}

// beyond says why a story cannot be told in real time, "" if it can.
func beyond(s *sim.Scenario) string {
	w := &s.World
	switch {
	case w.Load.Redisson:
		return "Redisson's profile"
	case w.Cluster:
		return "a cluster"
	case w.Watched > 0:
		return "Sentinels"
	case s.For > mostTime:
		return fmt.Sprintf("more than %v", mostTime)
	case w.Clients > mostClients:
		return fmt.Sprintf("more than %d clients", mostClients)
	case w.EverySec:
		return "a loss of power"
	case w.Load.Cancel > 0 && w.Load.Cancel < 100*time.Millisecond:
		return "milliseconds that decide"
	}
	for _, step := range s.Steps {
		switch {
		case step.Verb == "duplicate":
			return "messages that come twice"
		case step.Verb == "stall":
			return "a client that stands still at an instruction of its own"
		case slices.Contains([]string{"slow", "evict"}, step.Verb):
			return step.Verb
		case step.Verb == "clock" && option(step, "jump") == "":
			return "clocks of another rate"
		case step.Verb == "clock" && step.Args[0][0] != 'c':
			if _, ok := clockLibrary(); !ok {
				return "a server's clock that jumps, without a C compiler"
			}
		}
	}
	return ""
}
