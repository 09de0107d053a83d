package sim

import (
	"fmt"
	"strings"
)

// Part is a part of the reference of scenario files: a line, or some words of one.
type Part struct {
	Title string
	Text  string // what is to be said before the words; "": nothing
	Words []Word
}

// Word is what a scenario file may say, and what that means.
type Word struct{ Usage, About string }

// Sample is a short scenario, for who has not seen one.
const Sample = `# c1 stalls past its lease; c2 takes over; c1 wakes and writes anyway.
world masters=1 clients=2 lock=fenced ttl=3s renew=off delay=5ms..10ms hold=500ms rounds=1
expect exclusion=violated fencing=holds
at 0s start c1
at 100ms pause c1 for=5s
at 3500ms start c2
run for=8s seed=1
`

// Reference returns all that a scenario file may say, from the tables by which one is read.
func Reference() []Part {
	parts := []Part{{"The lines", linesText, []Word{
		{"# …", "a comment; the first one is the scenario's claim"},
		{"world", "the servers, the clients and the lock"},
		{"expect", "the verdicts: a check, =holds or =violated"},
		{"at TIME", "one step of the story, so long after the run began"},
		{"faults", "the kinds of fault that a run draws from its seed"},
		{"order", "the actions of an untimed run"},
		{"run for=DURATION [seed=N]", "how long a run lasts, in virtual time"},
	}}}
	for _, g := range worldOptions() {
		part := Part{Title: "world: " + g.about}
		for _, o := range g.options {
			part.Words = append(part.Words, Word{o.name + "=" + o.value.form, o.about})
		}
		parts = append(parts, part)
	}
	parts[1].Text = worldText
	return append(parts, Part{"expect: the checks", expectText, checkWords()},
		Part{"at: the steps", stepsText, stepWords()}, Part{"faults: the kinds", faultsText, faultWords()},
		Part{"order: the actions", orderText, nil})
}

const linesText = `Clients are c1 …, masters m1 …, replicas r1 … in their masters' order, Sentinels s1 …. A CLIENT
is one of the first, a NODE one of the others. A comment has a line of its own. What follows a line of "----" is
ignored.

A DURATION is 100ms, 3s or 1m30s. A RANGE is one, or two in which the seed draws, both included: 1ms..5ms.

A client's round: it takes the lock, holds it, writes to the resource that the lock protects, gives the lock back
and thinks. lock() and its like wait as long as wait= and once= say, and a round that gets nothing counts as well.
Without a start line all clients begin by themselves, each at some time within hold=; with one only those that are
started do.

The locks are the keys lock:1, lock:2 …; lock=multi has its members at lock:1.1, lock:1.2 and lock:1.3. A server
knows no script at first, so the first request of a client is answered with NOSCRIPT, and sent again with the text:
a step that is to strike the second one needs after=1, or "at 0s run m1 SCRIPT LOAD all".`

const worldText = `In brackets: what is so without the option. An option for which the world has no use at all is
refused with a reason: readers of a mutex, abort without pool. Several masters without cluster= are independent of
each other, for redlock, redlock-hash, multi and own; the other kinds live on one.

With Sentinels or in a cluster the servers decide by themselves who is master, and clients follow them: crash a
master instead of promoting a replica.`

const expectText = `Each is a word of the line: exclusion=holds fencing=violated. What a check says is holds,
violated, or unknown if nothing happened that it could judge; unknown is not what was expected. That it holds is
said of this run: where clients do not contend, or nothing goes wrong, little was put to the test. Without the line
nothing is checked.

To fencing a turn is surely later than another if it cannot have been granted yet when that one's belief began: its
client asked after that, or until then had put nothing under the name of the lock. A search of orders goes by asking
alone.`

const stepsText = `A wrong step is answered with its usage. What has no one to strike, such as a replica that is
down, does nothing, and "locksim run" says so behind the verdicts. What a server does itself waits while that stands
still: it is promoted, follows another, moves slots, runs commands and evicts when it goes on.`

const faultsText = `A RANGE is how long the fault lasts, how far a clock jumps, or how late a message comes. Without
one it is drawn on the scale of the lease; with one it is that, or drawn from it: pause=5s..20s, drift=1%. Where
Sentinels or a cluster promote there is no failover, and with Sentinels no split. With servers= clients are
cut off from so many servers at most, unless cuts= says another number, and a slot moves to so many; a server that is
cut off from others counts alone.`

const orderText = `A search of orders ("locksim hunt --strategy exhaustive", or pct) writes these actions: start:c1;
c1>m1 (the first message under way there arrives); fire:c1 (its timer); time (goes on to the next timer); and
faults, such as pause:c1 and crash:m1. It draws nothing: ttl=, hold= and think= have one value each, and there are
neither scales=on nor guards. Nor have faults an amount: who stands still or is away is so until the order says
otherwise, and a clock leaps forward, never back, by more than two leases.`

func checkWords() (words []Word) {
	for _, p := range promises {
		words = append(words, Word{p.name, p.about})
	}
	return words
}

func stepWords() (words []Word) {
	for _, v := range knownVerbs {
		words = append(words, Word{v.usage, v.about})
	}
	return words
}

func faultWords() (words []Word) {
	amounts := map[unit]string{aLength: "[=RANGE]", aRate: "[=PERCENT]"}
	for _, f := range faultKinds {
		words = append(words, Word{f.name + amounts[f.amount], f.about})
	}
	return append(words,
		Word{"most=N", fmt.Sprintf("how many faults a run has at most (%d), beside client-offset, which each client has",
			defaultMost)},
		Word{"servers=N", "how many servers they strike at most (all)"},
		Word{"cuts=N", "from how many servers they cut clients off at most (as servers=)"},
		Word{"strategy=" + strings.Join(Strategies, "|"), "how they are timed (drawn for each seed)"})
}
