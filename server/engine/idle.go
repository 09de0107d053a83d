package engine

import "time"

// Clients that have been silent for longer than the parameter timeout are sent away.

// idleStep is in what silence is counted: that of longer than a number of seconds
// has lasted for one more.
const idleStep = time.Second

// sendIdleAway ends the sessions that have been silent for too long, unless they wait
// for something, listen, or are those of replication.
// Source: clientsCronHandleTimeout of Redis 7.0.
func (n *Node) sendIdleAway() {
	now := n.cfg.Clock.Mono()
	if !n.limitsIdle() || now < n.idleAt {
		return
	}
	most := n.conf.maxIdle + idleStep
	n.idleAt = now + most // of those who are exempt now none is due before
	n.eachSession(func(s *Session) {
		due := s.lastUsed + most
		switch {
		case s.isLink() || s.isReplica() || s.monitors || s.Blocked() || s.Subscribed():
		case due > now:
			n.idleAt = min(n.idleAt, due)
		default:
			n.drop(s)
		}
	})
}

// limitsIdle reports whether there is anybody who may be silent for too long.
func (n *Node) limitsIdle() bool {
	return n.conf.maxIdle > 0 && n.sessions.count > 0 && !n.conf.noCron
}
