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
	readBuffer   = 16 << 10 // for which a query buffer has room at least
	resizedFrom  = 32 << 10 // larger ones shrink when nothing needs them
	mostReply    = 16 << 10 // of a reply buffer
	leastReply   = 1 << 10
	clientStruct = 768
	pointer      = 8
	queuedStruct = 24 // of a command that waits for EXEC
	queryHeader  = 6  // of a string of that size, its closing zero included
)

const (
	queryIdle   = 3 * time.Second        // after which an idle client has no query buffer
	queryShrink = 200 * time.Millisecond // after which a large one that was used once shrinks
	replyShrink = 5 * time.Second        // after which the most that was in a reply buffer is forgotten
	bufferCron  = 100 * time.Millisecond // between two looks at a client's buffers
)

// queryBuffer is the size that redis-server's buffer for a client's commands would have.
type queryBuffer struct {
	size    int           // bytes that fit
	pending int           // bytes read since a command was complete
	command int           // bytes read for the latest command, and what came with it
	grownAt time.Duration // when it last became larger
}

// Received records that so many bytes were read from the client at once.
func (s *Session) Received(bytes int) {
	n := s.node
	n.stats.reads++
	n.stats.netIn += int64(bytes)
	q := &s.query
	now := n.cfg.Clock.Mono()
	q.settle(now, s.lastUsed)
	s.lastUsed = now
	least := readBuffer
	if q.pending > 0 { // what was read before belongs to the same command
		least = max(least, q.pending+bytes)
	}
	q.pending += bytes
	if q.size < least {
		q.size, q.grownAt = int(datastore.Allocated(least+queryHeader))-queryHeader, now
	}
}

// complete begins a command, all of which has been read.
func (q *queryBuffer) complete() {
	if q.pending > 0 {
		q.command, q.pending = q.pending, 0
	}
}

// Sent records that so many bytes of Out were taken to be sent.
func (s *Session) Sent(bytes int) {
	s.node.stats.writes++
	s.node.stats.netOut += int64(bytes)
	w := &s.written
	s.lastUsed = s.node.cfg.Clock.Mono()
	w.settle(s.lastUsed, &s.node.conf)
	w.peak = max(w.peak, min(bytes, w.size))
}

// Took records that the client has taken some of what was sent before and had to wait.
func (s *Session) Took() { s.lastUsed = s.node.cfg.Clock.Mono() }

// replyBuffer is the size that redis-server's buffer for a client's replies would have.
type replyBuffer struct {
	size    int           // bytes; what does not fit goes elsewhere
	peak    int           // the most that was in it
	resetAt time.Duration // when the peak was last forgotten
	seenAt  time.Duration // when the cron last looked
}

// newReplyBuffer is that of a client that connects now. Its first peak counts as an
// old one.
func newReplyBuffer(now time.Duration) replyBuffer {
	return replyBuffer{size: mostReply, peak: mostReply, resetAt: now - 2*replyShrink, seenAt: now}
}

// settle does what redis-server's cron has done up to now, by the node's monotonic
// clock. After a few looks nothing changes any more.
// Source: clientsCronResizeOutputBuffer of Redis 7.0.
func (w *replyBuffer) settle(now time.Duration, conf *configuration) {
	const mostLooks = 8
	looks := min((now-w.seenAt)/bufferCron, mostLooks)
	for at := now - looks*bufferCron; looks > 0 && !conf.fixedReplies; looks-- {
		at += bufferCron
		w.look(at, conf)
	}
	w.seenAt = now - (now-w.seenAt)%bufferCron
}

func (w *replyBuffer) look(at time.Duration, conf *configuration) {
	switch {
	case w.size/2 >= leastReply && w.peak < w.size/2:
		w.size = int(datastore.Allocated(max(leastReply, w.peak+1)))
	case w.size < mostReply && w.peak == w.size:
		w.size = min(mostReply, 2*w.size)
	}
	if conf.replyPeakReset >= 0 && at-w.resetAt > conf.replyPeakReset {
		w.peak, w.resetAt = 0, at
	}
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

	inBuffer, blocks, outside int // of replies that wait: bytes, blocks, and bytes of these
}

// footprint is that of s; args is the command that it runs, nil if it runs none.
func (s *Session) footprint(args [][]byte) (f footprint) {
	now := s.node.cfg.Clock.Mono()
	s.query.settle(now, s.lastUsed)
	for _, arg := range args {
		f.args += len(arg)
	}
	queue, _ := s.inMulti()
	for _, queued := range queue {
		f.queued += pointer * len(queued.args)
		for _, arg := range queued.args {
			f.queued += len(arg)
		}
	}
	s.written.settle(now, &s.node.conf)
	f.reply, f.replyPeak = s.written.size, s.written.peak
	if len(args) > 0 {
		f.query = s.query.command
	}
	f.queryFree = max(s.query.size-f.query, 0)
	f.total = clientStruct + f.reply + f.args + pointer*len(args) + f.queued + queuedStruct*queueRoom(len(queue))
	f.waits(s)
	f.total += f.outside
	if s.query.size > 0 {
		f.total += s.query.size + queryHeader
	}
	return f
}

// queueRoom is for how many commands redis-server has made room when so many wait for EXEC.
// Source: queueMultiCommand of Redis 7.0.
func queueRoom(commands int) int {
	if commands == 0 {
		return 0
	}
	room := 2
	for room < commands {
		room *= 2
	}
	return room
}

// waits tells where redis-server would have what waits to be sent: in the reply
// buffer, and in blocks of a list when that is full.
func (f *footprint) waits(s *Session) {
	const blockRoom, blockHeader = 16<<10 - 16, 40
	if s.Waiting == nil {
		return
	}
	waiting := s.Waiting()
	f.inBuffer = min(waiting, f.reply)
	f.blocks = (waiting - f.inBuffer + blockRoom - 1) / blockRoom
	f.outside = f.blocks * (blockRoom + blockHeader)
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
