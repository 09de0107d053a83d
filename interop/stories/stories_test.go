package stories

import (
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/sim"
)

const (
	mostTime       = 90 * time.Second // of a story that is told
	mostClients    = 10
	mostOfRedisson = 16                    // stories at a time, as each of its clients has a hundred connections
	mostStarting   = 8                     // worlds at a time
	apart          = 50 * time.Millisecond // between the beginnings of two stories
)

// ungoverned is why there can be no governed worlds, "" if they can be.
var ungoverned string

// A story has the verdicts that it expects, which are the simulator's. All are told at once;
// those that go otherwise, as may be on a machine that is busy, are told once more.
func TestStories(t *testing.T) {
	needRedis(t)
	var stories []*sim.Scenario
	omitted := map[string][]string{}
	for _, s := range sim.Library() {
		if why := beyond(s); why != "" {
			omitted[why] = append(omitted[why], s.Name)
		} else {
			stories = append(stories, s)
		}
	}
	tellSome(t, stories, omitted, 2)
}

func needRedis(t *testing.T) {
	_, err := exec.LookPath(redisserver.Binary(t))
	require.NoError(t, err, "REDIS_BINARY")
}

// tellSome tells stories, and those again that go otherwise, until each has been told so many
// times. Others are omitted: names by the reason.
func tellSome(t *testing.T, stories []*sim.Scenario, omitted map[string][]string, times int) {
	fmt.Printf("%d stories are told to real processes; not those of\n", len(stories))
	if hasRedisson() {
		together.once.Do(func() { together.jvm = launch(t, nil) })
	}
	for _, why := range slices.Sorted(maps.Keys(omitted)) {
		fmt.Printf("- %s: %s\n", why, strings.Join(omitted[why], ", "))
	}
	for used := 0; times > 0 && len(stories) > 0; times-- {
		var again []*sim.Scenario
		for i, otherwise := range tellAll(t, stories, used) {
			switch {
			case otherwise == "":
			case times > 1:
				fmt.Printf("%s is told once more, as it went otherwise:%s\n", stories[i].Name, otherwise)
				again = append(again, stories[i])
			default:
				assert.Empty(t, otherwise, stories[i].Name)
			}
		}
		stories, used = again, used+len(stories)
	}
}

// tellAll tells stories, and returns what of each went otherwise. The worlds' numbers are those
// after used.
func tellAll(t *testing.T, stories []*sim.Scenario, used int) (otherwise []string) {
	for len(stories) > 0 {
		n, ofRedisson := 0, 0
		for n < len(stories) && ofRedisson < mostOfRedisson {
			if stories[n].World.Load.Redisson {
				ofRedisson++
			}
			n++
		}
		otherwise = append(otherwise, tellAtOnce(t, stories[:n], used)...)
		stories, used = stories[n:], used+n
	}
	return otherwise
}

// tellAtOnce tells stories at once. None begins while processes of another one are being started.
func tellAtOnce(t *testing.T, stories []*sim.Scenario, used int) (otherwise []string) {
	otherwise = make([]string, len(stories))
	starting := make(chan bool, mostStarting)
	var ready, all sync.WaitGroup
	ready.Add(len(stories))
	t.Run("told", func(t *testing.T) {
		for i, s := range stories {
			all.Go(func() {
				isReady := sync.OnceFunc(ready.Done)
				defer isReady() // if it is not one of those that -run wants
				t.Run(s.Name, func(t *testing.T) {
					otherwise[i] = tell(t, used+i+1, s, func(start func()) {
						starting <- true
						start()
						<-starting
						isReady()
						ready.Wait()
						time.Sleep(time.Duration(i) * apart)
					})
				})
			})
		}
		all.Wait()
	})
	return otherwise
}

// tell tells a story, and returns what went otherwise than it says, and how. Its world is
// started by within, which returns when the story may begin.
func tell(t *testing.T, number int, s *sim.Scenario, within func(start func())) string {
	a := &attempt{T: t}
	w := newWorld(a, s, number)
	within(func() { a.try(w.startAll) })
	if len(a.failures) == 0 {
		a.try(w.run)
	}
	results := w.referee.judge()
	if len(results) == 0 {
		a.Errorf("nothing that it expects can be judged here")
	}
	for _, result := range results {
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
	case w.Load.Redisson && !hasRedisson():
		return "clients of Redisson, which interop/run.sh builds"
	case w.Load.Redisson && (w.Load.Broken || w.Load.Reenter > 0 || w.Load.Downgrade || w.Load.FairWait > 0):
		return "what no client of Redisson does here"
	case !slices.ContainsFunc(s.Expect, func(e sim.Expectation) bool { return newReferee(s).checker(e.Check) != nil }):
		return "checks that look into servers"
	case (w.Cluster || w.Watched > 0) && ungoverned != "":
		return "a cluster or Sentinels: " + ungoverned
	case s.For > mostTime:
		return fmt.Sprintf("more than %v", mostTime)
	case w.Clients > mostClients:
		return fmt.Sprintf("more than %d clients", mostClients)
	case w.Load.Cancel > 0 && w.Load.Cancel < 100*time.Millisecond:
		return "milliseconds that decide"
	}
	for _, step := range s.Steps {
		switch {
		case step.Verb == "calm" && slices.ContainsFunc(s.Steps, func(o sim.Step) bool { return o.Verb == "crash" }):
			return "a calm that brings back who has crashed"
		case step.Verb == "duplicate":
			return "messages that come twice"
		case step.Verb == "stall":
			return "a client that stands still at an instruction of its own"
		case step.Verb == "slow":
			return "a server that is slow"
		case step.Verb == "clock" && step.Args[0][0] == 'c' && option(step, "jump") == "":
			return "a client's clock of another rate"
		case needsMachine(w, step) || step.Verb == "clock" && w.Load.Redisson:
			if _, ok := machineLibrary(); !ok {
				return "clocks and disks of servers, without a C compiler"
			}
		}
	}
	return ""
}
