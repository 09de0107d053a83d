package simtest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/simtest"
)

// late is a world in which messages come late, and leases are short.
const late = `
	# Nobody's lock is deleted by somebody else.
	world lock=own clients=3 ttl=2s hold=1s..2s think=0s..500ms delay=1ms..5ms
	expect exclusion=holds
	faults delay=1s..3s most=3
	run for=20s`

func naive(careful bool) sim.Own {
	return sim.Own{Lock: func(c *sim.Client) sim.Lock { return newNaiveLock(c, careful) }}
}

// recorder is a testing.TB that keeps what a failing test says.
type recorder struct {
	testing.TB
	name   string
	said   strings.Builder
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Name() string { return r.name }

func (r *recorder) Errorf(format string, args ...any) {
	r.Logf(format, args...)
	r.failed = true
}

func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.said, format+"\n", args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failing runs a test that is to fail, and returns what it says.
func failing(t *testing.T, test simtest.Test) string {
	t.Helper()
	return failingAs(t, "TestMine", test)
}

// failingAs is failing for a test of a name.
func failingAs(t *testing.T, name string, test simtest.Test) string {
	t.Helper()
	failed, said := ran(t, name, test)
	require.True(t, failed, "the test passed: %s", said)
	return said
}

// ran runs a test of a name.
func ran(t *testing.T, name string, test simtest.Test) (failed bool, said string) {
	r := &recorder{TB: t, name: name}
	done := make(chan bool)
	go func() {
		defer close(done)
		simtest.Run(r, test)
	}()
	<-done
	return r.failed, r.said.String()
}

// A lock that is deleted with GET and DEL is caught, the one that does both in a
// script is not.
func TestNaiveLock(t *testing.T) {
	simtest.Run(t, simtest.Test{Scenario: late, Own: naive(true), Seeds: 200})
	said := failing(t, simtest.Test{Scenario: late, Own: naive(false)})
	t.Log(said)
	require.Contains(t, said, "simtest: exclusion is violated with seed 10000000")
	require.Contains(t, said, "it needs: delay.")
	require.Regexp(t, `at \S+ delay (m1 c|c)`, said)
	require.Equal(t, 1, strings.Count(said, " delay "), "one fault is enough")
	require.Regexp(t, `(?m)^# exclusion is violated: c`, said)

	require.Contains(t, said, "by 2.000s: \"c1/1\" (#", "why says what came late")
	require.Contains(t, said, " executes DEL lock:1 = 1, asked by c")
	require.Contains(t, said, "\nAssumptions that did not hold: messages arrive before leases end.\n")
	require.Contains(t, said, "\n  a lease three times as long: exclusion is not violated, nor in ")
	page := regexp.MustCompile(`\npage: (\S+\.html)\n`).FindStringSubmatch(said)
	require.Len(t, page, 2)
	html, err := os.ReadFile(page[1])
	require.NoError(t, err)
	require.Contains(t, string(html), "the network delays a message")

	replay := regexp.MustCompile(`replay: SIMTEST_REPLAY=(\S+) go test -run '\^TestMine\$'`).FindStringSubmatch(said)
	require.Len(t, replay, 2)
	t.Setenv("SIMTEST_REPLAY", replay[1])
	again := failing(t, simtest.Test{Scenario: late, Own: naive(false)})
	require.Contains(t, again, "simtest: exclusion is violated: c")
	require.NotContains(t, again, "not the run that was recorded")
	require.Contains(t, again, "\nAssumptions that did not hold: messages arrive before leases end.\n")
	simtest.Run(t, simtest.Test{Scenario: late, Own: naive(true)}) // the same story harms it not
}

// The example's lock gives up on replies that never come: lost messages cost it time, and
// stop nobody for ever.
func TestLostMessages(t *testing.T) {
	simtest.Run(t, simtest.Test{Seeds: 100, Own: naive(true), Scenario: `
		world lock=own clients=2 ttl=2s hold=1s think=0s..500ms bound=30s
		expect exclusion=holds progress=holds
		faults drop lost-reply lost-message most=2
		run for=60s`})
}

// A story has no more rounds than it needs, and its fault strikes what is left of them.
func TestRoundsOfStories(t *testing.T) {
	said := failing(t, simtest.Test{Scenario: late, Own: naive(false)})
	require.Contains(t, said, " rounds=2 ", "the lock that is deleted is another's, who takes it meanwhile")
	said = failing(t, simtest.Test{Own: naive(true), Scenario: `
		world lock=own clients=2 ttl=3s hold=1s think=1s
		expect progress=holds
		faults delay
		run for=30s`})
	require.Contains(t, said, " clients=1 ttl=3s rounds=1 ")
	require.Regexp(t, `at 0s delay \S+ \S+ next=1 by=\S+\n`, said)
}

// A subtest's story has a file, and its replay runs that subtest alone. The seeds are
// those of the root.
func TestSubtestsAndRoots(t *testing.T) {
	said := failingAs(t, "TestMine/two_of_them", simtest.Test{Scenario: late, Own: naive(false), Root: 7})
	require.Contains(t, said, "simtest: exclusion is violated with seed 70000000")
	file := filepath.Join(os.TempDir(), "minikv_sim_simtest.TestMine_two_of_them-exclusion.scenario")
	require.Contains(t, said, "SIMTEST_REPLAY="+file+" go test -run '^TestMine$/^two_of_them$'\n")
	require.FileExists(t, file)
}

// A replay line is one for any name of a test, and each check has a file of its own.
func TestReplayLines(t *testing.T) {
	said := failingAs(t, "TestMine/lease=3s_(short)+it's_$HOME", simtest.Test{Scenario: late, Own: naive(false)})
	require.Contains(t, said, "minikv_sim_simtest.TestMine_lease=3s_(short)+it'\\''s_$HOME-exclusion.scenario' "+
		`go test -run '^TestMine$/^lease=3s_\(short\)\+it'\''s_\$HOME$'`+"\n")

	text := strings.Replace(late, "exclusion=holds", "exclusion=holds progress=holds", 1)
	text = strings.Replace(text, "delay=1s..3s", "delay=1s..3s pause=19s", 1)
	said = failing(t, simtest.Test{Scenario: text, Own: naive(false)})
	for _, check := range []string{"exclusion", "progress"} {
		require.Contains(t, said, "/minikv_sim_simtest.TestMine-"+check+".scenario go test")
	}
}

// An invariant of a test's own is checked, in a workload of its own.
func TestOwnWorkload(t *testing.T) {
	world := "world lock=own clients=2 rounds=1\nexpect exclusion=holds progress=holds\nrun for=5s\n"
	simtest.Run(t, simtest.Test{Scenario: world, Seeds: 20, Own: sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		h, err := newNaiveLock(c, true).Lock(ctx)
		if err != nil {
			return
		}
		c.Asks()
		b := c.Believes(1)
		_, _ = c.Write(ctx, b)
		_ = c.Sleep(ctx, time.Duration(c.Draw(50))*time.Millisecond)
		c.Ends(b, false)
		_ = h.Unlock(ctx)
	}}})
}

