package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
)

// huntable is a scenario in which a pause breaks exclusion.
const huntable = "# A pause is no friend of a lease.\n" +
	"world clients=3 lock=mutex ttl=10s hold=3s think=1s\nexpect exclusion=violated\n" +
	"faults pause\nrun for=60s seed=1\n"

func writeScenario(t *testing.T, text string) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, "test.scenario")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return folder, file
}

// A hunt finds a violation, and writes a story that replays, runs with the same
// verdict, and shrinks no further.
func TestHuntFindsShrinksAndReplays(t *testing.T) {
	folder, file := writeScenario(t, huntable)
	code, out, errs := locksim("hunt", file, "--root", "5", "--out", folder)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, out, "exclusion violated, needs pause\n")
	require.Contains(t, out, ": 1 fault, 2 operations\n")
	lines := replays(out)
	require.Len(t, lines, 1)
	require.Equal(t, "replay", lines[0][0])

	code, replayed, errs := locksim(lines[0]...)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, replayed, "the same run, event for event")
	code, again, _ := locksim("run", lines[0][1], "--trace", "none")
	require.Equal(t, exitExpected, code)
	hash := regexp.MustCompile(`hash +\w+ of \d+ events`).FindString(out)
	require.Contains(t, again, hash)
	require.Contains(t, replayed, hash)

	shorter := filepath.Join(folder, "shorter.scenario")
	code, _, errs = locksim("shrink", lines[0][1], "--out", shorter)
	require.Equal(t, exitExpected, code, errs)
	require.Equal(t, contents(t, lines[0][1]), contents(t, shorter))
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// What a hunt says depends on its seeds alone.
func TestHuntIsTheSameOnAnyNumberOfCores(t *testing.T) {
	seconds := regexp.MustCompile(`in [\d.]+ s`)
	var first string
	for _, workers := range []string{"1", "2", "5"} {
		folder, file := writeScenario(t, huntable)
		_, out, _ := locksim("hunt", file, "--root", "5", "--workers", workers, "--out", folder)
		out = seconds.ReplaceAllString(strings.ReplaceAll(out, folder, ""), "")
		if first == "" {
			first = out
		}
		require.Equal(t, first, out)
	}
}

// stopAfter ends a context when something was written so often.
type stopAfter struct {
	bytes.Buffer
	stop func()
}

func (s *stopAfter) Write(p []byte) (int, error) {
	s.stop()
	return s.Buffer.Write(p)
}

// Interrupted, a hunt says how to go on; gone on with, it ends as it would have.
func TestHuntIsResumed(t *testing.T) {
	folder, file := writeScenario(t, strings.Replace(huntable, "hold=3s", "hold=1s", 1))
	args := []string{"hunt", file, "--root", "5", "--out", folder, "--hits", "100", "--seeds", "40"}
	_, whole, _ := locksim(args...)
	state := filepath.Join(folder, "test-5.hunt")
	half := `{"name":"test","build":"` + buildName() + `","scenario":` + quoted(contents(t, file)) +
		`,"root":5,"seeds":40,"hits":100,"tried":20,"found":[`
	found := regexp.MustCompile(`seed (50000000[01]\d):`).FindAllStringSubmatch(whole, -1)
	require.NotEmpty(t, found, whole)
	for i, f := range found {
		half += strings.Repeat(",", min(i, 1)) + f[1]
	}
	renamed := filepath.Join(folder, "mine.hunt")
	require.NoError(t, os.WriteFile(renamed, []byte(half+"]}"), 0o600))
	code, rest, errs := locksim("hunt", "--resume", renamed)
	require.Equal(t, exitExpected, code, errs)
	cut := func(s string) string { return s[strings.Index(s, "\nseed"):] }
	require.Equal(t, cut(whole), cut(rest))
	require.NoFileExists(t, state, "its own file says that it is at its end")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := &stopAfter{stop: func() {}}
	require.Equal(t, exitInterrupted, run(ctx, args, out, out), out.String())
	require.Contains(t, out.String(), "resume: locksim hunt --resume "+state)
	code, rest, errs = locksim("hunt", "--resume", state)
	require.Equal(t, exitExpected, code, errs)
	require.Equal(t, cut(whole), cut(rest))
	code, _, errs = locksim("hunt", "--resume", state)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "the hunt had ended: there is nothing to resume")
}

