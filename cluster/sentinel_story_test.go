package cluster

import (
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestSentinelStories holds what Sentinels publish, from a crash of the master
// to its return, to what was recorded from redis-server's: testdata/story/*.txt
// lists the stories that Sentinels there have told, and each run here, of many
// that differ in their seeds, must tell one of them. -rewrite records; it needs
// REDIS_BINARY and takes minutes. Blocks:
//
//	crash [runs=N] and what run takes
//	    The master of a set is killed and, when all is over, started again.
//	    Stories are those of the Sentinel that leads the failover, of the others, and
//	    of all after the return.
//
// Who leads is shown as #L, the promoted replica as P, other replicas as O. Left out is what
// depends on which of two things that happen at once comes first: how many
// Sentinels agree, -odown during the failover, and whether a Sentinel that does not lead
// hears that the others agree, and sees the promotion, before it hears of the new master.
func TestSentinelStories(t *testing.T) {
	datadriven.Walk(t, "testdata/story", func(t *testing.T, file string) {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "crash", d.Cmd)
			cfg := readDeployment(t, d)
			if d.Rewrite {
				return recordStories(t, d, cfg).String()
			}
			known := readStories(d.Expected)
			for seed := range uint64(60) {
				told := stories{}
				tellCrash(t, cfg, newVirtualWorld(t, cfg, seed), told)
				if strange := told.without(known); len(strange) > 0 {
					return fmt.Sprintf("seed %d tells what redis-server does not:\n%s", seed, strange)
				}
			}
			return d.Expected
		})
	})
}

// recordStories runs redis-server's processes, some sets at once.
func recordStories(t *testing.T, d *datadriven.TestData, cfg deployment) stories {
	binary := os.Getenv("REDIS_BINARY")
	require.NotEmpty(t, binary, "-rewrite records from redis-server: set REDIS_BINARY")
	const sets = 10
	runs := sets
	if d.HasArg("runs") {
		d.ScanArgs(t, "runs", &runs)
	}
	all := stories{}
	var mu sync.Mutex
	var running sync.WaitGroup
	for range sets {
		running.Go(func() {
			for range runs / sets {
				w := newRealWorld(t, binary, cfg)
				told := stories{}
				tellCrash(t, cfg, w, told)
				w.stopAll()
				mu.Lock()
				for story, count := range told {
					all[story] += count
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return all
}

// stories counts how often each story was told.
type stories map[string]int

// String is the stories, the most frequent of each kind first, without how often.
func (s stories) String() string {
	var all []string
	for story := range s {
		all = append(all, story)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if ka, kb := kindOf(a), kindOf(b); ka != kb {
			return ka > kb
		}
		if s[a] != s[b] {
			return s[a] > s[b]
		}
		return a < b
	})
	return strings.Join(all, "")
}

func kindOf(story string) string { return strings.SplitN(story, "\n", 2)[0] }

func readStories(text string) stories {
	known := stories{}
	for _, part := range strings.Split("\n"+text, "\n- ") {
		if part != "" {
			known["- "+strings.TrimRight(part, "\n")+"\n"] = 1
		}
	}
	return known
}

func (s stories) without(known stories) stories {
	rest := stories{}
	for story, count := range s {
		if known[story] == 0 {
			rest[story] = count
		}
	}
	return rest
}

// tellCrash crashes the master, lets it return, and adds what was told.
func tellCrash(t *testing.T, cfg deployment, target sentinelTarget, told stories) {
	names := meetEachOther(t, cfg, target)
	target.stop("m1")
	target.sleep(cfg.downAfter + 9*time.Second)
	events := map[string][]event{}
	leader, promoted := "", ""
	for _, name := range cfg.names() {
		if name[0] != 's' {
			continue
		}
		events[name] = target.takeEvents(name)
		for _, e := range events[name] {
			switch e.channel {
			case "+elected-leader":
				leader = name
			case "+selected-slave":
				promoted = names.name(strings.Fields(e.text)[3])
			}
		}
	}
	require.NotEmpty(t, leader, "nobody led: %v", events)
	target.start("m1")
	target.sleep(16 * time.Second)
	tell := func(kind, name string, events []event) {
		var text strings.Builder
		text.WriteString("- " + kind + "\n")
		for _, e := range events {
			if leftOut(kind, e) {
				continue
			}
			line := names.mask(e.String())
			line = quorumCount.ReplaceAllString(line, "#quorum")
			line = regexp.MustCompile(`\br\d\b`).ReplaceAllStringFunc(line, func(r string) string {
				if r == promoted {
					return "P"
				}
				return "O"
			})
			line = strings.ReplaceAll(line, "#"+name, "#self")
			line = regexp.MustCompile(`\b`+leader+`\b`).ReplaceAllString(line, "L")
			text.WriteString(line + "\n")
		}
		told[text.String()]++
	}
	for _, name := range cfg.names() {
		if name[0] != 's' {
			continue
		}
		kind := "the others"
		if name == leader {
			kind = "who leads"
		}
		tell(kind, name, events[name])
		tell("return", name, target.takeEvents(name))
	}
}

var quorumCount = regexp.MustCompile(`#quorum \d+/\d+`)

// leftOut reports whether an event is one of those that may come or not.
func leftOut(kind string, e event) bool {
	switch e.channel {
	case "-odown":
		return true
	case "+odown", "-role-change":
		return kind == "the others"
	}
	return false
}
