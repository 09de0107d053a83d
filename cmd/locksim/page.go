package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"minikv/sim"
	"minikv/sim/page"
	"minikv/trace"
)

func newPage() *cobra.Command {
	var html string
	cmd := &cobra.Command{
		Use:   "page FILE.jsonl",
		Short: "Turn a trace into a page",
		Long: `Turn a trace, as locksim run --trace jsonl writes it, into one HTML file that
needs nothing else.`,
		Example: `  locksim run contention --trace jsonl > events.jsonl
  locksim page events.jsonl --html contention.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("page takes one trace, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return pageOf(args[0], html) },
	}
	cmd.Flags().StringVar(&html, "html", "", "file to write")
	_ = cmd.MarkFlagRequired("html")
	return cmd
}

// pageOf reads a trace and writes its page.
func pageOf(path, html string) error {
	if err := checkPage(html); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	events, names, err := trace.Read(path, in)
	if err != nil {
		return err
	}
	return savePage(html, page.FromTrace(filepath.Base(path), events, names))
}

// checkPage reports a path at which there can be no page.
func checkPage(path string) error {
	if path == "" {
		return errors.New("--html: expected the name of a file")
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("--html: %s is a folder: expected the name of a file", path)
	}
	return nil
}

// savePage writes a page to a file.
func savePage(path string, p *page.Page) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<16)
	err = p.Write(out)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if info, statErr := os.Lstat(path); err != nil && statErr == nil && info.Mode().IsRegular() {
		_ = os.Remove(path) // half a page is none
	}
	return err
}

// collect keeps the events for --html, and hands them on.
func (f *runFlags) collect(observe func(*trace.Event, []string)) func(*trace.Event, []string) {
	if f.html == "" {
		return observe
	}
	return func(e *trace.Event, names []string) {
		f.events = append(f.events, *e)
		if observe != nil {
			observe(e, names)
		}
	}
}

// writePage writes the page that --html asks for.
func (f *runFlags) writePage(name string, file *sim.Scenario, r *sim.Report) error {
	if f.html == "" {
		return nil
	}
	return savePage(f.html, page.FromReport(r, f.events, replayCommand(name, file, r)))
}
