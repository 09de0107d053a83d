package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"minikv/sim"
	"minikv/sim/matrix"
	"minikv/sim/page"
)

// cellPrefix begins the names of the stories that the stored matrix tells.
const cellPrefix = "cell:"

// storedCells is the matrix as it was run last.
var storedCells = sync.OnceValue(func() (cells []cellJSON) {
	for line := range strings.Lines(matrix.Stored) {
		var c cellJSON
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			panic(err) // the file is embedded
		}
		cells = append(cells, c)
	}
	return cells
})

// name is the cell's: row/profile/kind, and its variant if it has one.
func (c *cellJSON) name() string {
	cell := matrix.Cell{Row: c.Row, Variant: c.Variant, Profile: c.Profile, Kind: c.Lock}
	return cell.String()
}

// shown is the claim that a page of the cell shows: one that came to the cell's
// verdict, or nil.
func (c *cellJSON) shown() *claimJSON {
	for i := range c.Claims {
		one := &c.Claims[i]
		if runs := one.Story != "" || strings.HasPrefix(one.Replay, "locksim run "); runs && one.Verdict == c.Verdict {
			return one
		}
	}
	return nil
}

// findCell returns the story of a cell of the stored matrix, named such as
// cell:7/redisson/mutex. ok is false for other names.
func findCell(name string) (s *sim.Scenario, ok bool, err error) {
	rest, ok := strings.CutPrefix(name, cellPrefix)
	if !ok {
		return nil, false, nil
	}
	for i := range storedCells() {
		c := &storedCells()[i]
		if c.name() != rest {
			continue
		}
		if one := c.shown(); one != nil && one.Story != "" {
			s, err = sim.ParseScenario(name, one.Story)
			if err == nil {
				s.Name = name
			}
			return s, true, err
		}
		return nil, true, fmt.Errorf("the verdict of cell %q is %s: there is no story of a violation", rest, c.Verdict)
	}
	return nil, true, fmt.Errorf("there is no cell %q: expected %sROW/PROFILE/KIND[/VARIANT]%s", rest, cellPrefix,
		variantsOf(rest))
}

// variantsOf are the cells whose names begin with one that is no cell's, for its error.
func variantsOf(name string) string {
	names := slices.DeleteFunc(cellNames(), func(cell string) bool { return !strings.HasPrefix(cell, name+"/") })
	if len(names) == 0 || strings.Count(name, "/") < 2 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

// find returns an embedded scenario, a cell of the matrix, or the story of one.
func find(name string) (*sim.Scenario, error) {
	if s, ok, err := findCell(name); ok {
		return s, err
	}
	if s, ok, err := matrix.Find(name); ok {
		if err != nil {
			err = fmt.Errorf("%w%s", err, variantsOf(strings.TrimPrefix(name, "matrix:")))
		}
		return s, err
	}
	return sim.Find(name)
}

// cellOfRun is the cell of the stored matrix that a story or a run is of; nil for
// other names.
func cellOfRun(name string) (nearest *cellJSON) {
	rest, isCell := strings.CutPrefix(name, cellPrefix)
	rest, isRun := strings.CutPrefix(rest, "matrix:")
	if !isCell && !isRun {
		return nil
	}
	for i := range storedCells() {
		c := &storedCells()[i]
		if strings.HasPrefix(rest+"/", c.name()+"/") && (nearest == nil || len(c.name()) > len(nearest.name())) {
			nearest = c
		}
	}
	return nearest
}

// describe puts on a page of which cell its run is.
func (c *cellJSON) describe(p *page.Page) {
	p.Title = fmt.Sprintf("%s, as %s, in row %d", c.Lock, behaves[c.Profile], c.Row)
	if c.Variant != "" {
		p.Title += " " + c.Variant
	}
	p.Claim, p.About = c.Title, c.words()
	if one := c.shown(); one != nil && one.Story != "" {
		p.About = append(p.About, "This is the shortest story that was made of it.")
	}
}

// behaves says whose client a profile is.
var behaves = map[string]string{matrix.Redisson: "Redisson's client behaves", matrix.Lockclient: "lockclient behaves"}