// Interrupted while its story is made short, a hunt is resumed too.
func TestHuntIsResumedAtItsStory(t *testing.T) {
	folder, file := writeScenario(t, huntable)
	for _, enough := range []string{"--seeds 40 --hits 2", "--seeds 20 --hits 100"} { // hits, and seeds
		args := append([]string{"hunt", file, "--root", "5", "--out", folder}, strings.Fields(enough)...)
		_, whole, _ := locksim(args...)
		cut := func(s string) string { return s[strings.Index(s, "\nseed"):] }

		ctx, cancel := context.WithCancel(context.Background())
		out := &stopAfter{stop: cancel} // at its first word, which is what it found
		require.Equal(t, exitInterrupted, run(ctx, args, out, out), out.String())
		require.Contains(t, out.String(), "resume: locksim hunt --resume ")
		require.NotContains(t, out.String(), "the shortest story")
		code, rest, errs := locksim("hunt", "--resume", filepath.Join(folder, "test-5.hunt"))
		require.Equal(t, exitExpected, code, errs)
		require.Equal(t, cut(whole), cut(rest))
	}
}

// What violates without the fault that is needed is counted over the interruption too,
// and a hunt that nobody interrupts leaves no file of its own.
func TestResumedHuntCountsTheOthers(t *testing.T) {
	text := strings.NewReplacer("=violated", "=holds", "faults pause", "faults pause amnesia").Replace(huntable)
	folder, file := writeScenario(t, text)
	args := []string{"hunt", file, "--root", "5", "--out", folder, "--hits", "9", "--seeds", "60", "--need", "amnesia"}
	_, whole, _ := locksim(args...)
	count := regexp.MustCompile(`\d+ violations, \d+ others without amnesia`)
	require.Regexp(t, count, whole)
	left, err := filepath.Glob(filepath.Join(folder, "*.hunt"))
	require.NoError(t, err)
	require.Empty(t, left)

	s, err := sim.ParseScenario("test.scenario", text)
	require.NoError(t, err)
	h := hunt{folder: folder, state: huntState{Name: "test", Scenario: text, Root: 5, Seeds: 60, Hits: 9, Need: "amnesia",
		Build: buildName()}}
	res, err := explore.Search(t.Context(), explore.Problem{Scenario: s}, explore.Options{Root: 5, Seeds: 20, Hits: 9,
		Need: "amnesia"})
	require.NoError(t, err)
	require.Positive(t, res.Other)
	h.storeNowAndThen(res)
	code, rest, errs := locksim("hunt", "--resume", h.file())
	require.Equal(t, exitDiffers, code, errs)
	require.Equal(t, count.FindString(whole), count.FindString(rest))

	require.NoError(t, h.end())
	require.NoFileExists(t, h.file())
}

// A run that breaks what was to hold says how to make its story short.
func TestShrinkLineShrinks(t *testing.T) {
	folder, file := writeScenario(t, strings.Replace(huntable, "exclusion=violated", "exclusion=holds", 1))
	_, hunted, _ := locksim("hunt", file, "--root", "5", "--out", folder)
	seed := regexp.MustCompile(`seed (\d+): exclusion`).FindStringSubmatch(hunted)[1]
	code, out, _ := locksim("run", file, "--seed", seed, "--trace", "none")
	require.Equal(t, exitDiffers, code)
	shrink := regexp.MustCompile(`(?m)^shrink: locksim (.*)$`).FindStringSubmatch(out)
	require.Len(t, shrink, 2)
	code, short, errs := locksim(append(strings.Fields(shrink[1]), "--out", filepath.Join(folder, "x.scenario"))...)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, short, ": 1 fault, 2 operations\n")
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"` }

