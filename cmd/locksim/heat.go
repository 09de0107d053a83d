package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"minikv/sim"
	"minikv/sim/matrix"
	"minikv/sim/page"
)

// heatOf arranges cells as a heat map. address gives the address of a cell's run, or "".
func heatOf(cells []cellJSON, address func(*cellJSON) string) *page.Heat {
	heat := &page.Heat{}
	for _, profile := range matrix.Profiles() {
		table := page.HeatTable{Title: "As " + behaves[profile], Kinds: matrix.Kinds(profile)}
		rows := map[string]int{}
		for i := range cells {
			c := &cells[i]
			if c.Profile != profile {
				continue
			}
			name := strings.TrimSpace(fmt.Sprint(c.Row) + " " + c.Variant)
			at, known := rows[name]
			if !known {
				at = len(table.Rows)
				rows[name] = at
				table.Rows = append(table.Rows, page.HeatRow{Name: name, Title: c.Title,
					Cells: make([]*page.HeatCell, len(table.Kinds))})
			}
			if k := slices.Index(table.Kinds, c.Lock); k >= 0 {
				table.Rows[at].Cells[k] = &page.HeatCell{Name: c.name(), Verdict: c.Verdict, Agrees: c.Agrees,
					Address: address(c), About: c.words()}
			}
		}
		if len(table.Rows) > 0 {
			heat.Tables = append(heat.Tables, table)
		}
	}
	return heat
}

// words say what was expected of the cell and why, and what was found.
func (c *cellJSON) words() []string {
	lines := []string{fmt.Sprintf("expected %s (%s): %s", c.Expected, c.Code, c.Reason)}
	for _, one := range c.Claims {
		line := fmt.Sprintf("%s %s after %d seeds", one.Check, one.Verdict, one.Searched)
		if one.Finding != "" {
			line += ": " + one.Finding
		}
		if one.Twin != "" && one.Verdict == "holds" {
			line += "; the same search breaks " + one.Twin
		}
		lines = append(lines, line)
		if one.Replay != "" {
			lines = append(lines, "replay: "+one.Replay)
		}
		switch o := one.Orders; {
		case o != nil && o.Complete:
			lines = append(lines, fmt.Sprintf("every order was run as well (%s): %d schedules", o.Bound, o.Schedules))
		case o != nil && o.Random:
			lines = append(lines, fmt.Sprintf("orders were run as well (%s): %d schedules", o.Bound, o.Schedules))
		}
	}
	if c.Listed != "" {
		lines = append(lines, "listed: "+c.Listed)
	}
	return lines
}

// run is the cell's story, or the run that its replay line names, with its seed.
func (c *cellJSON) run() (s *sim.Scenario, err error) {
	one := c.shown()
	if one == nil {
		return nil, nil
	}
	if one.Story != "" {
		s, err = sim.ParseScenario(cellPrefix+c.name(), one.Story)
		if err == nil {
			s.Name = cellPrefix + c.name()
		}
		return s, err
	}
	words := strings.Fields(one.Replay) // locksim run NAME --seed N
	if len(words) != 5 {
		return nil, fmt.Errorf("cell %s: %q does not name a run", c.name(), one.Replay)
	}
	if s, err = find(words[2]); err == nil {
		s.Seed, err = strconv.ParseUint(words[4], 10, 64)
	}
	return s, err
}

// heat shows the stored matrix; each cell leads to its run.
func heat(w http.ResponseWriter, _ *http.Request) error {
	h := heatOf(storedCells(), func(c *cellJSON) string {
		s, err := c.run()
		if err != nil || s == nil {
			return ""
		}
		return address(s.Name, s.Seed, nil)
	})
	h.Home = "/"
	h.About = []string{"What the latest search of every cell found: a row is a kind of trouble, " +
		"a column a kind of lock."}
	return h.Write(w)
}

// writeHeat writes the matrix as one file. With --pages each violation has a page
// of its own in that folder, which is there.
func (f *matrixFlags) writeHeat(w io.Writer, results []matrix.Result) error {
	var cells []cellJSON
	for _, r := range results {
		cells = append(cells, cellOf(r))
	}
	var failed error
	h := heatOf(cells, func(c *cellJSON) string {
		if f.pages == "" || c.Verdict != "violated" || failed != nil {
			return "#" + c.name()
		}
		var path string
		path, failed = f.writeCell(c)
		return path
	})
	if failed != nil {
		return failed
	}
	h.Words = true
	h.About = []string{fmt.Sprintf("locksim matrix --seeds %d --find %d --root %d. "+
		"A row is a kind of trouble, a column a kind of lock.", f.seeds, f.find, f.root)}
	return h.Write(w)
}

// writeCell writes the page of a violation into the folder of --pages, also when
// the search was interrupted.
func (f *matrixFlags) writeCell(c *cellJSON) (path string, err error) {
	s, err := c.run()
	if err != nil || s == nil {
		return "#" + c.name(), err
	}
	report, events, err := runWithEvents(context.Background(), s)
	if err != nil {
		return "", err
	}
	p := page.FromReport(report, events, c.Replay)
	c.describe(p)
	path = filepath.Join(f.pages, strings.ReplaceAll(c.name(), "/", "-")+".html")
	return filepath.ToSlash(path), savePage(path, p)
}
