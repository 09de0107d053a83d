package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"minikv/sim"
)

// progress shows how far a long run is, on a terminal only.
type progress struct {
	bar     *progressbar.ProgressBar
	started time.Time
	shown   time.Time // last
	out     io.Writer
	length  time.Duration
}

// patience is how long a run may take before its progress is shown.
const patience = time.Second

// showEvery is the time between two looks of a bar.
const showEvery = 100 * time.Millisecond

// due reports whether progress is to be shown now.
func (p *progress) due() bool {
	if p.out == nil || time.Since(p.started) < patience || time.Since(p.shown) < showEvery {
		return false
	}
	p.shown = time.Now()
	return true
}

func newProgress(out io.Writer, s *sim.Scenario, length time.Duration) *progress {
	if length == 0 {
		length = s.For
	}
	return &progress{started: time.Now(), length: length, out: terminal(out)}
}

// terminal is out if that is a terminal on which lines can be drawn anew, else nil.
func terminal(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		return out
	}
	return nil
}

// columns is how many characters a line of out has, if that is a terminal, else 0.
func columns(out io.Writer) int {
	if o, ok := out.(*output); ok {
		out = o.Writer
	}
	f, ok := terminal(out).(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func newBar(out io.Writer, length int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(length, progressbar.OptionSetWriter(out),
		progressbar.OptionSetWidth(barWidth(columns(out))), progressbar.OptionClearOnFinish(),
		progressbar.OptionShowElapsedTimeOnFinish(), progressbar.OptionUseANSICodes(true))
}

// barWidth is how many characters wide a bar is in a terminal of so many columns.
func barWidth(columns int) int {
	if 0 < columns && columns < 120 {
		return 5
	}
	return 30
}

// besideText is how many characters of a bar's line are neither its text nor the bar, as
// " 100% ||  [1h23m45s:1h23m45s]", with room for the ^C of a terminal: a bar that is wider
// than one line could not be erased.
const besideText = 34

// fitted is a bar's text as far as a terminal of so many columns has room for it, in
// whole words: of a number that is cut another one would be read, and "537 s" of seeds.
func fitted(text string, columns int) string {
	room := max(0, columns-barWidth(columns)-besideText)
	if columns == 0 || len(text) <= room {
		return text
	}
	return text[:max(0, strings.LastIndexByte(text[:room+1], ' '))]
}

// describe says what a bar counts.
func (p *progress) describe(text string) { p.bar.Describe(fitted(text, columns(p.out))) }

func (p *progress) tick(now time.Duration, events uint64, grants int) {
	if !p.due() {
		return
	}
	if p.bar == nil {
		p.bar = newBar(p.out, p.length.Milliseconds())
	}
	p.describe(fmt.Sprintf("%d grants, %d events", grants, events))
	_ = p.bar.Set64(now.Milliseconds()) // progress that cannot be shown harms nothing
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// seedProgress shows how many seeds of a hunt were tried, on a terminal only.
type seedProgress struct {
	progress
	seeds int
}

func newSeedProgress(out io.Writer, seeds int) *seedProgress {
	return &seedProgress{progress: progress{started: time.Now(), out: terminal(out)}, seeds: seeds}
}

func (p *seedProgress) tick(tried, hits int) {
	if !p.due() {
		return
	}
	if p.bar == nil {
		p.bar = newBar(p.out, int64(p.seeds))
	}
	p.describe(fmt.Sprintf("%d violations in %d seeds", hits, tried))
	_ = p.bar.Set64(int64(tried)) // progress that cannot be shown harms nothing
}

// counter shows how many of a number of things are done, on a terminal only.
type counter struct {
	progress
	what string
}

func newCounter(out io.Writer, what string) *counter {
	return &counter{progress: progress{started: time.Now(), out: terminal(out)}, what: what}
}

func (c *counter) at(done, all int, name string) {
	if !c.due() {
		return
	}
	if c.bar == nil {
		c.bar = newBar(c.out, int64(all))
	}
	c.describe(c.what + ", now " + name)
	_ = c.bar.Set(done)
}
