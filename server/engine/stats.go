package engine

import (
	"strings"
	"time"
)

// statistics are the counters of INFO; CONFIG RESETSTAT clears them.
type statistics struct {
	commands    int64
	connections int64
	refused     int64 // clients that were one too many
	dirty       int64 // changes since the start: the shell never saves
	expired     int64
	errors      int64
	unexpected  int64 // errors about what a master or a replica has sent
	hits        int64 // reads that found their key
	misses      int64
	fullSyncs   int64
	partSyncs   int64
	failedSyncs int64
	saves       int64
	rewrites    int64 // BGREWRITEAOF
	forks       int64 // that redis-server would have made for both
	netIn       int64 // bytes from clients
	netOut      int64 // bytes to clients
	reads       int64 // from their sockets
	writes      int64
	expiring    time.Duration // spent on removing expired keys that nobody asked for
	rates       rates
	evicted     int64                  // keys
	lazyFreed   int64                  // keys whose value redis-server would free elsewhere
	peakMemory  int64                  // the most that was seen, in bytes
	perCommand  [statsPages]*statsPage // by the number of the row or sub-row; each nil until used
	perError    map[string]int64       // by code word
}

type commandStats struct {
	calls, rejected, failed int64
	taken                   time.Duration // by all calls together
	times                   histogram     // of the calls, unless latency-tracking is off
}

// account accounts for a command that ran, took so long, and failed if failure
// is not empty.
func (c *Call) account(taken time.Duration, failure string) {
	n := c.Node
	one := n.stats.count(c, failure)
	one.taken += taken
	if !n.conf.untimed {
		one.times.note(taken)
	}
	if taken >= n.conf.notedFrom {
		c.note(taken)
	}
}

// accountWaited is account for a command that has waited, and was counted when it began to.
func (c *Call) accountWaited(taken time.Duration, failure string) {
	c.Node.stats.of(c.Cmd).calls--
	c.account(taken, failure)
}

// note keeps that the command took so long, where that is to be noted.
func (c *Call) note(taken time.Duration) {
	n := c.Node
	if n.conf.latencyFrom > 0 {
		event := "command"
		if c.Cmd.Flags&Fast != 0 {
			event = "fast-command"
		}
		n.noteLatency(event, taken)
	}
	if n.conf.slowerThan >= 0 && taken >= n.conf.slowerThan {
		c.noteSlow(taken)
	}
}

// count counts a command that ran, and failed if failure is not empty.
func (s *statistics) count(c *Call, failure string) *commandStats {
	one := s.of(c.Cmd)
	one.calls++
	if failure != "" && c.counted != failureIgnored {
		one.failed++
		if c.counted != errorCounted {
			s.countErrorTo(c.Session, failure)
		}
	}
	return one
}

// failRunning counts the command that runs, if one does, as failed, whatever its own reply
// is: it has sent an error to another client.
// Source: incrCommandStatsOnError of Redis 7.0, which asks whether there was an error, not
// whose.
func (n *Node) failRunning() {
	if n.depth == 0 {
		return
	}
	if cmd := n.calls[n.depth-1].Cmd; cmd != nil {
		n.stats.of(cmd).failed++
	}
}

// reject accounts for a command that was refused; cmd is nil if it is none, from is nil if
// a script called it.
func (s *statistics) reject(cmd *Command, from *Session, text string) {
	if cmd != nil {
		s.of(cmd).rejected++
	}
	s.countErrorTo(from, text)
}

// statsPage is the counters of some rows, which are made together: most nodes
// of a simulation see few commands.
type statsPage [8]commandStats

// statsPages is enough pages for all rows; prepare checks it.
const statsPages = 64

func (s *statistics) of(cmd *Command) *commandStats {
	at := uint(cmd.row)
	page := &s.perCommand[at/uint(len(statsPage{}))%statsPages]
	if *page == nil {
		*page = &statsPage{}
	}
	return &(*page)[at%uint(len(statsPage{}))]
}

// countErrorTo counts an error about what a session has sent, and counts it once more if
// that is a master's or a replica's, from which none is expected; to is nil for a script.
// Source: afterErrorReply of Redis 7.0.
func (s *statistics) countErrorTo(to *Session, text string) {
	if to != nil && (to.link == toMaster || to.isReplica()) {
		s.unexpected++
	}
	s.countError(text)
}

// countError counts an error by the code that its text begins with; what is no code, as
// no blank ends it soon, is counted as ERR.
// Source: afterErrorReply of Redis 7.0.
func (s *statistics) countError(text string) {
	const longestCode = 30
	s.errors++
	code, _, ok := strings.Cut(text, " ")
	if !ok || len(code) > longestCode {
		code = "ERR"
	}
	if s.perError == nil {
		s.perError = make(map[string]int64)
	}
	s.perError[code]++
}
