package sim

import (
	"strconv"
	"time"
)

// stall pauses a client as soon as a server has executed a request of it with
// which it asks for a lock, before the reply reaches it.
type stall struct {
	step   Step // that made it
	client string
	after  int // requests that still pass
	d      time.Duration
}

func checkStall(w *Spec, s Step) error {
	if err := s.shape(1, "for", "after"); err != nil {
		return err
	}
	if err := s.lasts(true); err != nil {
		return err
	}
	if s.opt("after") != "" {
		if _, err := number(Option{"after", s.opt("after")}, 0, 1_000_000); err != nil {
			return err
		}
	}
	return w.known(s.Args[0], aClient)
}

func applyStall(r *runner, s Step) {
	after, _ := strconv.Atoi(s.opt("after"))
	r.w.stalls = append(r.w.stalls, &stall{s, s.Args[0], after, s.length("for", 0)})
}

// stall is called when a request of p was executed.
func (w *World) stall(p *process) {
	if !p.asking {
		return
	}
	for i, s := range w.stalls {
		if s.client != p.name() {
			continue
		}
		if s.after--; s.after < 0 {
			w.stalls = append(w.stalls[:i], w.stalls[i+1:]...)
			w.strikes(s.step)
			p.pause(s.d)
			return
		}
	}
}

func drawStall(c record) Step {
	s := c.lasting("stall", c.client())
	if skip := c.draw(fieldSkip, 6); skip > 0 {
		s.Opts = append(s.Opts, Option{"after", strconv.FormatUint(skip, 10)})
	}
	return s
}
