package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"minikv/sim"
	"minikv/sim/check"
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
	Other    int      `json:"other,omitempty"` // how many violate without the kind of fault that is needed
	Told     bool     `json:"told,omitempty"`  // what was found; it is at its end
	Build    string   `json:"build"`           // with which seeds go the same way

	Unjudged map[string]int `json:"unjudged,omitempty"` // by check, how many seeds had no verdict on it
	Struck   []string       `json:"struck,omitempty"`   // kinds of fault that did something with some seed
}

// check reports what no hunt writes, or not one of this program.
func (s *huntState) check() error {
	switch {
	case s.Name == "" || s.Build == "":
		return errors.New("expected a name and a build")
	case s.Need != "" && !slices.Contains(sim.FaultKinds(), s.Need):
		return fmt.Errorf("need %q: expected %s", s.Need, strings.Join(sim.FaultKinds(), ", "))
	case s.Seeds < 1 || s.Seeds > explore.SeedsOfRoot:
		return fmt.Errorf("seeds %d: expected a number from 1 to %d", s.Seeds, explore.SeedsOfRoot)
	case s.Hits < 1 || s.Hits > maxHits:
		return fmt.Errorf("hits %d: expected a number from 1 to %d", s.Hits, maxHits)
	case s.Root > explore.MaxRoot:
		return fmt.Errorf("root %d: expected a number from 0 to %d", s.Root, uint64(explore.MaxRoot))
	case s.Tried < 0 || s.Tried > s.Seeds:
		return fmt.Errorf("tried %d: expected a number from 0 to %d", s.Tried, s.Seeds)
	case s.Other < 0:
		return fmt.Errorf("other %d: expected no less than 0", s.Other)
	case len(s.Found) > s.Hits:
		return fmt.Errorf("found %d seeds: expected at most the %d hits that are looked for", len(s.Found), s.Hits)
	}
	for i, seed := range s.Found {
		tried := seed >= explore.Seed(s.Root, 0) && seed < explore.Seed(s.Root, s.Tried)
		if !tried || i > 0 && seed <= s.Found[i-1] {
			return fmt.Errorf("found %d: expected seeds of root %d in their order, of the first %d", seed, s.Root, s.Tried)
		}
	}
	return nil
}

// after is the state when a search that went on from s has come so far.
func (s huntState) after(res explore.Result) huntState {
	s.Unjudged = maps.Clone(s.Unjudged)
	for _, u := range res.Unjudged {
		if s.Unjudged == nil {
			s.Unjudged = map[string]int{}
		}
		s.Unjudged[u.Check] += u.Runs
	}
	s.Struck = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Struck, res.Struck))))
	s.Tried += res.Tried
	s.Other += res.Other
	s.Found = append([]uint64(nil), s.Found...)
	for _, h := range res.Hits {
		s.Found = append(s.Found, h.Seed)
	}
	return s
}

// storeEvery is how much real time of a hunt may be lost.
const storeEvery = 5 * time.Second

func (h *hunt) storeNowAndThen(res explore.Result) {
	if time.Since(h.stored) < storeEvery {
		return
	}
	h.stored, h.kept = time.Now(), true
	_ = h.write(h.state.after(res)) // when it cannot be stored, the hunt is still worth its end
}

// end leaves no file of a hunt that came to its end in one go; one that was resumed
// says that it has come to it.
func (h *hunt) end() error {
	switch {
	case h.resumed:
		h.state.Told = true
		return h.store()
	case h.kept:
		_ = os.Remove(h.file()) // it may not even have been written
	}
	return nil
}

// file is where the hunt is stored. Hunts of other roots have other files.
func (h *hunt) file() string {
	if h.resumed {
		return h.from
	}
	return filepath.Join(h.folder, fmt.Sprintf("%s-%d.hunt", fileName(h.state.Name), h.state.Root))
}

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

// writeFile writes a file as a whole or not at all. What is neither a file nor a folder, such
// as a device or a link (/dev/stdout), is written to as it is: a file would take its place.
func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return os.WriteFile(name, []byte(text), 0o666)
	}
	half := name + ".part"
	err := os.WriteFile(half, []byte(text), 0o666)
	if err == nil {
		err = os.Rename(half, name)
	}
	if err != nil {
		_ = os.Remove(half) // what is on the way leaves nothing behind
	}
	return err
}

// load reads a stored hunt.
func (h *hunt) load(ctx context.Context, file string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--resume goes on with the scenario that is in its file: expected no other, got %q", args[0])
	}
	if file == "" {
		return errors.New("--resume: expected the file of a hunt, got none")
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
	if h.state.Build != buildName() {
		return fmt.Errorf("%s: another build of locksim made it: begin a new hunt, as seeds may lead elsewhere now", file)
	}
	if h.state.Told {
		return fmt.Errorf("%s: the hunt had ended: there is nothing to resume", file)
	}
	h.from, h.folder, h.resumed = file, filepath.Dir(file), true
	if err := h.ready(); err != nil {
		return fmt.Errorf("%s is not a stored hunt: %w", file, err)
	}
	return nil
}

