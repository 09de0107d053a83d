package engine

import (
	"math/bits"
	"slices"
	"strings"
	"time"
)

// histogram counts durations, in nanoseconds, with two significant digits: from
// 1 ns to 1 s, what is outside counting as these. It grows as it is used.
// Source: hdr_histogram.c, as Redis 7.0 uses it.
type histogram struct {
	counts []uint32
	total  int64
}

const (
	histogramHalf = 128 // half of the steps of one size
	mostNanos     = int64(time.Second)
)

// note counts one duration.
func (h *histogram) note(d time.Duration) {
	at := histogramIndex(min(max(int64(d), 1), mostNanos))
	if at >= len(h.counts) {
		h.counts = append(h.counts, make([]uint32, at+1-len(h.counts))...)
	}
	h.counts[at]++
	h.total++
}

// histogramIndex is where a duration is counted.
func histogramIndex(nanos int64) int {
	scale := bits.Len64(uint64(nanos)|(2*histogramHalf-1)) - bits.Len(2*histogramHalf-1)
	return scale*histogramHalf + int(nanos>>scale)
}

// histogramTop is the greatest duration that is counted at an index.
func histogramTop(at int) int64 {
	scale := max(at/histogramHalf-1, 0)
	return (int64(at-scale*histogramHalf)+1)<<scale - 1
}

// steps tells how many durations there were up to about 1, 2, 4, 8, … µs, without
// steps that add none.
func (h *histogram) steps(tell func(micros, count int64)) {
	const first = 1024
	sum, told, at := int64(0), int64(0), 0
	for level := int64(first); sum < h.total; level *= 2 {
		last := histogramIndex(level)
		for ; at <= last && at < len(h.counts); at++ {
			sum += int64(h.counts[at])
		}
		if sum > told {
			tell(histogramTop(last)/1000, sum)
			told = sum
		}
	}
}

// percentile is the duration, in nanoseconds, that so many percent did not exceed.
func (h *histogram) percentile(percent float64) int64 {
	wanted := max(int64(percent/100*float64(h.total)+0.5), 1)
	sum := int64(0)
	for at, count := range h.counts {
		if sum += int64(count); sum >= wanted {
			return histogramTop(at)
		}
	}
	return 0
}

// latencyEvent is one kind of event that took long, with its latest samples.
type latencyEvent struct {
	name    string
	samples []latencySample // the oldest first
	highest int64           // milliseconds, of all time
}

// latencySample is the longest event of its kind in one second.
type latencySample struct {
	unixTime int64 // seconds
	millis   int64
}

// mostSamples is how many of them are kept of each event.
const mostSamples = 160

// noteLatency keeps an event that took as long as latency-monitor-threshold, if
// that is set.
func (n *Node) noteLatency(event string, taken time.Duration) {
	millis := taken.Milliseconds()
	if n.conf.latencyFrom == 0 || millis < n.conf.latencyFrom {
		return
	}
	at, found := slices.BinarySearchFunc(n.latency, event, func(e latencyEvent, name string) int {
		return strings.Compare(e.name, name)
	})
	if !found {
		n.latency = slices.Insert(n.latency, at, latencyEvent{name: event})
	}
	n.latency[at].add(latencySample{n.unixSeconds(), millis})
}

func (e *latencyEvent) add(sample latencySample) {
	e.highest = max(e.highest, sample.millis)
	if last := len(e.samples) - 1; last >= 0 && e.samples[last].unixTime == sample.unixTime {
		e.samples[last].millis = max(e.samples[last].millis, sample.millis)
		return
	}
	if len(e.samples) == mostSamples {
		e.samples = e.samples[1:]
	}
	e.samples = append(e.samples, sample)
}

// findLatency is the event of a name, or nil.
func (n *Node) findLatency(name string) *latencyEvent {
	for i := range n.latency {
		if n.latency[i].name == name {
			return &n.latency[i]
		}
	}
	return nil
}
