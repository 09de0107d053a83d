package engine

import (
	"math"
	"slices"

	"minikv/datastore"
)

// What a pause holds back, and who goes on when a wait is over.

// PauseReason is why commands are held back. Each reason has a pause of its own.
type PauseReason uint8

// The reasons.
const (
	PausedByClient    PauseReason = iota // CLIENT PAUSE
	PausedByFailover                     // the node hands over to a replica
	PausedByMigration                    // MIGRATE waits for the other node
	PausedByShutdown                     // the node lets its replicas catch up before it ends
	pauseReasons
)

// pause is how long, and whether reads are held back as well.
type pause struct {
	until int64 // Unix milliseconds; 0: not paused
	all   bool
}

// Pause holds back commands that write, or all, until a date in Unix
// milliseconds or until Unpause. A pause for the same reason is made longer and
// stricter, never less.
func (n *Node) Pause(reason PauseReason, until int64, all bool) {
	p := n.blocking.pauses[reason]
	n.setPause(reason, pause{max(p.until, until), p.all || all})
}

// Unpause ends a pause. What it held back runs when the shell asks for Unblocked,
// unless another pause holds it back.
func (n *Node) Unpause(reason PauseReason) { n.setPause(reason, pause{}) }

// setPause puts a pause in the place of another one. When less is held back than
// before, whatever was is tried again.
// Source: updateClientPauseTypeAndEndTime of Redis 7.0.
func (n *Node) setPause(reason PauseReason, p pause) {
	b := &n.blocking
	someBefore, allBefore := b.paused()
	b.pauses[reason] = p
	n.applyExpiryPolicy()
	some, all := b.paused()
	if (some || !someBefore) && (all || !allBefore) {
		return
	}
	late := b.postponed
	b.postponed = nil
	for _, s := range late {
		args := s.block.args
		n.unblock(s)
		s.own().held = args
	}
}

// Paused reports whether commands are held back, for whatever reason.
func (n *Node) Paused() bool {
	some, _ := n.blocking.paused()
	return some
}

// PausedForAll reports whether all commands of clients are held back, not writes only.
func (n *Node) PausedForAll() bool {
	_, all := n.blocking.paused()
	return all
}

// paused reports whether commands are held back, and whether reads are.
func (b *blocking) paused() (some, all bool) {
	for i := range b.pauses {
		some = some || b.pauses[i].until != 0
		all = all || b.pauses[i].all
	}
	return some, all
}

// expiryPolicy is what a node does about expired keys: a replica hides what a
// master removes; so does a master while commands are held back and nothing may
// change.
func (n *Node) expiryPolicy() datastore.ExpiryPolicy {
	if some, _ := n.blocking.paused(); some || n.repl.isReplica() {
		return datastore.HideExpired
	}
	return datastore.RemoveExpired
}

// holdsBack reports whether a pause keeps a command from running. Replicas are never paused.
func (b *blocking) holdsBack(c *Call) bool {
	if !b.pausing() || c.Session.isLink() || c.Session.isReplica() {
		return false
	}
	_, all := b.paused()
	return all || c.scriptFlags(c.flags())&(Write|MayReplicate) != 0
}

// pausing reports whether there may be a pause.
func (b *blocking) pausing() bool {
	until := int64(0)
	for i := range b.pauses {
		until |= b.pauses[i].until
	}
	return until != 0
}

// postpone keeps a command until the pause ends.
func (n *Node) postpone(c *Call) {
	b := &blocked{args: cloneArgs(c.Args), deadline: math.MaxInt64, postponed: true}
	n.block(c.Session, b)
	n.blocking.postponed = append(n.blocking.postponed, c.Session)
}

// Unblocked returns the client whose wait has been over for longest and which is to go on
// now; nil if there is none. If a pause had held its command back, the command has now
// run, or is held back by another pause.
//
// After any call that may end a wait, a shell calls Unblocked until it returns nil.
// Before it calls again, it lets the client go on with all that the client has sent
// meanwhile. So the clients go on one after the other, behind whoever ended their waits.
// Source: processUnblockedClients of Redis 7.0.
func (n *Node) Unblocked() *Session {
	b := &n.blocking
	if n.depth > 0 || len(b.unblocked) == 0 { // in a script nobody goes on
		return nil
	}
	s := b.unblocked[0]
	b.unblocked = slices.Delete(b.unblocked, 0, 1)
	s.unblocked = false
	if held := s.held; held != nil {
		s.own().held = nil
		n.perform(s, held, n.cfg.Clock.Mono())
	}
	return s
}
