package trace

import (
	"strconv"
	"time"
)

// kindNames are the kinds as they appear in files: part of the format.
var kindNames = [...]string{
	None: "none", Acquire: "acquire", Hold: "hold", Release: "release", Freed: "freed", Lost: "lost",
	Refused: "refused", Failed: "failed", Send: "send", Deliver: "deliver", Drop: "drop", Duplicate: "duplicate",
	Execute: "execute", Replicate: "replicate", Expire: "expire", Promote: "promote", Write: "write",
	Reject: "reject", Crash: "crash", Restart: "restart", Pause: "pause", Resume: "resume",
	Partition: "partition", Heal: "heal", Jump: "jump", Rate: "rate", Lag: "lag", Start: "start", End: "end",
	Wake: "wake", CountDown: "countdown", Opened: "opened", Command: "command", Audit: "audit", Slow: "slow",
	Calm: "calm", Evict: "evict", Steal: "steal", Asks: "asks", Told: "told",
	Delay: "delay",
}

var whatNames = [...]string{Called: "call", Changed: "changed", Expired: "expired", Published: "published",
	Script: "script", Line: "line"}

// String returns the kind's name in files.
func (k Kind) String() string { return kindNames[k] }

// String returns the name in files.
func (w What) String() string { return whatNames[w] }

// Fault reports whether k is a fault: something that goes wrong from outside.
func (k Kind) Fault() bool {
	switch k {
	case Drop, Delay, Duplicate, Crash, Restart, Pause, Resume, Partition, Heal, Jump, Rate, Lag, Promote, Command, Slow,
		Evict:
		return true
	}
	return false
}

// Belief reports whether k begins or ends a client's belief that it holds a lock.
func (k Kind) Belief() bool { return k == Hold || k == Release || k == Lost }

// Protocol reports whether k is a step of a lock's protocol. Faults that matter strike
// near one.
func (k Kind) Protocol() bool {
	switch k {
	case Acquire, Hold, Release, Execute, Replicate, Write:
		return true
	}
	return false
}

// AppendTime appends d in seconds with three decimals, rounded down, as texts
// show the time of an event.
func AppendTime(dst []byte, d time.Duration) []byte {
	millis := int64(d / time.Millisecond)
	dst = strconv.AppendInt(dst, millis/1000, 10)
	rest := millis % 1000
	return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