// A run tells every few thousand steps, and at its end, that it goes on.
func TestRunsGoOn(t *testing.T) {
	s, err := sim.ParseScenario("x.scenario", "world lock=own clients=1 rounds=1\nrun for=5s\n")
	require.NoError(t, err)
	told := 0
	_, err = s.Run(t.Context(), sim.Options{Own: &sim.Own{Alive: func() { told++ },
		Run: func(ctx context.Context, c *sim.Client) {
			for range 10_000 {
				_ = c.Sleep(ctx, time.Microsecond)
			}
		}}})
	require.NoError(t, err)
	require.Greater(t, told, 2)
}

// What client code must not do is named.
func TestCodeThatLeavesTheSimulation(t *testing.T) {
	world := "world lock=own clients=1 rounds=1\nexpect exclusion=holds\nrun for=5s\n"
	stop := make(chan struct{})
	defer close(stop)
	for want, run := range map[string]func(ctx context.Context, c *sim.Client){
		"client code has started a goroutine: use its Runtime's Go.": func(context.Context, *sim.Client) {
			go func() { <-stop }()
		},
		"simtest_test.TestCodeThatLeavesTheSimulation.func": func(_ context.Context, c *sim.Client) {
			var beside sync.WaitGroup
			beside.Go(func() { c.Runtime().Mono() }) // and has ended when anybody looks
			beside.Wait()
		},
		"c1 ended its goroutine (runtime.Goexit), as t.FailNow": func(context.Context, *sim.Client) {
			runtime.Goexit()
		},
		"client code ended the goroutine of the run": func(ctx context.Context, c *sim.Client) {
			listen(ctx, c, func(string) { runtime.Goexit() })
		},
		"derive contexts from Runtime": func(_ context.Context, c *sim.Client) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_, _ = c.Transports()[0].Do(ctx, "", "PING")
		},
		"c1 panicked: out of order": func(context.Context, *sim.Client) { panic("out of order") },
		", as c1 goes on and on and never waits": func(ctx context.Context, c *sim.Client) {
			for c.Sleep(ctx, 0) == nil {
			}
		},
		"c1 panicked: 131072 functions that it gave to its Runtime's Go are still under way": func(
			ctx context.Context, c *sim.Client,
		) {
			for {
				c.Runtime().Go(func() { _ = c.Sleep(ctx, time.Hour) })
			}
		},
	} {
		said := failing(t, simtest.Test{Scenario: world, Seeds: 5, Own: sim.Own{Run: run}})
		require.Contains(t, said, want)
		require.NotContains(t, said, "violated")
	}
}