// Where nothing is found that was expected, or something that was not, the exit
// code says so.
func TestHuntJudges(t *testing.T) {
	for text, want := range map[string]int{
		strings.Replace(huntable, "faults pause", "faults pause=1ms", 1):                    exitDiffers,
		strings.Replace(huntable, "exclusion=violated", "exclusion=holds", 1):               exitDiffers,
		strings.NewReplacer("=violated", "=holds", "pause", "drop").Replace(huntable):       exitExpected,
		strings.Replace(huntable, "exclusion=violated", "exclusion=violated kept=holds", 1): exitExpected,
	} {
		folder, file := writeScenario(t, text)
		code, out, errs := locksim("hunt", file, "--root", "5", "--seeds", "200", "--out", folder, "--check", "exclusion")
		require.Equal(t, want, code, "%s\n%s%s", text, out, errs)
	}
}

// Where a hit violates a check that is expected to hold, that decides, though one that
// is expected to be violated comes first, and the story is of such a hit.
func TestHuntJudgesEveryViolation(t *testing.T) {
	text := "# Exclusion is given up, progress is not.\n" +
		"world clients=3 lock=mutex ttl=3s renew=off hold=2s think=100ms\n" +
		"expect exclusion=violated progress=holds\nfaults pause=6s..9s drop most=3\nrun for=40s\n"
	folder, file := writeScenario(t, text)
	code, out, errs := locksim("hunt", file, "--root", "5", "--out", folder)
	require.Equal(t, exitDiffers, code, errs)
	require.Contains(t, out, "\n# progress is violated: ")
	require.Contains(t, out, "expected: progress=holds\n")
	require.NotContains(t, out, "expected: exclusion")

	h := hunt{problem: explore.Problem{Scenario: parsed(t, text)}}
	given := explore.Hit{Seed: 1, Violated: []check.Result{{Check: "exclusion", Verdict: check.Violated}}}
	kept := explore.Hit{Seed: 2, Violated: []check.Result{{Check: "progress", Verdict: check.Violated}}}
	require.Equal(t, []explore.Hit{kept}, h.worst([]explore.Hit{given, kept}))
	require.Equal(t, []explore.Hit{given, given}, h.worst([]explore.Hit{given, given}))
}

func parsed(t *testing.T, text string) *sim.Scenario {
	t.Helper()
	s, err := sim.ParseScenario("test.scenario", text)
	require.NoError(t, err)
	return s
}

// A story's file has the seed of the hit that the story is of, not of the first.
func TestStoryIsNamedAfterItsHit(t *testing.T) {
	text := strings.Replace(huntable, "faults pause", "faults pause drop partition", 1)
	for _, root := range []string{"11", "14", "16", "20", "22"} {
		folder, file := writeScenario(t, text)
		_, out, _ := locksim("hunt", file, "--root", root, "--out", folder, "--hits", "5")
		hits := regexp.MustCompile(`seed (\d+):`).FindAllStringSubmatch(out, -1)
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(replays(out)[0][1]), "test-"), ".scenario")
		if name == hits[0][1] {
			continue
		}
		seed, err := strconv.ParseUint(name, 10, 64)
		require.NoError(t, err)
		hit, err := explore.Of(t.Context(), explore.Problem{Scenario: parsed(t, text)}, seed)
		require.NoError(t, err)
		short, err := explore.Shrink(t.Context(), []explore.Hit{*hit})
		require.NoError(t, err)
		require.Contains(t, out, short.Story.Text()[strings.Index(short.Story.Text(), "\n"):])
		return
	}
	t.Fatal("the shortest story was always that of the first hit")
}

