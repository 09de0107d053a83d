package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"minikv/sim/explore"
)

// huntState is what is stored of a hunt, so that it can go on later.
type huntState struct {
	Name     string   `json:"name"`
	Scenario string   `json:"scenario"` // its text
	Checks   []string `json:"checks,omitempty"`
	Need     string   `json:"need,omitempty"`
	Root     uint64   `json:"root"`
	Seeds    int      `json:"seeds"` // to try at most
	Hits     int      `json:"hits"`  // to look for
	Tried    int      `json:"tried"`
	Found    []uint64 `json:"found,omitempty"` // seeds that violate
}

// check reports a number that no hunt writes.
func (s *huntState) check() error {
	switch {
	case s.Seeds < 1 || s.Seeds > maxSeeds:
		return fmt.Errorf("seeds %d: expected a number from 1 to %d", s.Seeds, maxSeeds)
	case s.Hits < 1 || s.Hits > maxHits:
		return fmt.Errorf("hits %d: expected a number from 1 to %d", s.Hits, maxHits)
	case s.Root > maxRoot:
		return fmt.Errorf("root %d: expected a number from 0 to %d", s.Root, uint64(maxRoot))
	case s.Tried < 0:
		return fmt.Errorf("tried %d: expected no less than 0", s.Tried)
	}
	return nil
}

// after is the state when so many seeds were tried and these hits were found since.
func (s huntState) after(tried int, hits []explore.Hit) huntState {
	s.Tried = tried
	s.Found = append([]uint64(nil), s.Found...)
	for _, h := range hits {
		s.Found = append(s.Found, h.Seed)
	}
	return s
}

// storeEvery is how much real time of a hunt may be lost.
const storeEvery = 5 * time.Second

func (h *hunt) storeNowAndThen(tried int, hits []explore.Hit) {
	if time.Since(h.stored) < storeEvery {
		return
	}
	h.stored = time.Now()
	h.write(h.state.after(tried, hits)) // when it cannot be stored, the hunt is still worth its end
}

// file is where the hunt is stored.
func (h *hunt) file() string { return filepath.Join(h.folder, fileName(h.state.Name)+".hunt") }

func (h *hunt) store() error { return h.write(h.state) }

// write stores a state so that a crash leaves the one before.
func (h *hunt) write(s huntState) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(h.file(), string(text)+"\n")
}

// fileName is a scenario's name as part of a file's: that of a cell has slashes.
func fileName(scenario string) string {
	return strings.NewReplacer("/", "-", ":", "-").Replace(scenario)
}

// writeFile writes a file as a whole or not at all.
func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	half := name + ".part"
	if err := os.WriteFile(half, []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(half, name)
}

// load reads a stored hunt.
func (h *hunt) load(ctx context.Context, file string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--resume goes on with the scenario that is in its file: expected no other, got %q", args[0])
	}
	text, err := readText(ctx, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &h.state); err != nil {
		return fmt.Errorf("%s is not a stored hunt: %w", file, err)
	}
	if err := h.state.check(); err != nil {
		return fmt.Errorf("%s is not a stored hunt: %w", file, err)
	}
	if h.state.Tried >= h.state.Seeds || len(h.state.Found) >= h.state.Hits {
		return fmt.Errorf("%s: the hunt was at its end", file)
	}
	h.folder, h.resumed = filepath.Dir(file), true
	return h.ready()
}

// tell says what was found, and writes the shortest story. It returns the check
// that was violated, or "".
func (h *hunt) tell(ctx context.Context, res explore.Result, took time.Duration) (violated string, err error) {
	hits := res.Hits
	if len(h.state.Found) > len(hits) { // some were found before this hunt was interrupted
		hits = nil
		for _, seed := range h.state.Found {
			hit, err := explore.Of(ctx, h.problem, seed)
			if err != nil {
				return "", err
			}
			if hit == nil {
				return "", fmt.Errorf("seed %d violates nothing, though %s says so: it is of another build", seed, h.file())
			}
			hits = append(hits, *hit)
		}
	}
	fmt.Fprintf(h.out, "hunt %s, root %d: %d of %d seeds in %.1f s, %d violations", h.state.Name, h.state.Root,
		h.state.Tried, h.state.Seeds, took.Seconds(), len(hits))
	if res.Other > 0 {
		fmt.Fprintf(h.out, ", %d others without %s", res.Other, h.state.Need)
	}
	fmt.Fprintln(h.out)
	if len(hits) == 0 {
		return "", nil
	}
	for _, hit := range hits {
		fmt.Fprintf(h.out, "seed %d: %s violated, needs %s\n", hit.Seed, hit.Violated[0].Check, needs(hit.Needs))
	}
	return hits[0].Violated[0].Check, h.shrink(ctx, hits)
}

func needs(kinds []string) string {
	if len(kinds) == 0 {
		return "no kind of fault alone"
	}
	return strings.Join(kinds, " and ")
}

// shrink writes the shortest story of the hits, and tells it.
func (h *hunt) shrink(ctx context.Context, hits []explore.Hit) error {
	short, err := explore.Shortening{Need: h.state.Need}.Shrink(ctx, hits)
	if err != nil {
		return err
	}
	file := filepath.Join(h.folder, fmt.Sprintf("%s-%d.scenario", fileName(h.state.Name), hits[0].Seed))
	return writeShort(ctx, h.out, file, short)
}
