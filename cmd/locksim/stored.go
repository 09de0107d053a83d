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
var storedCells = sync.OnceValue(func() (cells []matrix.Result) {
	for line := range strings.Lines(matrix.Stored) {
		var c matrix.Result
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			panic(err) // the file is embedded
		}
		cells = append(cells, c)
	}
	return cells
})

// storyOf is what one of a cell's claims tells, by the name of the cell.
func storyOf(c *matrix.Result, one *matrix.ClaimResult) (*sim.Scenario, error) {
	name := cellPrefix + c.Name()
	s, err := sim.ParseScenario(name, one.Story)
	if err == nil {
		s.Name = name
	}
	return s, err
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
		if c.Name() != rest {
			continue
		}
		if one := c.Shown(); one != nil && one.Story != "" {
			s, err = storyOf(c, one)
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
			err = fmt.Errorf("%w%s", err, variantsOf(strings.TrimPrefix(name, matrix.Prefix)))
		}
		return s, err
	}
	return sim.Find(name)
}

// cellOfRun is the cell of the stored matrix that a story or a run is of; nil for
// other names.
func cellOfRun(name string) (nearest *matrix.Result) {
	rest, isCell := strings.CutPrefix(name, cellPrefix)
	rest, isRun := strings.CutPrefix(rest, matrix.Prefix)
	if !isCell && !isRun {
		return nil
	}
	for i := range storedCells() {
		c := &storedCells()[i]
		if strings.HasPrefix(rest+"/", c.Name()+"/") && (nearest == nil || len(c.Name()) > len(nearest.Name())) {
			nearest = c
		}
	}
	return nearest
}

// describe puts on a page of which cell its run is.
func describe(p *page.Page, c *matrix.Result) {
	p.Title = fmt.Sprintf("%s, as %s, in row %d", c.Lock, behaves[c.Profile], c.Row)
	if c.Variant != "" {
		p.Title += " " + c.Variant
	}
	p.Claim, p.About = c.Trouble(), c.Words()
	if one := c.Shown(); one != nil && one.Story != "" {
		p.About = append(p.About, "This is the shortest story that was made of it.")
	}
}

// behaves says whose client a profile is.
var behaves = map[string]string{matrix.Redisson: "Redisson's client behaves", matrix.Lockclient: "lockclient behaves"}
