package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"minikv/sim/check"
)

// progress shows how much of something long is done, on a terminal only.
type progress struct {
	bar     *progressbar.ProgressBar // nil: it was not shown yet
	started time.Time
	shown   time.Time // last
	out     io.Writer // nil: no terminal
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

func newProgress(out io.Writer) *progress { return &progress{started: time.Now(), out: terminal(out)} }

// show tells that so much of all is done, and what that is, if it is time to.
func (p *progress) show(done, all int64, format string, args ...any) {
	if !p.due() {
		return
	}
	if p.bar == nil {
		p.bar = newBar(p.out, all)
	}
	p.bar.Describe(fitted(fmt.Sprintf(format, args...), columns(p.out)))
	_ = p.bar.Set64(done) // progress that cannot be shown harms nothing
}

// seeds tells how many seeds of a hunt were tried; all is -1 where nobody knows how many there are.
func (p *progress) seeds(tried, all, hits int) {
	p.show(int64(tried), int64(all), "%s in %s", check.Several(hits, "violation"), check.Several(tried, "seed"))
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
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
