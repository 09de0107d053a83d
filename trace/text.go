package trace

import (
	"strconv"
	"strings"
	"time"
)

// Story reports whether e belongs to the story that people read: what clients do and
// believe, what nodes execute, faults, the resource. Other events (messages under way,
// timers) are only in the JSONL form.
func (e *Event) Story() bool {
	switch e.Kind {
	case Send, Deliver, Wake, Start, End:
		return false
	}
	return true
}

// AppendText appends e as one line of the story without its newline, such as
//
//	0.020 #3     c1 holds lock:1 token=1 valid=2.980s
func (e *Event) AppendText(dst []byte, names []string) []byte {
	from := len(dst)
	dst = pad(AppendTime(dst, e.At), from+9)
	dst = append(dst, " #"...)
	dst = pad(strconv.AppendUint(dst, e.N, 10), from+18)
	dst = append(dst, ' ')
	return e.AppendSentence(dst, names)
}

func pad(dst []byte, to int) []byte {
	for len(dst) < to {
		dst = append(dst, ' ')
	}
	return dst
}

// AppendSentence appends what happened, without time and number.
func (e *Event) AppendSentence(dst []byte, names []string) []byte {
	actor, peer := names[e.Actor], names[e.Peer]
	switch e.Kind {
	case Acquire:
		return appendWords(dst, actor, "asks for", e.Key)
	case Hold:
		return e.appendHold(appendWords(dst, actor, "holds", e.Key))
	case Release:
		return appendWords(dst, actor, "releases", e.Key)
	case Freed:
		return appendWords(dst, actor, "has released", e.Key)
	case Lost:
		return appendReason(appendWords(dst, actor, "lost", e.Key), e.Text)
	case CountDown:
		return appendWords(dst, actor, "counts down", e.Key)
	case Opened:
		return appendWords(dst, actor, "finds", e.Key, "open")
	case Refused:
		return appendReason(appendWords(dst, actor, "did not get", e.Key), e.Text)
	case Failed:
		return appendReason(appendWords(dst, actor, "gets an error"), e.Text)
	case Execute:
		return appendWords(dst, actor, e.Text)
	case Drop, Delay, Duplicate:
		return e.appendMessage(dst, actor, peer)
	case Replicate:
		return appendWords(dst, actor, "applied the effects of", peer, "up to offset", strconv.FormatInt(e.A, 10))
	case Expire:
		return e.appendExpired(appendWords(dst, actor, "removes"))
	case Write:
		return e.appendToken(appendWords(dst, actor, "accepts the write of", peer))
	case Reject:
		dst = e.appendToken(appendWords(dst, actor, "refuses the write of", peer))
		return appendWords(append(dst, ", it has seen token "...), strconv.FormatInt(e.B, 10))
	}
	return e.appendFault(dst, actor, peer)
}

// appendMessage tells what becomes of a message.
func (e *Event) appendMessage(dst []byte, actor, peer string) []byte {
	verb, longer := "doubles", ""
	switch e.Kind {
	case Drop:
		verb = [...]string{"loses", "holds up"}[e.B&1]
	case Delay:
		verb, longer = "delays", " by "+seconds(e.B)
	}
	dst = appendWords(dst, "the network", verb, "a message from", actor, "to", peer)
	return appendReason(append(dst, longer...), e.Text)
}

// appendHeal tells of the end of one of several cuts, of all, or that there was none.
func (e *Event) appendHeal(dst []byte) []byte {
	switch {
	case e.Text != "":
		return appendWords(dst, "the network heals a cut of", e.Text)
	case e.A == 0:
		return appendWords(dst, "the network is whole")
	}
	return appendWords(dst, "the network heals")
}

func (e *Event) appendCrash(dst []byte, peer string) []byte {
	dst = appendWords(dst, peer, "crashes")
	switch {
	case e.A > 0:
		return appendWords(dst, " with", seconds(e.A), "of its lease left")
	case e.A < 0:
		return append(dst, " with a lock that has lost its TTL"...)
	}
	return dst
}

