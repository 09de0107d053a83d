package lockclient

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// errNoAnswer stands for a master that had not answered when the verdict fell.
var errNoAnswer = errors.New("no answer yet")

// round is one question to masters of a Redlock. Answers may still come when
// the asker has gone on.
type round struct {
	need    int
	limit   time.Duration // of each request
	changed Gate          // opened at each answer

	mu    sync.Mutex
	nodes []NodeResult
	open  []int // the masters asked that have not answered, in order
	over  bool  // the lock was given up: what is granted now goes back at once

	late [][]*lateLease // by master, the Extends of what the round has taken that may yet come
}

// newRound makes a round that asks some of n masters.
func newRound(rt Runtime, n int, asked []int, limit time.Duration) *round {
	rd := &round{need: n/2 + 1, limit: limit, changed: rt.NewGate(), open: slices.Clone(asked)}
	rd.nodes = make([]NodeResult, n)
	for i := range rd.nodes {
		rd.nodes[i].Err = errNoAnswer
	}
	return rd
}

// record notes the answer of master i, and tells whether it came too late.
func (rd *round) record(i int, res NodeResult) (over bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.nodes[i] = res
	rd.open = slices.DeleteFunc(rd.open, func(o int) bool { return o == i })
	return rd.over
}

// verdict tells whether the round is decided; failure is nil if a quorum has agreed.
func (rd *round) verdict() (done bool, failure *QuorumError) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	got := 0
	for _, n := range rd.nodes {
		if n.OK {
			got++
		}
	}
	if got >= rd.need {
		return true, nil
	}
	if got+len(rd.open) >= rd.need {
		return false, nil
	}
	return true, &QuorumError{Need: rd.need, Got: got, Nodes: slices.Clone(rd.nodes)}
}

// results are what the masters have said so far.
func (rd *round) results() []NodeResult {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return slices.Clone(rd.nodes)
}

// granted tells whether master i has agreed.
func (rd *round) granted(i int) bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return rd.nodes[i].OK
}

// untilFree returns after which time a quorum that failed may agree, if nobody
// unlocks: when the leases of enough masters have ended, those that have not
// answered yet counting as free. It is not known when too many do not answer.
func (rd *round) untilFree() (left time.Duration, known bool) {
	need := rd.need
	var ends []time.Duration
	for _, n := range rd.results() {
		switch {
		case n.OK:
			need--
		case n.Taken:
			ends = append(ends, n.left)
		case n.Err == errNoAnswer:
			ends = append(ends, 0)
		}
	}
	if need < 1 || need > len(ends) {
		return 0, false
	}
	slices.Sort(ends)
	return ends[need-1], true
}

// end gives the lock up. It returns the masters that have answered, which the
// caller is to release; the others are released when they answer.
func (rd *round) end() (answered []int) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.over = true
	for i := range rd.nodes {
		if !slices.Contains(rd.open, i) {
			answered = append(answered, i)
		}
	}
	return answered
}

// extends notes that master i is asked for a new lease at the Mono time now. sure is how much of it
// can be relied on there, as an Extend that was asked for before may come after this one.
func (rd *round) extends(i int, lease, now time.Duration) (late *lateLease, sure time.Duration) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.late == nil {
		rd.late = make([][]*lateLease, len(rd.nodes))
	}
	rd.late[i] = slices.DeleteFunc(rd.late[i], func(one *lateLease) bool { return now > one.by })
	sure, late = lease, &lateLease{lease: lease, by: noEnd}
	for _, one := range rd.late[i] {
		sure = min(sure, one.lease)
	}
	rd.late[i] = append(rd.late[i], late)
	return late, sure
}

// extended notes the answer to what extends has noted: where the outcome is unknown, it may come until
// the Mono time by.
func (rd *round) extended(late *lateLease, by time.Duration, err error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	late.by = -1
	if errors.Is(err, ErrUnknown) {
		late.by = by
	}
}

// least is what at least a quorum of those that have agreed has, of what each has.
func (rd *round) least(each []time.Duration) time.Duration {
	var agreed []time.Duration
	for i, n := range rd.results() {
		if n.OK {
			agreed = append(agreed, each[i])
		}
	}
	slices.Sort(agreed)
	return agreed[len(agreed)-rd.need]
}
