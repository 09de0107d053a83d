package matrix

import (
	"fmt"
	"slices"

	"minikv/sim"
	"minikv/sim/check"
)

// twin is a claim that must break, and so shows that a search finds something.
type twin struct {
	cell  *Cell
	claim claim
}

// twins are all that must break the check, the nearest first: the same kind of lock in
// another variant of the row, in another row, another kind in the row, or any.
func (s *searcher) twins(c *Cell, name string) (list []twin) {
	for _, r := range s.rows {
		for i := range r.Cells {
			other := &r.Cells[i]
			for _, one := range other.claims() {
				if one.verdict == check.Violated && !one.either && one.of(other.Kind) == name {
					list = append(list, twin{other, one})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b twin) int { return nearness(c, b.cell) - nearness(c, a.cell) })
	return list
}

// of is the name of the claim's check for a kind.
func (one claim) of(kind string) string {
	if one.check == "safety" {
		return safety(kind)
	}
	return one.check
}

// sameKind is the nearness of cells of the same kind of lock in the same profile.
const sameKind = 3

func nearness(c, other *Cell) int {
	same := c.Profile == other.Profile && c.Kind == other.Kind
	switch {
	case same && c.Row == other.Row:
		return sameKind + 1
	case same:
		return sameKind
	case c.Row == other.Row:
		return 2
	}
	return 1
}

// replayLine is the command that runs a world with a seed.
func replayLine(world *sim.Scenario, seed uint64) string {
	return fmt.Sprintf("locksim run %s --seed %d", world.Name, seed)
}