func (e *Event) appendFault(dst []byte, actor, peer string) []byte {
	switch e.Kind {
	case Crash:
		return e.appendCrash(dst, peer)
	case Restart:
		if e.B > 0 {
			return appendWords(dst, peer, "restarts without the last", seconds(e.B), "of its data")
		}
		return appendWords(dst, peer, [...]string{"restarts without its data", "restarts with its data"}[e.A&1])
	case Pause:
		return e.appendPause(dst, peer)
	case Resume:
		return appendWords(dst, actor, "goes on")
	case Partition:
		return appendWords(dst, "the network cuts", e.Text)
	case Heal:
		return e.appendHeal(dst)
	case Jump:
		if e.A < 0 {
			return appendWords(dst, "the clock of", peer, "jumps back by", seconds(-e.A))
		}
		return appendWords(dst, "the clock of", peer, "jumps forward by", seconds(e.A))
	case Rate:
		if e.A < 0 {
			return appendWords(dst, "the clock of", peer, "runs", percent(-e.A), "slow")
		}
		return appendWords(dst, "the clock of", peer, "runs", percent(e.A), "fast")
	case Lag:
		return appendWords(dst, "replication to", peer, [...]string{"goes on", "is held back"}[e.A&1])
	case Promote:
		return appendWords(dst, peer, "is promoted to master")
	case Slow:
		if e.A == 0 {
			return appendWords(dst, peer, "is no longer slow")
		}
		return appendWords(dst, peer, "takes", seconds(e.A), "for each command")
	case Calm:
		return append(dst, "all faults have ended"...)
	case Evict:
		return appendWords(dst, peer, "makes room: it evicts", e.Text)
	case Steal:
		return appendWords(dst, actor, "has ended on the server what", peer, "had")
	case Asks:
		return appendWords(dst, actor, "asks whether", e.Key, "is taken")
	case Told:
		return appendWords(dst, actor, "is told that", e.Key, [2]string{"is free", "is taken"}[e.A])
	case Command:
		if e.Key != "" {
			return appendWords(dst, e.Text)
		}
		return appendWords(dst, "somebody runs", e.Text, "at", peer)
	case Audit:
		return e.appendAudit(dst, peer)
	}
	return appendWords(dst, actor, e.Kind.String(), peer, e.Text)
}

// appendPause tells of a pause, which has no length where it ends as something else happens.
func (e *Event) appendPause(dst []byte, whose string) []byte {
	dst = appendWords(dst, whose, "is paused")
	if e.A == 0 {
		return dst
	}
	return appendWords(append(dst, ' '), "for", seconds(e.A))
}

// appendAudit compares the books: "of lock:1 the server counts 2 taken by c1, clients 1".
func (e *Event) appendAudit(dst []byte, whose string) []byte {
	dst = appendWords(dst, "of", e.Key, "the server counts", strconv.FormatInt(e.A, 10), "taken")
	if whose != "" {
		dst = appendWords(append(dst, ' '), "by", whose)
	}
	return appendWords(append(dst, ", "...), "clients", strconv.FormatInt(e.B, 10))
}

func (e *Event) appendHold(dst []byte) []byte {
	dst = e.appendToken(dst)
	if e.B == 0 {
		return dst // it has no end
	}
	return appendWords(append(dst, " valid="...), seconds(e.B))
}

func (e *Event) appendToken(dst []byte) []byte {
	if e.A == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, " token="...), e.A, 10)
}

// appendExpired appends which keys went: "lock:1: its TTL has passed".
func (e *Event) appendExpired(dst []byte) []byte {
	var keys []string
	for _, d := range e.Details {
		if d.What == Expired {
			keys = append(keys, d.Key)
		}
	}
	why := ": its TTL has passed"
	if len(keys) > 1 {
		why = ": their TTLs have passed"
	}
	return append(append(append(dst, ' '), strings.Join(keys, ", ")...), why...)
}

// appendWords appends the words that are not empty, with a space between them.
func appendWords(dst []byte, words ...string) []byte {
	first := true
	for _, w := range words {
		if w == "" {
			continue
		}
		if !first {
			dst = append(dst, ' ')
		}
		dst = append(dst, w...)
		first = false
	}
	return dst
}

// appendReason appends what follows a colon, if there is anything.
func appendReason(dst []byte, reason string) []byte {
	if reason == "" {
		return dst
	}
	return append(append(dst, ": "...), reason...)
}

// percent is a number of parts per billion as a percentage: 0.5%.
func percent(ppb int64) string {
	text := strconv.FormatInt(ppb/1e7, 10)
	if rest := ppb % 1e7; rest != 0 {
		text += "." + strings.TrimRight(strconv.FormatInt(1e7+rest, 10)[1:], "0")
	}
	return text + "%"
}

// seconds is a duration in ns as seconds with three decimals: 2.980s.
func seconds(ns int64) string {
	if ns < 0 {
		return "-" + seconds(-ns)
	}
	return string(AppendTime(nil, time.Duration(ns))) + "s"
}
