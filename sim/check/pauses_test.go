package check

import (
	"time"

	"minikv/trace"
)

// awake is when somebody was not paused between two times.
func (p past) awake(who trace.Actor, from, to time.Duration) (list [][2]time.Duration) {
	for i, e := range p {
		if e.Kind != trace.Pause || e.Peer != who {
			continue
		}
		list, from = append(list, [2]time.Duration{from, min(to, max(from, e.At))}), to
		for _, later := range p[i:] {
			if later.Kind == trace.Resume && later.Actor == who || later.Kind == trace.Crash && later.Peer == who {
				from = min(to, max(list[0][0], later.At))
				break
			}
		}
	}
	return append(list, [2]time.Duration{from, to})
}

// still is for how long somebody was paused between two times.
func (p past) still(who trace.Actor, from, to time.Duration) time.Duration {
	d := to - from
	for _, awake := range p.awake(who, from, to) {
		d -= awake[1] - awake[0]
	}
	return d
}