// Code that waits in real time is named, whether for ever or a little in each attempt.
func TestCodeThatWaitsInRealTime(t *testing.T) {
	world := "world lock=own clients=1 think=1s\nexpect exclusion=holds\nrun for=5s\n"
	stop := make(chan struct{})
	defer close(stop)
	for name, wait := range map[string]func(){
		"sleep": func() { time.Sleep(20 * time.Millisecond) },
		"timer": func() { <-time.After(20 * time.Millisecond) },
		"select": func() {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-stop:
			}
		},
		"for ever": func() { <-stop },
	} {
		said := failing(t, simtest.Test{Scenario: world, Own: sim.Own{Run: func(context.Context, *sim.Client) { wait() }}})
		require.Contains(t, said, "client code waits in real time: it must wait through its Runtime and Transports.", name)
		require.Contains(t, said, "TestCodeThatWaitsInRealTime", name)
	}
}

// Code that computes for long does not block.
func TestCodeThatComputes(t *testing.T) {
	defer simtest.SetPatience(simtest.SetPatience(50 * time.Millisecond))
	world := "world lock=own clients=1 rounds=1\nexpect exclusion=holds\nrun for=5s\n"
	began, sum := time.Now(), [sha256.Size]byte{}
	own := sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		hold(ctx, c)
		for time.Since(began) < 200*time.Millisecond {
			sum = sha256.Sum256([]byte(hex.EncodeToString(sum[:])))
		}
	}}
	failed, said := ran(t, "TestMine", simtest.Test{Scenario: world, Seeds: 1, Own: own})
	require.False(t, failed, said)
}

// Code that computes for ever does not let the run go on either.
func TestCodeThatComputesForEver(t *testing.T) {
	defer simtest.SetPatience(simtest.SetPatience(20 * time.Millisecond))
	var enough atomic.Bool
	defer enough.Store(true)
	world := "world lock=own clients=1 rounds=1\nexpect exclusion=holds\nrun for=5s\n"
	own := sim.Own{Run: func(context.Context, *sim.Client) {
		for sum := [sha256.Size]byte{}; !enough.Load(); {
			sum = sha256.Sum256([]byte(hex.EncodeToString(sum[:])))
		}
	}}
	failed, said := ran(t, "TestMine", simtest.Test{Scenario: world, Seeds: 1, Own: own})
	require.True(t, failed)
	require.Contains(t, said, "client code goes on computing and never waits")
	require.Contains(t, said, "TestCodeThatComputesForEver")
}

// listen has deliver called by the world itself.
func listen(ctx context.Context, c *sim.Client, deliver func(string)) {
	to := c.Transports()[0]
	if _, err := to.Subscribe(ctx, "news", false, deliver, func() {}); err == nil {
		_, _ = to.Do(ctx, "", "PUBLISH", "news", "one")
		_ = c.Sleep(ctx, time.Second)
	}
}