// neverJudged are the checks on which no seed had a verdict, once all have been tried.
func (s *huntState) neverJudged() (list []check.Result) {
	for _, name := range slices.Sorted(maps.Keys(s.Unjudged)) {
		if s.Tried == s.Seeds && s.Unjudged[name] == s.Tried {
			list = append(list, check.Result{Check: name})
		}
	}
	return list
}

// unjudged says how many of the seeds had no verdict on a check: no violation of it could
// have been found with them.
func unjudged(name string, unknown, tried int) string {
	if unknown < tried {
		return fmt.Sprintf("%s was judged with %d of %s: with the others its verdict is unknown", name, tried-unknown,
			check.Several(tried, "seed"))
	}
	return name + " was never judged: its verdict is unknown with each seed"
}

// tellIdle says which kinds of fault of the faults line have done nothing in any run, so
// that it means nothing of them that no violation was found.
func tellIdle(out io.Writer, s *sim.Scenario, struck []string, run string) {
	if idle := s.Faults.Besides(struck); len(idle) > 0 {
		fmt.Fprintf(out, "%s never struck: with no %s did such a fault do anything\n", strings.Join(idle, ", "), run)
	}
}

// tell says what was found, and writes the shortest story: of a hit that violates what
// was expected to hold, where there is one. It returns all that the hits violate.
func (h *hunt) tell(ctx context.Context, res explore.Result, took time.Duration) (violated []check.Result, err error) {
	hits := res.Hits
	if len(h.state.Found) > len(hits) { // some were found before this hunt was interrupted
		hits = nil
		for _, seed := range h.state.Found {
			hit, err := explore.Of(ctx, h.problem, seed)
			if err != nil {
				return nil, err
			}
			if hit == nil {
				return nil, fmt.Errorf("seed %d violates nothing, though %s says that it does: another build made that file",
					seed, h.file())
			}
			hits = append(hits, *hit)
		}
	}
	fmt.Fprintf(h.out, "hunt %s, root %d: %d of %s in %.1f s, %s", h.state.Name, h.state.Root,
		h.state.Tried, check.Several(h.state.Seeds, "seed"), took.Seconds(), check.Several(len(hits), "violation"))
	if h.state.Other > 0 {
		fmt.Fprintf(h.out, ", %d others without %s", h.state.Other, h.state.Need)
	}
	fmt.Fprintln(h.out)
	for _, name := range slices.Sorted(maps.Keys(h.state.Unjudged)) {
		fmt.Fprintln(h.out, unjudged(name, h.state.Unjudged[name], h.state.Tried))
	}
	if h.state.Tried == h.state.Seeds {
		tellIdle(h.out, h.problem.Scenario, h.state.Struck, "seed")
	}
	if len(hits) == 0 {
		return nil, nil
	}
	for _, hit := range hits {
		fmt.Fprintf(h.out, "seed %d: %s violated, needs %s\n", hit.Seed, hit.Violated[0].Check, needs(hit.Needs))
		violated = append(violated, hit.Violated...)
	}
	return violated, h.shrink(ctx, h.worst(hits))
}

// worst are the hits that violate what was expected to hold, or all if none does.
func (h *hunt) worst(hits []explore.Hit) []explore.Hit {
	var list []explore.Hit
	for _, hit := range hits {
		if explore.Disappoints(h.problem.Scenario, &hit.Violated[0]) {
			list = append(list, hit)
		}
	}
	if list == nil {
		return hits
	}
	return list
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
	fmt.Fprint(h.out, otherWay(hits, short))
	file := filepath.Join(h.folder, fmt.Sprintf("%s-%d.scenario", fileName(h.state.Name), short.Seed))
	return writeShort(ctx, h.out, file, short)
}

// otherWay says that a story does without a kind of fault that the run needs of which it was
// made: as it was made shorter it came to break the check in another way. "": it did not.
func otherWay(hits []explore.Hit, short *explore.Shrunk) string {
	i := slices.IndexFunc(hits, func(hit explore.Hit) bool { return hit.Seed == short.Seed })
	if i < 0 {
		return ""
	}
	without := slices.DeleteFunc(slices.Clone(hits[i].Needs), func(kind string) bool {
		return slices.Contains(short.Kinds, kind)
	})
	if len(without) == 0 {
		return ""
	}
	way := "without " + strings.Join(without, " and ")
	if len(short.Kinds) > 0 {
		way = "by " + strings.Join(short.Kinds, " and ") + ", " + way
	}
	return fmt.Sprintf("the shortest story violates %s in another way than seed %d: %s\n", short.Result.Check,
		short.Seed, way)
}
