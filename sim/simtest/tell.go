package simtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
	"minikv/sim/page"
	"minikv/trace"
)

// tell fails the test with the shortest story of the hits.
func tell(t testing.TB, p explore.Problem, res explore.Result) {
	t.Helper()
	var short *explore.Shrunk
	var text string
	guarded(t, p.Own, func() (err error) {
		short, text, err = shortest(p, res.Hits)
		return err
	})
	hit, needs := res.Hits[0], "no fault"
	switch {
	case len(short.Kinds) > 0:
		needs = strings.Join(short.Kinds, ", ")
	case short.Faults > 0:
		needs = "no fault but those of the scenario's at lines"
	}
	file, replay := keep(t, short.Result.Check, text)
	t.Errorf("simtest: %s is violated with seed %d, after %s; it needs: %s.\nThe shortest story:\n%s%sreplay: %s",
		short.Result.Check, hit.Seed, check.Several(res.Tried, "seed"), needs, text,
		why(t, short.Story, p.Own, file, replay), replay)
}

// maxEvents is up to how many events a run is explained and shown.
const maxEvents = 200_000

// why is the explanation of a violation, with the page of its run in a file beside that
// of its story, which is called file.
func why(t testing.TB, s *sim.Scenario, own *sim.Own, file, replay string) string {
	t.Helper()
	var text string
	guarded(t, own, func() error {
		ctx := context.Background()
		var events []trace.Event
		r, err := s.Run(ctx, sim.Options{Seed: s.Seed, Own: own, Details: true, Lines: true,
			Observe: func(e *trace.Event, _ []string) {
				if len(events) < maxEvents {
					events = append(events, *e)
				}
			}})
		if err != nil {
			return err
		}
		if len(events) == maxEvents {
			text = fmt.Sprintf("It has %d events or more, too many to be explained and shown.\n", maxEvents)
			return nil
		}
		e, err := explore.Explain(ctx, explore.Problem{Scenario: s, Own: own})
		if err != nil || e == nil {
			return err
		}
		text = "Why:\n" + e.Text() + pageLine(file, page.FromReport(r, events, replay))
		return nil
	})
	return text
}

// pageLine writes a page beside a story's file, and says where.
func pageLine(story string, p *page.Page) string {
	var html bytes.Buffer
	if err := p.Write(&html); err != nil {
		return fmt.Sprintf("no page: %v\n", err)
	}
	file := strings.TrimSuffix(story, ".scenario") + ".html"
	if err := os.WriteFile(file, html.Bytes(), 0o600); err != nil {
		return fmt.Sprintf("no page: %v\n", err)
	}
	return "page: " + file + "\n"
}

// shortest is the shortest story of the hits, and its text. Each of them must be
// the same when it is run again.
func shortest(p explore.Problem, hits []explore.Hit) (short *explore.Shrunk, text string, err error) {
	ctx := context.Background()
	for _, hit := range hits {
		again, err := explore.Of(ctx, p, hit.Seed)
		if err == nil && (again == nil || again.Hash != hit.Hash) {
			err = differs(hit.Seed)
		}
		if err != nil {
			return short, "", err
		}
	}
	if short, err = explore.Shrink(ctx, hits); err != nil {
		return short, "", err
	}
	short.Story.Claim = fmt.Sprintf("%s is violated: %s.", short.Result.Check, short.Result.Reason)
	if text, err = explore.File(ctx, short.Story, p.Own); err != nil {
		return short, "", err
	}
	again, err := short.Story.Run(ctx, sim.Options{Seed: short.Story.Seed, Own: p.Own})
	if hash, _ := explore.RecordedHash(text); err == nil && (again.Hash != hash || !again.AsExpected()) {
		err = differs(short.Story.Seed)
	}
	return short, text, err
}

// keep writes the story of a check to a file, and returns its name and the command that
// replays it. The name has the package's path, as others may have a test of the same name.
func keep(t testing.TB, check, text string) (file, replay string) {
	name := t.Name()
	if info, ok := debug.ReadBuildInfo(); ok {
		name = strings.TrimSuffix(info.Path, ".test") + "." + name
	}
	file = filepath.Join(os.TempDir(), strings.ReplaceAll(name, "/", "_")+"-"+check+".scenario")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return file, fmt.Sprintf("write the story to a file and set %s to its name (%v)", replayVariable, err)
	}
	return file, replayOf(t, file)
}

// replayOf is the command that runs a file again.
func replayOf(t testing.TB, file string) string {
	return fmt.Sprintf("%s=%s go test -run %s", replayVariable, quoted(file), quoted(pattern(t.Name())))
}

// pattern matches the test of a name alone.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// quoted is a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plain = regexp.MustCompile(`^[-\w./+,:@%]+$`)

// replay runs one story.
func replay(t testing.TB, file string, own *sim.Own) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	s, err := sim.ParseScenario(file, string(text))
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	var r *sim.Report
	guarded(t, own, func() (err error) {
		r, err = s.Run(context.Background(), sim.Options{Seed: s.Seed, Own: own})
		return err
	})
	if want, ok := explore.RecordedHash(string(text)); ok && want != r.Hash {
		t.Logf("simtest: this is not the run that was recorded: hash %016x, not %016x", uint64(r.Hash), uint64(want))
	}
	violated := false
	for _, result := range r.Results {
		if result.Verdict == check.Violated {
			violated = true
			t.Errorf("simtest: %s is violated: %s", result.Check, result.Reason)
		}
	}
	if violated {
		t.Logf("%s", why(t, s, own, file, replayOf(t, file)))
	}
}
