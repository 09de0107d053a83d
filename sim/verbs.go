package sim

import (
	"fmt"
	"strings"
)

// verb is one thing that an `at` line can do.
type verb struct {
	name  string
	usage string
	about string
	check func(w *Spec, s Step) error
	apply func(r *runner, s Step)
	when  moment
}

// moment is when a step does what it does.
type moment uint8

const (
	atOnce    moment = iota
	whenAwake        // when the nodes that do it do not stand still
	later            // when a message or a request comes by, or when clients have their answers
)

// verbs are in the order in which error messages list them, and the reference.
func verbs() []verb {
	return []verb{
		{"start", "start CLIENT|all", "it begins; without a start line all clients do by themselves",
			checkStart, applyStart, atOnce},
		{"pause", "pause CLIENT|NODE for=DURATION", "it stands still", checkPause, applyPause, atOnce},
		{"crash", "crash CLIENT|NODE [for=DURATION] [data=keep|lose|synced]",
			"it ends; with for= it starts again then, a node with all its data, without, or with what was on disk",
			checkCrash, applyCrash, atOnce},
		{"restart", "restart NODE data=keep|lose|synced, or lose=DURATION",
			"a node starts again, with data as above, or a master or replica without what came last",
			checkRestart, applyRestart, atOnce},
		{"promote", "promote REPLICA", "it becomes master while its master serves on; in a cluster by TAKEOVER",
			checkPromote, applyPromote, whenAwake},
		{"move", "move KEY MASTER [step=open|keys|close] [for=DURATION [keys=DURATION]]",
			"the slot of a key moves there at once, or by one step; with step=open for= it is open so long, " +
				"and keys move after keys=", checkMove, applyMove, whenAwake},
		{"failover", "failover REPLICA outage=DURATION", "its master crashes, and it is promoted so much later",
			checkFailover, applyFailover, atOnce},
		{"hold", "hold REPLICA [for=DURATION]", "what its master sends does not arrive yet", checkHold, applyHold, atOnce},
		{"release", "release REPLICA", "it arrives now", checkReplica, applyRelease, atOnce},
		{"partition", "partition A,B,… C,D,… [way=both|one] [for=DURATION]",
			"nothing arrives between the two sides, or with way=one from the first at the second",
			checkPartition, applyPartition, atOnce},
		{"heal", "heal", "all partitions end", checkNothing, applyHeal, atOnce},
		{"drop", "drop FROM TO next=N [after=K] [what=request|reply|message]",
			"the next N messages get lost, but for the first K, and never a connection's end; message is one of Pub/Sub",
			checkDrop, applyDrop, later},
		{"delay", "delay FROM TO next=N by=DURATION [after=K] [what=request|reply|message]", "they come late",
			checkDelay, applyDelay, later},
		{"slow", "slow MASTER|REPLICA for=DURATION [by=DURATION]",
			"it takes so much longer for each command, also those of its master (100ms)",
			checkSlow, applySlow, atOnce},
		{"duplicate", "duplicate FROM TO next=N [after=K] [late=DURATION]", "requests are executed twice",
			checkDuplicate, applyDuplicate, later},
		{"run", "run MASTER|REPLICA DEL|FLUSHALL|PERSIST|PEXPIRE|PUBLISH|REPLICAOF|SCRIPT|SET|SPUBLISH ARGUMENT…",
			"a command by hand; SCRIPT LOAD all loads the scripts of all kinds",
			checkRun, applyRun, whenAwake},
		{"stall", "stall CLIENT for=DURATION [after=K]",
			"it stands still when a server has answered a request of its lock(), NOSCRIPT included, before the reply",
			checkStall, applyStall, later},
		{"evict", "evict MASTER key=N [spare=on]",
			"a master removes its N-th key; with spare=on only where a majority agrees without it",
			checkEvict, applyEvict, whenAwake},
		{"calm", "calm", "partitions heal, who stood still or was slow goes on, and masters that are down come back or " +
			"are replaced (with Sentinels and in clusters all nodes come back); no fault is drawn any more, and clients " +
			"begin nothing new; clocks stay as they are", checkNothing, applyCalm, atOnce},
		{"audit", "audit", "what servers count is compared with what clients believe, for holds and leak",
			checkAudit, applyAudit, later},
		{"clock", "clock CLIENT|NODE jump=+10s|offset=+10s|rate=+1%", "its clock jumps, is off by so much, or runs so fast",
			checkClock, applyClock, atOnce},
	}
}

// knownVerbs are the verbs, made once: they refer to each other.
var knownVerbs []verb

func init() { knownVerbs = verbs() }

func findVerb(name string) (verb, error) {
	for _, v := range knownVerbs {
		if v.name == name {
			return v, nil
		}
	}
	return verb{}, fmt.Errorf("unknown verb %q: expected %s", name, strings.Join(Verbs(), ", "))
}

// Verbs are the names of all that an `at` line can do.
func Verbs() (names []string) {
	for _, v := range knownVerbs {
		names = append(names, v.name)
	}
	return names
}
