package engine

import (
	"time"

	"minikv/datastore"
)

// What a client's connection costs, as redis-server would have it, and what passed
// over all of them. The shell tells how much it read and sent.

// Sizes of redis-server's buffers, in bytes.
// Source: server.h of Redis 7.0, jemalloc's size classes.
const (
	readBuffer       = 16 << 10 // for which a query buffer has room at least
	resizedFrom      = 32 << 10 // larger ones shrink when nothing needs them
	replyBuffer      = 16 << 10
	leastReplyBuffer = 1 << 10
	clientStruct     = 784 // and what belongs to every one
	queryHeader      = 6   // of a string of that size, its closing zero included
)

const (
	queryIdle   = 3 * time.Second        // after which an idle client has no query buffer
	queryShrink = 200 * time.Millisecond // after which a large one that was used once shrinks
	replyShrink = 5 * time.Second        // after which an unused reply buffer is small
)

// queryBuffer is the size that redis-server's buffer for a client's commands would have.
type queryBuffer struct {
	size    int           // bytes that fit
	pending int           // bytes read since a command was complete
	grownAt time.Duration // when it last became larger
}

// Received tells that bytes were read from the client at once.
func (s *Session) Received(bytes int) {
	n := s.node
	n.stats.reads++
	n.stats.netIn += int64(bytes)
	q := &s.query
	now := n.cfg.Clock.Mono()
	q.settle(now, s.lastUsed)
	least := readBuffer
	if q.pending > 0 { // what was read before belongs to the same command
		least = max(least, q.pending+bytes)
	}
	q.pending += bytes
	if q.size < least {
		q.size, q.grownAt = int(datastore.Allocated(least+queryHeader))-queryHeader, now
	}
}

// Sent tells that bytes of Out were taken to be sent.
func (s *Session) Sent(bytes int) {
	s.node.stats.writes++
	s.node.stats.netOut += int64(bytes)
}

// settle does what redis-server has done with the buffer up to now, both times by
// the node's monotonic clock.
// Source: clientsCronResizeQueryBuffer of Redis 7.0.
func (q *queryBuffer) settle(now, lastUsed time.Duration) {
	switch {
	case now-lastUsed >= queryIdle:
		q.size = 0
	case q.size > resizedFrom && now-q.grownAt >= queryShrink:
		q.size = int(datastore.Allocated(readBuffer+queryHeader)) - queryHeader
	}
}

// footprint is what CLIENT LIST tells of a client's memory, in bytes.
type footprint struct {
	query, queryFree, args, queued, reply, replyPeak, total int
}

// footprint is that of s; args is the command that it runs, nil if it runs none.
func (s *Session) footprint(args [][]byte) (f footprint) {
	now := s.node.cfg.Clock.Mono()
	s.query.settle(now, s.lastUsed)
	for _, arg := range args {
		f.args += len(arg)
	}
	for _, queued := range s.tx.queue {
		for _, arg := range queued.args {
			f.queued += len(arg)
		}
	}
	f.reply, f.replyPeak = replyBuffer, replyBuffer
	if now-s.created > replyShrink {
		f.reply, f.replyPeak = leastReplyBuffer, 0
	}
	f.query = commandLen(args)
	f.queryFree = max(s.query.size-f.query, 0)
	f.total = clientStruct + f.reply + f.args + f.queued
	if s.query.size > 0 {
		f.total += s.query.size + queryHeader
	}
	return f
}

// commandLen is the length of a command as it is sent, 0 of none.
func commandLen(args [][]byte) int {
	if len(args) == 0 {
		return 0
	}
	const header, lineEnds = 1, 2
	n := header + lineEnds + len(decimal(int64(len(args))))
	for _, arg := range args {
		n += header + len(decimal(int64(len(arg)))) + lineEnds + len(arg) + lineEnds
	}
	return n
}

// clientMemory is what all clients use together, in bytes.
func (n *Node) clientMemory() (total int64) {
	for s := n.sessions.first; s != nil; s = s.next {
		total += int64(s.footprint(nil).total)
	}
	return total
}

// largestQuery is the size of the largest query buffer, in bytes.
func (n *Node) largestQuery() (largest int) {
	for s := n.sessions.first; s != nil; s = s.next {
		if s.footprint(nil); s.query.size > 0 {
			largest = max(largest, s.query.size+queryHeader)
		}
	}
	return largest
}

const (
	ratePeriod  = 100 * time.Millisecond
	rateSamples = 16
)

// rates samples the counters of commands and of bytes in and out.
// Source: trackInstantaneousMetric of Redis 7.0.
type rates struct {
	next    time.Duration // when the next sample is due
	last    [3]int64
	samples [rateSamples][3]int64 // per second
	at      int                   // of the oldest sample
}

// sample is called once a sample is due. What has happened since the last one
// happened in the latest period; nothing in those before it.
func (r *rates) sample(now time.Duration, counts [3]int64) {
	missed := int((now - r.next) / ratePeriod)
	for range min(missed, rateSamples) {
		r.add([3]int64{})
	}
	var one [3]int64
	for i := range one {
		one[i] = (counts[i] - r.last[i]) * int64(time.Second/ratePeriod)
	}
	r.add(one)
	r.last, r.next = counts, r.next+time.Duration(missed+1)*ratePeriod
}

func (r *rates) add(one [3]int64) {
	r.samples[r.at] = one
	r.at = (r.at + 1) % rateSamples
}

// sampleRates samples what was counted, if that is due.
func (n *Node) sampleRates() {
	s := &n.stats
	if now := n.cfg.Clock.Mono(); now >= s.rates.next {
		s.rates.sample(now, [3]int64{s.commands, s.netIn, s.netOut})
	}
}

// perSecond is the mean of the samples: commands, bytes in and bytes out.
func (r *rates) perSecond() (mean [3]int64) {
	for _, one := range r.samples {
		for i := range mean {
			mean[i] += one[i]
		}
	}
	for i := range mean {
		mean[i] /= rateSamples
	}
	return mean
}
