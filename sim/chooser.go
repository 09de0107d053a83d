package sim

// A Chooser makes every choice of a run that could go two ways. A choice has a key: its
// stream and its number among the draws of that stream. So a new draw in one place shifts
// nothing elsewhere. Value 0 is always the dull choice: the shortest delay, no drop, no
// fault.
type Chooser interface {
	// Draw returns the n-th draw of the stream, 0 to bound-1. bound is at least 2.
	Draw(stream Stream, n uint64, bound uint64) uint64
}

// Stream identifies the draws of one concern, such as "net/c1>m1" or "client/c3".
type Stream uint64

// NewStream returns the stream of that name: its FNV-1a hash.
func NewStream(name string) Stream {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return Stream(h)
}

// Random is the chooser of a seed. It is a pure function of (seed, stream, n).
type Random uint64

// Draw implements Chooser.
func (r Random) Draw(stream Stream, n uint64, bound uint64) uint64 {
	x := mix(uint64(r)*0x9e3779b97f4a7c15 ^ uint64(stream))
	return mix(x+n*0xd1342543de82ef95) % bound
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Draw is one recorded choice. A run is its set of non-zero draws.
type Draw struct {
	Stream Stream
	N      uint64
	Value  uint64
}

// Replay returns recorded draws, and 0 for all others.
type Replay map[Draw]uint64 // by Draw with Value 0

// NewReplay makes the chooser of recorded draws.
func NewReplay(draws []Draw) Replay {
	r := make(Replay, len(draws))
	for _, d := range draws {
		r[Draw{Stream: d.Stream, N: d.N}] = d.Value
	}
	return r
}

// Draw implements Chooser. A recorded value that is not below bound counts as bound-1.
func (r Replay) Draw(stream Stream, n uint64, bound uint64) uint64 {
	return min(r[Draw{Stream: stream, N: n}], bound-1)
}

// draws is one stream's place in a run.
type draws struct {
	w      *World
	stream Stream
	n      uint64
}

func (w *World) newDraws(name string) draws { return draws{w: w, stream: NewStream(name)} }

// draw returns 0 to bound-1. What leaves no choice is not drawn, so that replays do not drift.
func (d *draws) draw(bound uint64) uint64 {
	if bound < 2 {
		return 0
	}
	if d.w.untimed != nil {
		d.w.untimed.drew = true
	}
	v := d.w.cfg.Chooser.Draw(d.stream, d.n, bound)
	if v != 0 && d.w.cfg.Record {
		d.w.drawn = append(d.w.drawn, Draw{d.stream, d.n, v})
	}
	d.n++
	return v
}

// Drew reports whether clients have drawn from several values so far, as by Client.Draw:
// they got the least each time, and what they would have done with another is in no order.
func (u *Untimed) Drew() bool { return u.drew }

// span draws a duration from a range, its end included; its start is the dull choice.
func (d *draws) span(r Range) int64 {
	if r.Hi <= r.Lo {
		return int64(r.Lo)
	}
	width := uint64(r.Hi - r.Lo)
	step := granule(width)
	return int64(r.Lo) + int64(step*d.draw(width/step+1))
}

// granule is the step in ns in which a duration is drawn from a range of that width: 100 µs
// or 1 µs if ten or more of these are the whole range, else 1 ns.
func granule(width uint64) uint64 {
	for _, step := range [...]uint64{100_000, 1_000} {
		if width >= 10*step && width%step == 0 {
			return step
		}
	}
	return 1
}
