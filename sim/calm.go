package sim

import "minikv/trace"

// applyCalm ends all faults: partitions heal, who stood still goes on, servers are no
// longer slow, those that are down come back with their data or are replaced by a
// replica, and no fault is drawn any more. Clients that have what they asked for begin
// nothing new; those that wait must get it.
func applyCalm(r *runner, _ Step) {
	w := r.w
	w.calm = true
	w.calms++
	r.heal()
	r.missed()
	w.losses, w.doubles, w.delays, w.stalls = nil, nil, nil, nil
	for _, p := range w.procs {
		if p != nil && p.paused > 0 {
			p.resumeAt(p.paused, w.cursor)
		}
	}
	for _, n := range w.nodes {
		if n.paused > 0 {
			n.resumeAt(n.paused, w.cursor)
		}
	}
	for _, n := range w.nodes {
		if n.slow > 0 {
			n.slowDown(-n.slow)
		}
	}
	for _, n := range w.nodes {
		if n.held > 0 {
			n.releaseReplication()
		}
	}
	if w.governs() {
		for _, n := range w.nodes {
			if n.down {
				n.restart("keep")
			}
		}
	}
	for _, g := range w.groups {
		if g.master.down {
			g.comeBack()
		}
	}
	w.emit(trace.Event{Kind: trace.Calm, Actor: w.nemesis})
}

// comeBack gives a group a master again.
func (g *group) comeBack() {
	for _, n := range g.nodes {
		if !n.down {
			n.promote()
			return
		}
	}
	g.master.restart("keep")
}
