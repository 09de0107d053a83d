package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// asProgram makes the test binary behave as locksim: the tests start it again
// to have whole processes.
const asProgram = "LOCKSIM_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// locksim runs the program in this process.
func locksim(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// process runs the program in a process of its own.
func process(t *testing.T, procs string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GOMAXPROCS="+procs)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	return out.String(), errs.String()
}

// Two processes with different GOMAXPROCS print the same bytes for one seed,
// and others for another.
func TestSameBytesInTwoProcesses(t *testing.T) {
	for _, s := range sim.Library() {
		t.Run(s.Name, func(t *testing.T) {
			args := []string{"run", s.Name, "--seed", "7", "--trace", "jsonl"}
			one, summary := process(t, "1", args...)
			two, again := process(t, "2", args...)
			require.Equal(t, one, two)
			require.Equal(t, summary, again)
			require.Contains(t, summary, "replay: locksim run "+s.Name+" --seed 7\n")
			require.NotContains(t, one, "replay:", "standard output is for events only")
			other, _ := process(t, "1", "run", s.Name, "--seed", "8", "--trace", "jsonl")
			require.NotEqual(t, one, other)
		})
	}
}

// replays are the commands that an output says to replay with.
func replays(output string) (commands [][]string) {
	for _, line := range strings.Split(output, "\n") {
		if _, command, ok := strings.Cut(line, "replay: locksim "); ok {
			commands = append(commands, strings.Fields(command))
		}
	}
	return commands
}

// Every replay line that is printed, by the tour and by run with each of its
// flags, runs the same again.
func TestReplayLinesReplay(t *testing.T) {
	code, tour, errs := locksim()
	require.Equal(t, exitExpected, code, errs)
	lines := replays(tour)
	require.Len(t, lines, len(sim.Tour()))
	for _, s := range sim.Library()[len(lines):] {
		lines = append(lines, []string{"run", s.Name})
	}
	lines = append(lines,
		[]string{"run", "contention", "--seed", "9"},
		[]string{"run", "contention", "--clients", "7", "--for", "1500ms"},
		[]string{"run", "contention", "--seed", "18446744073709551615", "--clients", "1", "--for", "1m"})
	for _, args := range lines {
		code, first, errs := locksim(append(args, "--trace", "none")...)
		require.Equal(t, exitExpected, code, errs)
		again := replays(first)
		require.Len(t, again, 1)
		_, second, _ := locksim(append(again[0], "--trace", "none")...)
		require.Equal(t, first, second, args)
		require.Contains(t, first, "hash ")
	}
}

func TestVersionNamesTheBuild(t *testing.T) {
	code, out, _ := locksim("--version")
	require.Equal(t, exitExpected, code)
	require.Regexp(t, "^locksim build "+buildName()+", go1[.][0-9]+.*\n$", out)
}

func TestTourTellsClaimTraceVerdict(t *testing.T) {
	code, out, _ := locksim()
	require.Equal(t, exitExpected, code)
	for _, s := range sim.Tour() {
		at := strings.Index(out, s.Claim)
		require.GreaterOrEqual(t, at, 0, s.Name)
		story := out[at:]
		if end := strings.Index(story, "\n\n"); end > 0 {
			story = story[:end]
		}
		require.Contains(t, story, " holds lock:1", s.Name)
		for _, e := range s.Expect {
			require.Regexp(t, e.Check+" +"+e.Verdict, story, s.Name)
		}
		require.Greater(t, strings.Count(story, "\n"), 4, s.Name)
	}
	_, shown, _ := strings.Cut(contents(t, "../../README.md"), "## What the tour shows\n\n```\n")
	shown, _, _ = strings.Cut(shown, "```")
	require.NotEmpty(t, shown)
	for line := range strings.Lines(shown) {
		require.Contains(t, out, line)
	}
}

// A shell is offered the values of flags, one after the other where it is a list, and
// names of scenarios and cells.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"hunt --strategy ":         "timed\nanchored\ninline\nexhaustive\npct\n:4\n",
		"hunt --faults pause,amn":  "pause,amnesia\n:4\n",
		"hunt --check cap":         "capacity\n:4\n",
		"replay --trace j":         "jsonl\n:4\n",
		"matrix --format j":        "json\n:4\n",
		"matrix --cells 2/redis":   "2/redisson/mutex\n",
		"run matrix:2/redis":       "matrix:2/redisson/mutex\n",
		"explain cell:2/redis":     "cell:2/redisson/mutex\n",
		"run cont":                 "contention\tClients that contend",
		"run contention ":          ":4\n",
		"step fair-acq":            "fair-acquire\n",
		"hunt contention --out x/": ":0\n",
	} {
		code, out, _ := locksim(append([]string{"__complete"}, strings.Split(args, " ")...)...)
		require.Equal(t, exitExpected, code)
		require.Contains(t, out, want, args)
	}
}

