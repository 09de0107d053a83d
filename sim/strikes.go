package sim

import "slices"

// faults adds the faults that may strike.
func (u *Untimed) faults(list []Action) []Action {
	for _, f := range u.kinds {
		for _, a := range u.of(f) {
			if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// of are the faults of a kind.
func (u *Untimed) of(f untimedFault) []Action {
	switch {
	case f.strikes != nil:
		return u.messageFaults(f)
	case f.verb == Cut:
		return u.cuts()
	}
	return u.strikes(f.verb, f.targets)
}

// strikes are the targets of a verb.
func (u *Untimed) strikes(verb ActionVerb, targets int) (list []Action) {
	if targets&aClient != 0 {
		for _, c := range u.r.clients {
			if c.started && !c.p.dead && !(verb == Pause && c.p.paused > 0) {
				list = append(list, Action{Verb: verb, To: c.p.actor})
			}
		}
		return list
	}
	for _, n := range u.w.nodes {
		onReplica := verb == Depose || verb == Promote
		isMaster := n.group.master == n || n.group.first == n
		if n.down || verb == Pause && n.paused > 0 || onReplica && isMaster || u.isSpared(n) {
			continue
		}
		list = append(list, Action{Verb: verb, To: n.actor})
	}
	return list
}

func (u *Untimed) cuts() (list []Action) {
	for _, c := range u.r.clients {
		for _, n := range u.w.nodes {
			if c.started && !c.p.dead && u.w.cuts[link{c.p.actor, n.actor}] == 0 && !u.isSpared(n) {
				list = append(list, Action{Verb: Cut, From: c.p.actor, To: n.actor})
			}
		}
	}
	return list
}

// messageFaults are those that strike the first message of a line between a
// client and a node.
func (u *Untimed) messageFaults(f untimedFault) (list []Action) {
	for _, l := range u.lines {
		if len(l.steps) > 0 && l.lane == 0 && f.strikes(l.steps[0].on.(*message)) && !u.isSpared(u.server(l.link)) {
			list = append(list, Action{Verb: f.verb, From: l.link.from, To: l.link.to})
		}
	}
	return list
}

// Struck returns the kinds of fault that have struck.
func (u *Untimed) Struck() []string { return u.w.struck }

// server is the node at one of the two ends of a line, or nil.
func (u *Untimed) server(l link) *node {
	if n := u.node(l.to); n != nil {
		return n
	}
	return u.node(l.from)
}

// isSpared reports whether no fault may strike a node: they have struck as many others as
// servers= of the faults line lets them.
func (u *Untimed) isSpared(n *node) bool {
	return u.servers > 0 && n != nil && len(u.struck) >= u.servers && !slices.Contains(u.struck, n.actor)
}

// strike notes whom a fault strikes, and of which kinds it is.
func (u *Untimed) strike(a Action) {
	for i, f := range u.kinds {
		if f.verb == a.Verb && slices.Contains(u.of(f), a) {
			u.w.strikes(Step{Fault: u.names[i]})
		}
	}
	u.budget--
	if n := u.server(link{a.From, a.To}); u.servers > 0 && n != nil && !slices.Contains(u.struck, n.actor) {
		u.struck = append(u.struck, n.actor)
	}
}
