package matrix

import (
	"fmt"

	"minikv/sim"
	"minikv/sim/check"
)

// twin is a claim that must break, and so shows that a search finds something.
type twin struct {
	cell  *Cell
	claim claim
}

// twin finds what must break the same check: the same kind of lock in another
// variant of the row, in another row, another kind in the row, or any.
func (s *searcher) twin(c *Cell, name string) (best twin, ok bool) {
	rank := 0
	for _, r := range s.rows {
		for i := range r.Cells {
			other := &r.Cells[i]
			for _, one := range other.claims() {
				if r.Unbuilt != "" || one.verdict != check.Violated || one.either || one.of(other.Kind) != name {
					continue
				}
				if n := nearness(c, other); n > rank {
					rank, best = n, twin{other, one}
				}
			}
		}
	}
	return best, rank > 0
}

// of is the name of the claim's check for a kind.
func (one claim) of(kind string) string {
	if one.check == "safety" {
		return safety(kind)
	}
	return one.check
}

func nearness(c, other *Cell) int {
	same := c.Profile == other.Profile && c.Kind == other.Kind
	switch {
	case same && c.Row == other.Row:
		return 4
	case same:
		return 3
	case c.Row == other.Row:
		return 2
	}
	return 1
}

// replayLine is the command that runs a world with a seed.
func replayLine(world *sim.Scenario, seed uint64) string {
	return fmt.Sprintf("locksim run %s --seed %d", world.Name, seed)
}