func TestList(t *testing.T) {
	code, out, _ := locksim("list")
	require.Equal(t, exitExpected, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, len(sim.Library()))
	require.Contains(t, lines, "contention\tClients that contend for a lock on a healthy server never hold it together.")
	for _, line := range lines {
		require.Len(t, strings.Split(line, "\t"), 2)
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.scenario")
	require.NoError(t, os.WriteFile(bad, []byte("# claim\nworld clients=2\nat 1s explode m1\nrun for=1s\n"), 0o600))
	for want, args := range map[string][]string{
		"unknown command \"rum\"":                      {"rum", "contention"},
		"did you mean \"run\"":                         {"rum"},
		"unknown command \"nothing\"":                  {"help", "nothing"},
		"run takes one scenario":                       {"run"},
		"there is no scenario \"nothing\"":             {"run", "nothing"},
		"\"contentoin\": did you mean \"contention\"?": {"run", "contentoin"},
		"there is no scenario \"\" (\"locksim list\"":  {"run", ""},
		"no such file":                                 {"run", "./nothing.scenario"},
		bad + ":3: unknown verb \"explode\"":           {"run", bad},
		"unknown flag: --sed":                          {"run", "contention", "--sed", "1"},
		"--clients 0: expected a number":               {"run", "contention", "--clients", "0"},
		"--for -1s: expected a duration":               {"run", "contention", "--for", "-1s"},
		"--for 60: expected a duration such as 60s":    {"run", "contention", "--for", "60"},
		"--seed -1: expected a number from 0 to 2^6":   {"run", "contention", "--seed", "-1"},
		"--lua maybe: expected true or false":          {"run", "contention", "--lua=maybe"},
		"--rows x: expected whole numbers with comm":   {"matrix", "--rows", "x"},
		"--trace \"xml\": expected none, text":         {"run", "contention", "--trace", "xml"},
		"with clients=1, line 5 of clock_jump_break":   {"run", "clock_jump_breaks_redlock", "--clients", "1"},
	} {
		code, out, errs := locksim(args...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs, want, args)
		require.True(t, strings.HasPrefix(errs, "locksim: "), errs)
		require.Empty(t, out, args)
	}
}

// A verdict that is not as expected gives exit code 1 and says so.
func TestUnexpectedVerdict(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wrong.scenario")
	text := "# claim\nworld clients=1 rounds=1\nexpect exclusion=violated\nrun for=1s\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	code, out, _ := locksim("run", file)
	require.Equal(t, exitDiffers, code)
	require.Contains(t, out, "(expected: violated)")
}

// A bar is drawn after a while, and not at each step.
func TestProgressIsShownNowAndThen(t *testing.T) {
	p := &progress{out: &bytes.Buffer{}, started: time.Now()}
	require.False(t, p.due())
	p.started = time.Now().Add(-patience)
	require.True(t, p.due())
	p.shown = time.Now().Add(time.Hour) // or else just before
	require.False(t, p.due())
	p.shown = time.Now().Add(-showEvery)
	require.True(t, p.due())
}

// Of terminals, one that is dumb has no bar.
func TestTerminal(t *testing.T) {
	console, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine gives no terminal to a test: ", err)
	}
	defer func() { _ = console.Close() }()
	t.Setenv("TERM", "xterm")
	require.NotNil(t, terminal(console))
	t.Setenv("TERM", "dumb")
	require.Nil(t, terminal(console))
}

func TestInterruptGivesNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, exitInterrupted, run(ctx, []string{"run", "contention"}, &out, &errs))
	require.Contains(t, errs.String(), "interrupted")
	require.NotContains(t, out.String(), "holds ")
}

// A file's name may begin with a dash: a line that is printed has it as a file's.
func TestQuotedWords(t *testing.T) {
	for word, want := range map[string]string{"-x.scenario": "./-x.scenario", "x-1.scenario": "x-1.scenario",
		"-it's": `'./-it'\''s'`, "": "''"} {
		require.Equal(t, want, quoteWord(word))
	}
}
