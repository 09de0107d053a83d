package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/trace"
)

// Faults that end by themselves: those with for=DURATION.

// lasts checks the option for=, and that it is there if it must be.
func (s Step) lasts(must bool) error {
	return s.timed("for", must)
}

func (s Step) timed(option string, must bool) error {
	if s.opt(option) == "" && !must {
		return nil
	}
	_, err := duration(Option{option, s.opt(option)})
	return err
}

// length reads a duration that timed has checked; without one it is otherwise.
func (s Step) length(option string, otherwise time.Duration) time.Duration {
	if s.opt(option) == "" {
		return otherwise
	}
	d, _ := duration(Option{option, s.opt(option)})
	return d
}

// until calls end when the step's duration has passed, if it has one.
func (r *runner) until(s Step, end func()) {
	if s.opt("for") != "" {
		r.w.at(r.w.now+s.length("for", 0), end)
	}
}

func checkCrash(w *Spec, s Step) error {
	if err := s.shape(1, "for", "data"); err != nil {
		return err
	}
	if err := s.lasts(false); err != nil {
		return err
	}
	if err := w.known(s.Args[0], anybody); err != nil || s.opt("data") == "" {
		return err
	}
	if s.Args[0][0] == 'c' || s.opt("for") == "" {
		return fmt.Errorf("data=%s: expected a node, and for=DURATION", s.opt("data"))
	}
	_, err := oneOf(Option{"data", s.opt("data")}, restartData)
	return err
}

// applyCrash stops a client or a node, which starts again where the step says when.
func applyCrash(r *runner, s Step) {
	if p := r.process(s.Args[0]); p != nil {
		if !p.dead {
			p.crash()
			r.until(s, r.clientOf(p).restart)
		}
		return
	}
	n := r.node(s.Args[0])
	if n.down {
		return
	}
	n.crash()
	since := n.crashed
	r.until(s, func() {
		if n.down && n.crashed == since { // else it has crashed again
			n.restart(cmp.Or(s.opt("data"), "keep"))
		}
	})
}

func (r *runner) clientOf(p *process) *client {
	return r.clients[slices.IndexFunc(r.clients, func(c *client) bool { return c.p == p })]
}

// restart is a new process in the place of one that has crashed, on the same
// machine: it has the clock of the other, and all of its rounds before it.
func (c *client) restart() {
	if !c.p.dead {
		return
	}
	crashed := c.p
	c.p = c.w.newProcess(c.actor, crashed.life+1)
	if crashed.clock != &c.w.truth {
		*c.p.ownClock() = *crashed.clock
	}
	c.w.procs = append(c.w.procs, c.p)
	c.stage = stage{}
	c.start()
	for _, g := range c.w.groups {
		if !c.w.governs() && g.master != g.first {
			c.p.conn(g.master).announce()
		}
	}
}

func checkHold(w *Spec, s Step) error {
	if err := s.shape(1, "for"); err != nil {
		return err
	}
	if err := s.lasts(false); err != nil {
		return err
	}
	return w.known(s.Args[0], aReplica)
}

func applyHold(r *runner, s Step) {
	n, until := r.node(s.Args[0]), r.w.now+s.length("for", farAway)
	n.holdReplication(until)
	r.until(s, func() {
		if n.held == until { // else another hold goes on, or none
			n.releaseReplication()
		}
	})
}

func checkFailover(w *Spec, s Step) error {
	if w.Cluster || w.Watched > 0 {
		return errGoverned
	}
	if err := s.shape(1, "outage"); err != nil {
		return err
	}
	if err := s.timed("outage", true); err != nil {
		return err
	}
	return w.known(s.Args[0], aReplica)
}

// applyFailover crashes the master of a replica and promotes that when the
// outage is over.
func applyFailover(r *runner, s Step) {
	n := r.node(s.Args[0])
	if n.down || n.group.master == n {
		return
	}
	n.group.master.crash()
	r.w.at(r.w.now+s.length("outage", 0), func() {
		n.whenAwake(func() {
			if n.group.master.down {
				n.promote()
			}
		})
	})
}

func checkDelay(w *Spec, s Step) error {
	if err := s.shape(2, "next", "by", "after", "what"); err != nil {
		return err
	}
	if err := s.timed("by", true); err != nil {
		return err
	}
	return checkWhat(w, s)
}

// checkWhat checks a step about messages of a sort.
func checkWhat(w *Spec, s Step) error {
	if s.opt("what") != "" {
		if _, err := oneOf(Option{"what", s.opt("what")}, append([]string{"request"}, fromServers...)); err != nil {
			return err
		}
	}
	return checkRule(w, s)
}

func applyDelay(r *runner, s Step) {
	l := r.rule(s, s.opt("what"))
	l.late = s.length("by", 0)
	r.w.delays = append(r.w.delays, l)
}

func checkSlow(w *Spec, s Step) error {
	if err := s.shape(1, "for", "by"); err != nil {
		return err
	}
	if err := s.lasts(true); err != nil {
		return err
	}
	if err := s.timed("by", false); err != nil {
		return err
	}
	return w.known(s.Args[0], aMaster|aReplica)
}

// slowBy is how long a slow node takes for a command unless the step says.
const slowBy = 100 * time.Millisecond

// applySlow has a node take its time for each command, one after the other.
func applySlow(r *runner, s Step) {
	n := r.node(s.Args[0])
	by := s.length("by", slowBy)
	n.slowDown(by)
	since := r.w.calms
	r.until(s, func() {
		if since == r.w.calms {
			n.slowDown(-by)
		}
	})
}

// mend ends one partition; its links may be cut by others.
func (r *runner) mend(cut []link, since int, what string) {
	if since != r.w.heals {
		return // a `heal` came first
	}
	for _, l := range cut {
		if r.w.cuts[l]--; r.w.cuts[l] == 0 {
			delete(r.w.cuts, l)
		}
	}
	r.healed(len(cut), what)
}

// heal ends all partitions.
func (r *runner) heal() {
	n := len(r.w.cuts)
	clear(r.w.cuts)
	r.w.heals++
	r.healed(n, "")
}

// healed tells of links that are cut no more, of one partition or of all.
func (r *runner) healed(links int, what string) {
	cause := r.w.emit(trace.Event{Kind: trace.Heal, Actor: r.w.nemesis, A: int64(links), Text: what})
	r.w.following(cause, func() {
		r.w.eachLink((*peerLink).flush)
		r.w.unstick()
	})
}

func applyPartition(r *runner, s Step) {
	var cut []link
	for _, a := range strings.Split(s.Args[0], ",") {
		for _, b := range strings.Split(s.Args[1], ",") {
			cut = append(cut, link{r.actor(a), r.actor(b)})
			if s.opt("way") != "one" {
				cut = append(cut, link{r.actor(b), r.actor(a)})
			}
		}
	}
	for _, l := range cut {
		r.w.cut(l)
	}
	what := strings.Join(s.Args, " from ") + map[bool]string{true: ", one way"}[s.opt("way") == "one"]
	r.w.emit(trace.Event{Kind: trace.Partition, Actor: r.w.nemesis, A: int64(len(cut)), Text: what})
	since := r.w.heals
	r.until(s, func() { r.mend(cut, since, what) })
}