// A run that violates several checks is told, and made short, for one that was expected
// to hold, or for the one that is asked for.
func TestWhichViolationIsTold(t *testing.T) {
	text := "# Exclusion is given up, the kept belief is not.\n" +
		"world clients=2 lock=mutex ttl=3s renew=off rounds=1 delay=1ms\nexpect exclusion=violated kept=holds\n" +
		"at 0s start c1\nat 10ms pause c1 for=7s\nat 4s start c2\nrun for=12s seed=1\n"
	folder, file := writeScenario(t, text)
	short := filepath.Join(folder, "short.scenario")
	for want, more := range map[string][]string{"kept": nil, "exclusion": {"--check", "exclusion"}} {
		code, out, errs := locksim(append([]string{"explain", file}, more...)...)
		require.Equal(t, exitExpected, code, errs)
		require.Contains(t, out, "So "+want+" is violated")
		code, out, errs = locksim(append([]string{"shrink", file, "--out", short}, more...)...)
		require.Equal(t, exitExpected, code, errs)
		require.Contains(t, out, "\nexpect "+want+"=violated\n")
	}
	for _, command := range []string{"explain", "shrink"} {
		code, _, errs := locksim(command, file, "--check", "fencing")
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, "fencing is not checked in test: its checks are [exclusion kept]")
	}
}

// endingContext ends when it was asked so often whether it has.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Interrupted, shrink leaves the shortest story so far, and that one replays.
func TestInterruptedShrinkKeepsWhatItHas(t *testing.T) {
	folder, file := writeScenario(t, huntable)
	_, hunted, _ := locksim("hunt", file, "--root", "5", "--out", folder)
	seed := regexp.MustCompile(`seed (\d+): exclusion`).FindStringSubmatch(hunted)[1]
	short, kept := filepath.Join(folder, "short.scenario"), 0
	for left := 1; left < 4000; left *= 2 {
		var out, errs bytes.Buffer
		ctx := &endingContext{context.Background(), left}
		code := run(ctx, []string{"shrink", file, "--seed", seed, "--out", short}, &out, &errs)
		if code == exitExpected {
			break
		}
		require.Equal(t, exitInterrupted, code, errs.String())
		if !strings.Contains(out.String(), "the shortest story") {
			require.NoFileExists(t, short)
			continue
		}
		require.Contains(t, out.String(), "interrupted: this is the shortest story so far\n")
		code, _, rest := locksim("replay", short)
		require.Equal(t, exitExpected, code, rest)
		kept++
	}
	require.Positive(t, kept)
}

// An order of actions is explained as far as it can be, and cannot be made short.
func TestOrderIsExplainedAndNotShrunk(t *testing.T) {
	text := "# A server forgets.\nworld clients=2 rounds=1 ttl=2s hold=1s\nexpect exclusion=violated\n" +
		"faults amnesia\nrun for=8s seed=1\n"
	folder, file := writeScenario(t, text)
	_, out, errs := locksim("hunt", file, "--strategy", "exhaustive", "--out", folder)
	require.Contains(t, out, "\nreplay: ", errs)
	order := replays(out)[0][1]
	code, out, errs := locksim("explain", order)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, out, "The faults of its order: crash:m1.\n")
	require.Contains(t, out, "No remedy was tried")
	code, out, errs = locksim("shrink", order)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "is an order of actions, which cannot be made shorter: expected a scenario with times")
	require.Empty(t, out)
}

// A file that was changed by hand does not replay.
func TestReplaySaysWhenItIsAnotherRun(t *testing.T) {
	folder, file := writeScenario(t, huntable)
	_, out, _ := locksim("hunt", file, "--root", "5", "--out", folder)
	short := replays(out)[0][1]
	changed := strings.Replace(contents(t, short), "for=", "for=1", 1)
	require.NoError(t, os.WriteFile(short, []byte(changed), 0o600))
	code, _, errs := locksim("replay", short)
	require.Equal(t, exitNotSame, code)
	require.Contains(t, errs, "the replay is not the run that was recorded: its hash was ")
}

