package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"minikv/sim"
	"minikv/sim/matrix"
	"minikv/sim/page"
)

// heatOf arranges cells as a heat map. address gives the address of a cell's run, or "".
func heatOf(cells []matrix.Result, address func(*matrix.Result) string) *page.Heat {
	heat := &page.Heat{}
	for _, profile := range matrix.Profiles() {
		table := page.HeatTable{Title: "As " + behaves[profile], Kinds: matrix.Kinds(profile)}
		for _, l := range matrix.Lines(cells, profile) {
			row := page.HeatRow{Name: l.Name, Title: l.Title, Cells: make([]*page.HeatCell, len(table.Kinds))}
			for i, kind := range table.Kinds {
				if c := l.Cell(kind); c != nil {
					row.Cells[i] = &page.HeatCell{Name: c.Name(), Verdict: c.Verdict, Agrees: c.Agrees,
						Address: address(c), About: c.Words()}
				}
			}
			table.Rows = append(table.Rows, row)
		}
		if len(table.Rows) > 0 {
			heat.Tables = append(heat.Tables, table)
		}
	}
	return heat
}

// runOf is a cell's story, or the run that its replay line names, with its seed.
func runOf(c *matrix.Result) (s *sim.Scenario, err error) {
	one := c.Shown()
	if one == nil {
		return nil, nil
	}
	if one.Story != "" {
		return storyOf(c, one)
	}
	words := strings.Fields(one.Replay) // locksim run NAME --seed N
	if len(words) != 5 {
		return nil, fmt.Errorf("cell %s: %q does not name a run", c.Name(), one.Replay)
	}
	if s, err = find(words[2]); err == nil {
		s.Seed, err = strconv.ParseUint(words[4], 10, 64)
	}
	return s, err
}

// heat shows the stored matrix; each cell leads to its run.
func heat(w http.ResponseWriter, _ *http.Request) error {
	h := heatOf(storedCells(), func(c *matrix.Result) string {
		s, err := runOf(c)
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
	var failed error
	h := heatOf(results, func(c *matrix.Result) string {
		if f.pages == "" || c.Verdict != "violated" || failed != nil {
			return "#" + c.Name()
		}
		var path string
		path, failed = f.writeCell(c)
		return path
	})
	if failed != nil {
		return failed
	}
	h.Words = true
	h.About = []string{f.command() + ". A row is a kind of trouble, a column a kind of lock."}
	return h.Write(w)
}

// command is the one that finds the same again.
func (f *matrixFlags) command() string {
	words := fmt.Sprintf("locksim matrix --seeds %d --find %d --root %d", f.seeds, f.find, f.root)
	for i, row := range f.rows {
		words += [...]string{" --rows ", ","}[min(i, 1)] + strconv.Itoa(row)
	}
	if len(f.cells) > 0 {
		words += " --cells " + strings.Join(f.cells, ",")
	}
	if f.orders {
		words += " --orders"
	}
	return words
}

// writeCell writes the page of a violation into the folder of --pages, also when
// the search was interrupted.
func (f *matrixFlags) writeCell(c *matrix.Result) (path string, err error) {
	s, err := runOf(c)
	if err != nil || s == nil {
		return "#" + c.Name(), err
	}
	report, events, err := runWithEvents(context.Background(), s)
	if err != nil {
		return "", err
	}
	p := page.FromReport(report, events, c.Replay)
	describe(p, c)
	path = filepath.Join(f.pages, strings.ReplaceAll(c.Name(), "/", "-")+".html")
	return filepath.ToSlash(path), savePage(path, p)
}