// Code that ends its goroutine in some runs only gives no verdict: those that
// were not run to their end must not count as runs in which all was well.
func TestCodeThatEndsItsGoroutineInAFault(t *testing.T) {
	const world = "world lock=own clients=1 rounds=1\nexpect exclusion=holds\nfaults partition\nrun for=5s\n"
	ping := func(ctx context.Context, c *sim.Client) {
		rt := c.Runtime()
		ctx, cancel := rt.WithDeadline(ctx, rt.Mono()+time.Second)
		defer cancel()
		if _, err := c.Transports()[0].Do(ctx, "", "PING"); err != nil {
			runtime.Goexit()
		}
	}
	said := failing(t, simtest.Test{Scenario: world, Own: sim.Own{Run: ping}})
	require.Contains(t, said, "c1 ended its goroutine")
	loud := func(ctx context.Context, c *sim.Client) {
		if c.Draw(9) == 3 {
			listen(ctx, c, func(string) { runtime.Goexit() })
		}
	}
	said = failing(t, simtest.Test{Scenario: world, Own: sim.Own{Run: loud}})
	require.Contains(t, said, "client code ended the goroutine of the run")
}

// rarely is what a client does in few runs, none of which is among those that are
// watched one by one: the first is that of seed 1000000123.
func rarely(does func(ctx context.Context, c *sim.Client)) sim.Own {
	return sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		if c.Name() == "c1" && c.Draw(60) == 7 {
			does(ctx, c)
		}
	}}
}

// Code that blocks in a run that the search comes to much later is named as well.
func TestCodeThatBlocksRarely(t *testing.T) {
	defer simtest.SetPatience(simtest.SetPatience(time.Second))
	world := "world lock=own clients=1 rounds=1\nexpect exclusion=holds\nrun for=5s\n"
	stop := make(chan struct{})
	defer close(stop)
	said := failing(t, simtest.Test{Scenario: world, Own: rarely(func(context.Context, *sim.Client) { <-stop })})
	require.Contains(t, said, "client code blocks")
	require.Contains(t, said, "TestCodeThatBlocksRarely")
}

// What is not the same when it is run again is no finding.
func TestCodeThatIsNotTheSameAgain(t *testing.T) {
	world := "world lock=own clients=2 rounds=1\nexpect exclusion=holds\nrun for=5s\n"
	runs := 0
	always := sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		runs++
		_ = c.Sleep(ctx, time.Duration(runs)*time.Millisecond)
	}}
	said := failing(t, simtest.Test{Scenario: world, Own: always})
	require.Contains(t, said, "two runs with seed 1000000000 are not the same")
	said = failing(t, simtest.Test{Scenario: world, Own: always, Root: 2})
	require.Contains(t, said, "two runs with seed 2000000000 are not the same")
	var once sync.Once
	beside := rarely(func(ctx context.Context, c *sim.Client) {
		once.Do(func() { hold(ctx, c) })
	})
	said = failing(t, simtest.Test{Scenario: world, Workers: 1, Own: besideC2(beside)})
	require.Regexp(t, `two runs with seed 1000000\d{3} are not the same`, said)
	require.NotContains(t, said, "violated")

	later := rarely(func(ctx context.Context, c *sim.Client) { // violated each time, in another way
		runs++
		_ = c.Sleep(ctx, time.Duration(runs)*time.Microsecond)
		hold(ctx, c)
	})
	said = failing(t, simtest.Test{Scenario: world, Workers: 1, Own: besideC2(later)})
	require.Regexp(t, `two runs with seed 1000000\d{3} are not the same`, said)
}

// Not only the first run is watched for goroutines.
func TestCodeThatStartsAGoroutineLater(t *testing.T) {
	stop, runs := make(chan struct{}), 0
	defer close(stop)
	said := failing(t, simtest.Test{
		Scenario: "world lock=own clients=1 rounds=1\nexpect exclusion=holds\nrun for=5s\n",
		Own: sim.Own{Run: func(context.Context, *sim.Client) {
			if runs++; runs > 2 { // the first is run twice
				go func() { <-stop }()
			}
		}},
	})
	require.Contains(t, said, "client code has started a goroutine")
}

// besideC2 is what some do while c2 has the lock.
func besideC2(some sim.Own) sim.Own {
	return sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		if c.Name() == "c2" {
			hold(ctx, c)
		}
		some.Run(ctx, c)
	}}
}