func TestBadHunts(t *testing.T) {
	folder, file := writeScenario(t, huntable)
	_, endless := writeScenario(t, "world\nexpect exclusion=holds\nrun for=1000s\n")
	exhaust := func(name string) []string { return []string{"hunt", name, "--strategy", "exhaustive", "--bound"} }
	for want, args := range map[string][]string{
		"hunt takes one scenario":                                    {"hunt"},
		"--workers -1: expected a number from 0":                     {"hunt", file, "--workers", "-1"},
		`--need: unknown kind of fault "x": expected pause, freeze`:  {"hunt", file, "--need", "x"},
		"--seeds 0: expected a number from 1 to 1000000000":          {"hunt", file, "--seeds", "0"},
		"--hits 0: expected a number":                                {"hunt", file, "--hits", "0"},
		"--faults: unknown kind of fault \"sloth\": expected pause,": {"hunt", file, "--faults", "sloth"},
		"--faults: split needs replicas":                             {"hunt", file, "--faults", "split"},
		"unknown strategy \"luck\": expected timed,":                 {"hunt", file, "--strategy", "luck"},
		"explore: gate is not checked in test":                       {"hunt", file, "--check", "gate"},
		"is not a stored hunt":                                       {"hunt", "--resume", file},
		"--resume: expected the file of a hunt":                      {"hunt", "--resume", ""},
		"expected no other, got":                                     {"hunt", file, "--resume", file},
		"--seeds: a hunt is resumed as it was begun":                 {"hunt", "--resume", file, "--seeds", "9"},
		"--strategy: a hunt is resumed as it was begun":              {"hunt", "--resume", file, "--strategy", "exhaustive"},
		"--workers -2: expected a number from 0 to 1000":             {"hunt", "--resume", file, "--workers", "-2"},
		"is not a stored hunt: invalid character":                    {"hunt", "--resume", file, "--workers", "1"},
		"--hits many: expected a whole number":                       {"hunt", file, "--hits", "many"},
		"--out: mkdir " + file:                                       {"hunt", file, "--out", file + "/x"},
		"--bound -1: expected a number from 0 to 9":                  append(exhaust(file), "-1"),
		"--bound 10: expected a number from 0 to 9":                  append(exhaust(file), "10"),
		"--bound 1: contention has no faults line: expected --fault": append(exhaust("contention"), "1"),
		"hold=100ms..900ms: a search of orders draws nothing: expe":  {"hunt", "contention", "--strategy", "exhaustive"},
		"pause=9s needs times: a search of orders takes pause only":  append(exhaust(file), "1", "--faults", "pause=9s"),
		"a schedule has more than 2000 actions":                      {"hunt", endless, "--strategy", "exhaustive"},
		"--hits: a hunt of orders ends with the first violation":     append(exhaust(file), "1", "--hits", "2"),
		"--need: a hunt of orders ends with the first violation":     append(exhaust(file), "1", "--need", "pause"),
		"--seeds: every order is run: expected no --seeds":           append(exhaust(file), "1", "--seeds", "2"),
		"--root: every order is run: expected no --root":             append(exhaust(file), "1", "--root", "2"),
		"--workers: orders are run one after the other":              append(exhaust(file), "1", "--workers", "2"),
		"--schedules: there are as many schedules as --seeds":        {"hunt", file, "--strategy", "pct", "--schedules", "2"},
		"--bound: only a hunt of orders takes it: expected --strate": {"hunt", file, "--bound", "2"},
		"--schedules: only a hunt of orders takes it: expected --st": {"hunt", file, "--schedules", "2"},
		"replay takes one file, got 0 arguments":                     {"replay"},
		"has no recorded hash":                                       {"replay", file},
		"violates nothing: there is nothing to shrink":               {"shrink", "contention", "--out", folder + "/x"},
	} {
		code, out, errs := locksim(args...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs, want, args)
		require.Empty(t, out, args)
	}
	_, out, errs := locksim(append(exhaust(file), "1", "--out", file+"/x")...)
	require.Contains(t, errs, "--out: mkdir "+file)
	require.Empty(t, out, "nothing is looked for")
}

