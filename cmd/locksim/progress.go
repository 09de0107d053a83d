package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"minikv/sim"
)

// progress shows how far a long run is, on a terminal only.
type progress struct {
	bar     *progressbar.ProgressBar
	started time.Time
	out     io.Writer
	length  time.Duration
}

// patience is how long a run may take before its progress is shown.
const patience = time.Second

func newProgress(out io.Writer, s *sim.Scenario, length time.Duration) *progress {
	if length == 0 {
		length = s.For
	}
	p := &progress{started: time.Now(), length: length}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = out
	}
	return p
}

func (p *progress) tick(now time.Duration, events uint64, grants int) {
	if p.out == nil || time.Since(p.started) < patience {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(p.length.Milliseconds(), progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(), progressbar.OptionShowElapsedTimeOnFinish())
	}
	p.bar.Describe(fmt.Sprintf("%d grants, %d events", grants, events))
	_ = p.bar.Set64(now.Milliseconds()) // progress that cannot be shown harms nothing
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
