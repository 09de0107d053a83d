package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minikv/sim/explore"
	"minikv/sim/matrix"
)

// matrixFlags are the flags of `locksim matrix`.
type matrixFlags struct {
	seeds  int
	find   int
	root   uint64
	rows   []int
	cells  []string
	format string
	shrink bool
	pages  string
	orders bool
	store  string
}

func newMatrix() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Say which lock keeps which promise under which fault",
		Long: `Search every cell of the matrix. Each row is a scenario of faults; each column is a
kind of lock, as Redisson's client takes it and as lockclient does. A violation is
shown with the command that replays it. A cell holds if nothing was found in it,
and the same search found what breaks the cell that must break.

Exit codes: 1 if something that is expected to hold is violated, or if a violation
is not the same when it is run again; else 0. Cells that are unknown, cells in which
an expected violation was not found, and disagreements that the row's file lists
with a reason do not count.`,
		Example: `  locksim matrix --seeds 200
  locksim matrix --rows 2,12 --format markdown
  locksim matrix --seeds 20000 --store long.jsonl --format json
  locksim matrix --shrink --format html --pages cells > matrix.html
  locksim run matrix:7/redisson/mutex --seed 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().IntVar(&f.seeds, "seeds", 200, "seeds for each claim of a cell")
	cmd.Flags().IntVar(&f.find, "find", 0, "seeds for each claim that something breaks (default: as many as --seeds)")
	cmd.Flags().Uint64Var(&f.root, "root", 1, "root of the seeds")
	cmd.Flags().IntSliceVar(&f.rows, "rows", nil, "numbers of the rows (default: all)")
	cmd.Flags().StringSliceVar(&f.cells, "cells", nil, "names of the cells (default: all cells of the rows)")
	formats, either := formatNames()
	cmd.Flags().StringVar(&f.format, "format", matrixFormats[0].name, either+"; json: one object a line")
	cmd.Flags().BoolVar(&f.shrink, "shrink", false, "make each story as short as possible, and show it with --format json")
	cmd.Flags().StringVar(&f.pages, "pages", "", "folder for a page of each violation, which --format html links to")
	cmd.Flags().StringVar(&f.store, "store", "", "file that keeps the results, for a run with the same flags to go on")
	cmd.Flags().BoolVar(&f.orders, "orders", false,
		"also run every order of two clients and one fault, where what must hold has so small a world")
	completeWith(cmd, "format", formats)
	completeWith(cmd, "cells", cellNames())
	return cmd
}

func (f *matrixFlags) run(cmd *cobra.Command) error {
	if f.seeds < 1 || f.seeds > explore.SeedsOfRoot {
		return fmt.Errorf("--seeds %d: expected a number from 1 to %d", f.seeds, explore.SeedsOfRoot)
	}
	if f.find < 0 || f.find > explore.SeedsOfRoot {
		return fmt.Errorf("--find %d: expected a number from 0 to %d", f.find, explore.SeedsOfRoot)
	}
	if f.pages != "" && f.format != "html" {
		return fmt.Errorf("--pages %s: expected --format html as well, which links to them", f.pages)
	}
	out := cmd.OutOrStdout()
	format, err := f.writer()
	if err != nil {
		return err
	}
	if err := f.checkRows(cmd); err != nil {
		return err
	}
	if err := checkRoot(f.root); err != nil {
		return err
	}
	if f.pages != "" { // not only when all is done
		if err := os.MkdirAll(f.pages, 0o777); err != nil {
			return fmt.Errorf("--pages: %w", err)
		}
	}
	kept, err := f.openStore()
	if err != nil {
		return err
	}
	started := time.Now()
	bar := newProgress(cmd.ErrOrStderr())
	results, err := matrix.Run(cmd.Context(), matrix.Options{
		Root: f.root, Seeds: f.seeds, Find: f.find, Rows: f.rows, Cells: f.cells, Shrink: f.shrink, Orders: f.orders,
		Progress: func(done, all int, c *matrix.Cell) { bar.show(int64(done), int64(all), "cells, now %s", c) },
		Elapsed:  func() time.Duration { return time.Since(started) },
		Known:    kept.find,
		Each: func(r matrix.Result) error {
			if err := kept.keep(r); err != nil || format.each == nil {
				return err
			}
			return format.each(out, r)
		},
	})
	bar.done()
	err = cmp.Or(err, kept.close())
	if f.store != "" && errors.Is(err, context.Canceled) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d cells are kept in %s: the same command goes on\n", len(results), f.store)
	}
	if format.write != nil { // an interrupted run shows what it has
		err = cmp.Or(err, format.write(f, out, results))
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r matrix.Result) bool { return r.Failed() }) {
		return errDiffers
	}
	return nil
}

// checkRows refuses the number of a row, or the name of a cell, that there is not.
func (f *matrixFlags) checkRows(cmd *cobra.Command) error {
	known, rowOf := map[int]bool{}, map[string]int{}
	for _, r := range matrix.Rows() {
		known[r.Number] = true
		for i := range r.Cells {
			rowOf[r.Cells[i].String()] = r.Number
		}
	}
	if cmd.Flags().Changed("cells") && len(f.cells) == 0 {
		return errors.New("--cells: expected names, such as 7/redisson/mutex")
	}
	for _, name := range f.cells {
		row, ok := rowOf[name]
		if !ok {
			return fmt.Errorf("--cells %s: there is no such cell%s", name, variantsOf(name))
		}
		if len(f.rows) > 0 && !slices.Contains(f.rows, row) {
			return fmt.Errorf("--cells %s: it is in none of the rows of --rows", name)
		}
	}
	for _, n := range f.rows {
		if !known[n] {
			return fmt.Errorf("--rows %d: there is no such row", n)
		}
	}
	return nil
}

// cellNames are the names of the matrix's cells, in their order.
func cellNames() (names []string) {
	for _, r := range matrix.Rows() {
		for i := range r.Cells {
			names = append(names, r.Cells[i].String())
		}
	}
	return names
}

// matrixFormat is a value of --format.
type matrixFormat struct {
	name  string
	each  func(w io.Writer, r matrix.Result) error                         // writes a cell at once; nil: nothing
	write func(f *matrixFlags, w io.Writer, results []matrix.Result) error // writes all at the end; nil: nothing
}

var matrixFormats = []matrixFormat{
	{name: "table", write: func(_ *matrixFlags, w io.Writer, results []matrix.Result) error {
		return writeText(w, matrix.Table(results, columns(w)))
	}},
	{name: "json", each: func(w io.Writer, r matrix.Result) error { return cellWriter(w).Encode(r) }},
	{name: "markdown", write: func(_ *matrixFlags, w io.Writer, results []matrix.Result) error {
		return writeText(w, matrix.Markdown(results))
	}},
	{name: "html", write: (*matrixFlags).writeHeat},
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// formatNames are the values of --format, and the same as text.
func formatNames() (names []string, text string) {
	for _, one := range matrixFormats {
		names = append(names, one.name)
	}
	last := len(names) - 1
	return names, strings.Join(names[:last], ", ") + " or " + names[last]
}

// writer is the format that was asked for.
func (f *matrixFlags) writer() (matrixFormat, error) {
	for _, one := range matrixFormats {
		if one.name == f.format {
			return one, nil
		}
	}
	_, text := formatNames()
	return matrixFormat{}, fmt.Errorf("--format %q: expected %s", f.format, text)
}