// An exhaustive hunt says whether it has run everything, and what it found
// replays.
func TestExhaustiveHunt(t *testing.T) {
	text := "# A pause is no friend of a lease.\nworld clients=2 rounds=1 ttl=2s hold=1s\n" +
		"expect exclusion=violated\nfaults pause\nrun for=8s seed=1\n"
	folder, file := writeScenario(t, text)
	code, out, errs := locksim("hunt", file, "--strategy", "exhaustive", "--bound", "1", "--out", folder)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, out, "2 clients, up to 8s, at most 1 fault (pause): ")
	code, replayed, errs := locksim(replays(out)[0]...)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, replayed, "the same run, event for event")

	code, out, _ = locksim("hunt", file, "--strategy", "exhaustive", "--bound", "0", "--out", folder)
	require.Equal(t, exitDiffers, code)
	require.Contains(t, out, "and these are all: none violates\nexpected: exclusion=violated")

	code, _, errs = locksim("hunt", file, "--strategy", "exhaustive", "--bound", "0", "--schedules", "1", "--out", folder)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "schedules within the bound, more than 1: expected fewer faults, clients or servers, "+
		"or more --schedules, or --strategy pct")
	code, _, errs = locksim("hunt", file, "--strategy", "exhaustive", "--schedules", "-1")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--schedules -1: expected a number of schedules")
}

// Of an order that violates several checks the one that was expected to hold decides.
func TestExhaustiveHuntJudgesEveryViolation(t *testing.T) {
	text := "# A pause is no friend of a lease.\nworld clients=2 rounds=1 ttl=2s hold=1s\n" +
		"expect exclusion=violated kept=holds\nfaults pause\nrun for=8s seed=1\n"
	folder, file := writeScenario(t, text)
	code, out, errs := locksim("hunt", file, "--strategy", "exhaustive", "--bound", "1", "--out", folder)
	require.Equal(t, exitDiffers, code, errs)
	require.Contains(t, out, ", kept violated\n")
	require.Contains(t, out, "expected: kept=holds\n")
	require.NotContains(t, out, "expected: exclusion")
}

// A hunt of orders at random says how many they were, and what it found replays.
func TestHuntByPriorities(t *testing.T) {
	text := "# A pause is no friend of a lease.\nworld clients=2 rounds=1 ttl=2s hold=1s\n" +
		"expect exclusion=violated\nfaults pause\nrun for=8s seed=1\n"
	folder, file := writeScenario(t, text)
	args := []string{"hunt", file, "--strategy", "pct", "--out", folder}
	code, out, errs := locksim(append(args, "--root", "7", "--seeds", "2000")...)
	require.Equal(t, exitExpected, code, errs)
	require.Regexp(t, `^2 clients, up to 8s, at most 1 fault \(pause\), root 7: \d+ schedules? of up to \d+ actions `+
		`at random in \S+ s, exclusion violated by that of seed 7000`, out)
	code, replayed, errs := locksim(replays(out)[0]...)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, replayed, "the same run, event for event")

	code, out, _ = locksim(append(args, "--bound", "0", "--seeds", "20")...)
	require.Equal(t, exitDiffers, code)
	require.Regexp(t, `at most 0 faults \(pause\), root \d+: 20 schedules of up to \d+ actions at random in \S+ s, `+
		`none of them violates, but these are not all\nexpected: exclusion=violated`, out)
	for want, more := range map[string][]string{
		"--seeds 0: expected a number from 1":    {"--seeds", "0"},
		"--workers -1: expected a number from 0": {"--workers", "-1"},
		"--bound 10: expected a number from 0":   {"--bound", "10"},
	} {
		code, _, errs = locksim(append(args, more...)...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, want)
	}
}

func TestExplain(t *testing.T) {
	code, out, errs := locksim("explain", "pause_outlives_lease")
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, out, "At 0.100 s c1 is paused for 5.000s (#12).\n")
	require.Contains(t, out, "At 3.506 s m1 executes fenced-acquire(lock:1")
	require.Contains(t, out, "Assumptions that did not hold: no client pauses for longer than the rest of its lease.\n")
	require.Regexp(t, `a lease three times as long: +exclusion is not violated, nor in \d+ variants of the story`, out)
	code, _, errs = locksim("explain", "contention")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "violates nothing: there is nothing to explain")
}