// hold believes for three seconds that the client has the lock.
func hold(ctx context.Context, c *sim.Client) {
	b := c.Believes(0)
	_ = c.Sleep(ctx, 3*time.Second)
	c.Ends(b, false)
}

// Goroutines of a test beside are not the client's.
func TestBesideOtherTests(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			go func() { <-stop }()
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	simtest.Run(t, simtest.Test{Scenario: late, Seeds: 200, Own: naive(true)})
	close(stop)
	<-ended
}

// vain is a lock that nobody gets.
type vain struct{ err error }

func (v vain) Lock(context.Context) (sim.Held, error) { return nil, v.err }

// A lock that nobody gets keeps every promise but one, and is not tested.
func TestLockThatNobodyGets(t *testing.T) {
	refused := sim.Own{Lock: func(*sim.Client) sim.Lock { return vain{errors.New("not today")} }}
	said := failing(t, simtest.Test{Scenario: late, Own: refused})
	require.Contains(t, said, "nobody ever got the lock, even without faults")
	require.Contains(t, said, "its last error: not today")
	simtest.Run(t, simtest.Test{Own: refused, Seeds: 5,
		Scenario: "world lock=own clients=1\nexpect progress=violated\nrun for=200s\n"})
	neither := sim.Own{Lock: func(*sim.Client) sim.Lock { return vain{} }}
	require.Contains(t, failing(t, simtest.Test{Scenario: late, Own: neither}), "neither a Held nor an error")
}

// untold is a lock whose holder is never told of a loss.
type untold struct{ lock sim.Lock }

type untoldHeld struct{ sim.Held }

func (untoldHeld) Lost() context.Context { return nil }

func (l untold) Lock(ctx context.Context) (sim.Held, error) {
	h, err := l.lock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return untoldHeld{h}, nil
}

// A holder that nobody tells of a loss believes until it unlocks.
func TestLostMayBeNil(t *testing.T) {
	own := sim.Own{Lock: func(c *sim.Client) sim.Lock { return untold{newNaiveLock(c, true)} }}
	const world = "world lock=own clients=2 ttl=2s hold=%s\nexpect exclusion=%s\nrun for=20s"
	simtest.Run(t, simtest.Test{Own: own, Seeds: 20, Scenario: fmt.Sprintf(world, "1s", "holds")})
	simtest.Run(t, simtest.Test{Own: own, Seeds: 20, Scenario: fmt.Sprintf(world, "3s", "violated")})
}

func TestBadTests(t *testing.T) {
	own := naive(true)
	for want, test := range map[string]simtest.Test{
		"TestMine.scenario:1: unknown world option \"color\"": {Own: own, Scenario: "world color=red\nrun for=1s"},
		"Seeds: -5: expected 1 to 1000000000, or 0 for 1,000": {Own: own, Seeds: -5, Scenario: late},
		"Root: 18446744073: expected at most 18446744072":     {Own: own, Root: 18446744073, Scenario: late},
		"TestMine has no expect line: nothing is checked":     {Own: own, Scenario: "world lock=own\nrun for=1s"},
		"c1 panicked: Own.Lock returned no Lock": {Own: sim.Own{Lock: func(*sim.Client) sim.Lock { return nil }},
			Scenario: "world lock=own clients=1\nexpect exclusion=holds\nrun for=1s"},
		"expected lock=own in the world line": {Own: own,
			Scenario: "world\nexpect exclusion=holds\nrun for=1s"},
		"only the test that brings the lock can run this": {
			Scenario: "world lock=own\nexpect exclusion=holds\nrun for=1s"},
		"exclusion was expected to be violated, and was not with 9 seeds": {Own: own, Seeds: 9,
			Scenario: "world lock=own\nexpect exclusion=violated\nrun for=1s"},
	} {
		require.Contains(t, failing(t, test), want)
	}
	file := filepath.Join(t.TempDir(), "other.scenario")
	text := "world lock=own\nexpect exclusion=holds\nrun for=1s\n----\nhash 1 of 2\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	t.Setenv("SIMTEST_REPLAY", file)
	failed, said := ran(t, "TestMine", simtest.Test{Own: own})
	require.False(t, failed, "it is as expected now")
	require.Contains(t, said, "this is not the run that was recorded: hash ")
}
