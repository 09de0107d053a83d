package cluster

import (
	"time"

	"minikv/server/engine"
)

// past is what a member has had, so that it can restart without the latest of
// it, as from an append-only file that was not synced.
type past struct {
	spans []span // one or two, the older first
}

// span is the data at one time, and how it changed from then on.
type span struct {
	at      time.Duration // on the monotonic clock
	base    *engine.Snapshot
	db      int // that the stream has selected at the base
	offset  int64
	changes []pastChange
	size    int // of the changes, in bytes
}

// pastChange is effects, and when they came about.
type pastChange struct {
	at     time.Duration
	stream []byte
}

// pastSpan is how far back a member can go at least, once it has run for that
// long, unless its changes take more than pastSize bytes: a clock may stand still
// while clients write.
const (
	pastSpan = time.Minute
	pastSize = 16 << 20
)

// Remember makes the member keep its past from now on, for RestartAt.
func (m *Member) Remember() {
	if m.past == nil {
		m.past = &past{}
		m.remember()
	}
}

// pastOverhead is about what a change takes besides its effects.
const pastOverhead = 64

// remember notes what has changed. Each minute, or pastSize, a new span begins.
func (m *Member) remember() {
	if m.past == nil {
		return
	}
	p, now := m.past, m.clock.Mono()
	if n := len(p.spans); n > 0 {
		s := &p.spans[n-1]
		stream, ok := m.node.EffectsSince(s.offset)
		if len(stream) > 0 {
			s.changes = append(s.changes, pastChange{now, append([]byte(nil), stream...)})
			s.offset += int64(len(stream))
			s.size += len(stream) + pastOverhead
		}
		if ok && now-s.at < pastSpan && s.size < pastSize {
			return
		}
		if !ok { // another history has begun
			p.spans = nil
		}
	}
	base := m.node.Snapshot()
	p.spans = append(p.spans, span{at: now, base: base, db: m.node.StreamDB(), offset: base.Offset()})
	if len(p.spans) > 2 {
		p.spans = p.spans[1:]
	}
}

// RestartAt is Restart with the data as it was at an earlier time of the monotonic clock,
// or at the earliest time that the member remembers. It needs Remember.
func (m *Member) RestartAt(at time.Duration) {
	p := m.past
	m.Restart(false)
	if p == nil || len(p.spans) == 0 {
		return
	}
	s := p.spans[0]
	if last := p.spans[len(p.spans)-1]; last.at <= at {
		s = last
	}
	var streams [][]byte
	for _, c := range s.changes {
		if c.at <= at {
			streams = append(streams, c.stream)
		}
	}
	m.node.Recover(s.base, s.db, streams)
	m.past = &past{}
	m.remember()
}
