package sim

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// story runs a scenario's text and returns all its events as lines, without
// their numbers: "0.020 c1 holds lock:1 valid=2.980s".
func story(t *testing.T, text string) (lines []string, r *Report) {
	t.Helper()
	s, err := ParseScenario("test.scenario", text)
	require.NoError(t, err)
	number := regexp.MustCompile(` +#\d+ +`)
	r, err = s.Run(context.Background(), Options{Seed: s.Seed, Details: true, Observe: func(e *trace.Event,
		names []string) {
		lines = append(lines, number.ReplaceAllString(string(e.AppendText(nil, names)), " "))
	}})
	require.NoError(t, err)
	return lines, r
}

// verbTests: each verb of the nemesis, and what must and must not follow. want
// are regular expressions for lines that come in this order; no line after the
// last of them may match never, and no line at all nowhere.
var verbTests = []struct {
	name, text  string
	want, never []string
	nowhere     string
}{
	{"start: who is not named does not start",
		"world clients=2 rounds=1 delay=1ms\nat 1s start c2\nrun for=5s\n",
		[]string{`^1.000 c2 start`, `^1.004 c2 holds`}, nil, `c1 `},
	{"start: twice is once",
		"world clients=1 rounds=1 delay=1ms hold=10s\nat 1s start c1\nat 2s start all\nrun for=5s\n",
		[]string{`^1.004 c1 holds`}, []string{`c1 (start|asks|holds)`}, ``},
	{"start: the dead stay dead",
		"world clients=1 delay=1ms\nat 1s crash c1\nat 2s start c1\nrun for=5s\n",
		[]string{`^1.000 c1 crashes`}, []string{`c1 `}, ``},

	{"run: a node that stands still runs a command when it goes on, a dead one never",
		"world clients=1 delay=1ms\nat 0s crash c1\nat 1s pause m1 for=3s\nat 2s run m1 SET a 1\nat 5s pause m1 for=3s\n" +
			"at 6s run m1 SET b 2\nat 7s crash m1\nat 8s restart m1 data=keep\nrun for=9s\n",
		[]string{`^1.000 m1 is paused`, `^4.000 m1 goes on`, `^4.000 somebody runs SET a 1 at m1`}, nil, `(^2.*SET a|SET b)`},

	{"promote: a replica that stands still has what its master had sent, and becomes one when it goes on",
		"world replicas=1 clients=2 ttl=10s renew=off hold=6s rounds=1 delay=1ms\nat 10ms pause r1 for=2s\n" +
			"at 50ms start c1\nat 1s promote r1\nat 2500ms start c2\nrun for=5s\n",
		[]string{`^0.054 c1 holds`, `^2.010 r1 goes on`, `^2.010 r1 applied`, `^2.010 r1 is promoted`}, nil, `c2 holds`},
	{"promote: a replica that crashes before it goes on does not become one",
		"world replicas=1 clients=1 delay=1ms\nat 10ms pause r1 for=2s\nat 20ms promote r1\nat 30ms crash r1 for=1s\n" +
			"run for=5s\n", []string{`r1 restarts`}, nil, `is promoted`},
	{"promote: another replica follows when it goes on",
		"world replicas=2 clients=1 delay=1ms\nat 1s pause r2 for=2s\nat 1500ms promote r1\nrun for=5s\n",
		[]string{`^1.500 r1 is promoted`, `^3.000 r2 goes on`, `^3.000 r2 send r1 connect`, `^3.00. r2 deliver r1 continue`},
		nil, `^(1.[5-9]|2.).* r2 send`},
	{"promote: another replica that crashes while it stands still follows when it is back",
		"world replicas=2 clients=1 delay=1ms\nat 1s pause r2 for=2s\nat 1500ms promote r1\nat 2s crash r2\n" +
			"at 4s restart r2 data=keep\nrun for=5s\n",
		[]string{`^4.000 r2 restarts`, `^4.... r2 send r1 connect`, `^4.... r1 deliver r2 connect`}, nil,
		`r2 send m1 connect$`},
	{"failover: a replica that stands still becomes master when it goes on",
		"world replicas=1 clients=1 rounds=1 delay=1ms\nat 1s pause r1 for=2s\nat 1s start c1\n" +
			"at 1500ms failover r1 outage=1s\nrun for=5s\n",
		[]string{`^1.500 m1 crashes`, `^3.000 r1 goes on`, `^3.000 r1 applied`, `^3.000 r1 is promoted`}, nil, ``},
	{"move: servers that stand still give nothing away, and take nothing",
		"world cluster=2x0 clients=1 rounds=1 delay=1ms down-after=60s\nat 0s start c1\nat 50ms pause m1 for=4s\n" +
			"at 60ms pause m2 for=6s\nat 100ms move lock:1 m2\nrun for=9s\n",
		[]string{`^4.050 m1 goes on`, `^6.060 m2 goes on`, `^6.060 the slot of lock:1 moves from m1 to m2`,
			`the slot of lock:1 is closed`}, nil, `^[0-5].* the slot`},
	{"move: a slot that is open stays so while a server stands still",
		"world cluster=2x0 clients=1 rounds=1 delay=1ms down-after=60s\nat 0s move lock:1 m2 step=open for=1s\n" +
			"at 500ms pause m2 for=4s\nrun for=9s\n",
		[]string{`^0.000 the slot of lock:1 is opened`, `^4.500 m2 goes on`, `^4.5.. the slot of lock:1 is closed`},
		nil, `^[1-3].* the slot`},

	{"pause client: it does nothing, then all in order; its lease is over",
		"world clients=1 rounds=1 delay=1ms ttl=2s renew=off hold=1s\nat 0s start c1\nat 500ms pause c1 for=3s\nrun for=9s\n",
		[]string{`^0.004 c1 holds`, `^0.500 c1 is paused`, `^2.00. m1 removes lock:1`, `^3.500 c1 goes on`,
			`^3.500 c1 lost lock:1`}, nil, `^([12]|3.[0-4])\.\d+ c1 `},
	{"pause client: an overlapping shorter pause does not end it sooner",
		"world clients=1 delay=1ms hold=10ms\nat 0s start c1\nat 1s pause c1 for=5s\nat 2s pause c1 for=1s\nrun for=9s\n",
		[]string{`^2.000 c1 is paused`, `^6.000 c1 goes on`, ` c1 holds`}, []string{`c1 goes on`}, ``},
	{"pause client: an overlapping longer pause prolongs it",
		"world clients=1 delay=1ms hold=10ms\nat 0s start c1\nat 1s pause c1 for=2s\nat 2s pause c1 for=4s\nrun for=9s\n",
		[]string{`^2.000 c1 is paused`, `^6.000 c1 goes on`, ` c1 holds`}, []string{`c1 goes on`}, ``},
	{"pause client: a crash while it is paused, and it never goes on",
		"world clients=1 delay=1ms\nat 0s start c1\nat 50ms pause c1 for=2s\nat 1s crash c1\nat 1500ms pause c1 for=1s\n" +
			"run for=9s\n",
		[]string{`^1.000 c1 crashes with 29.00. *s of its lease left`, `c1 lost lock:1: its process has crashed`},
		[]string{`c1 `}, ``},
	{"pause node: it answers nothing, then all in order",
		"world clients=3 per-lock=1 rounds=1 delay=1ms ttl=10s\nat 1s pause m1 for=2s\nat 1500ms start c1\n" +
			"at 1600ms start c2\n" +
			"at 1700ms start c3\nrun for=9s\n",
		[]string{`^1.000 m1 is paused`, `^3.000 m1 goes on`, `^3.000 m1 .*= NOSCRIPT`, `^3.000 m1 send c1`,
			`^3.000 m1 .*NOSCRIPT`, `^3.000 m1 send c2`, `^3.000 m1 .*NOSCRIPT`, `^3.000 m1 send c3`, `holds lock`},
		nil, `^[012]\.\d+ m1 (send|mutex|SCRIPT)`},
	{"pause node: while it is down it has no effect",
		"world clients=1 rounds=1 delay=1ms\nat 0s crash m1\nat 1s pause m1 for=2s\nat 4s restart m1 data=keep\n" +
			"at 5s start c1\nrun for=9s\n",
		[]string{`^0.000 m1 crashes`, `^4.000 m1 restarts`, `c1 holds`}, nil, `m1 (is paused|goes on)`},
	{"pause node: a restart ends it",
		"world clients=1 rounds=1 delay=1ms\nat 0s pause m1 for=8s\nat 1s restart m1 data=keep\nat 2s start c1\nrun for=9s\n",
		[]string{`^1.000 m1 crashes`, `^1.000 m1 restarts`, `^2.... c1 holds`}, []string{`goes on`}, ``},

	{"crash client: who is dead does not come back from a second crash",
		"world clients=1\nat 1s crash c1\nat 2s crash c1 for=1s\nrun for=5s\n",
		[]string{`^1.000 c1 crashes`}, []string{`c1 (crashes|start)`}, ``},
	{"crash client: in the middle of lock(), what it has sent is executed, and nothing follows",
		"world clients=2 rounds=1 delay=5ms ttl=2s\nat 0s start c1\nat 14ms crash c1\nat 1s start c2\nrun for=9s\n",
		[]string{`^0.010 c1 send m1 .*acquire`, `^0.014 c1 crashes$`, `^0.015 m1 .*acquire.* = nil`, `c2 holds`},
		[]string{`^0.0(1[4-9]|[2-9]).* c1 (send|holds|asks)`}, ``},
	{"crash client: in the middle of unlock(), the lock is released all the same",
		"world clients=2 rounds=1 delay=5ms hold=100ms\nat 0s start c1\nat 142ms crash c1\nat 1s start c2\nrun for=9s\n",
		[]string{`^0.130 c1 releases lock:1`, `^0.140 c1 send m1 mutex-release`, `^0.142 c1 crashes$`,
			`^0.145 m1 mutex-release.* = 1`, `^1.0.. c2 holds`}, nil, `c1 (has released|lost)`},
	{"crash client: a waiter that is gone is not woken",
		"world clients=2 rounds=1 delay=1ms hold=3s\nat 0s start c1\nat 1s start c2\nat 2s crash c2\nrun for=9s\n",
		[]string{`c2 send m1 SUBSCRIBE`, `^2.000 c2 crashes`, `c1 has released`}, []string{`c2 send`, `message`},
		`^[3-9].* c2 `},
	{"crash node: clients hear of it, the lock comes back with its data",
		"world clients=1 rounds=1 delay=1ms hold=4s ttl=3s\nat 0s start c1\nat 500ms crash m1\n" +
			"at 2s restart m1 data=keep\nrun for=9s\n",
		[]string{`^0.500 m1 crashes$`, `^0.501 c1 deliver m1 connection reset`, `^1.006 c1 deliver m1 connection refused`,
			`^2.000 m1 restarts with its data`, `m1 .*renew.* = \[1\]`, `^4.... c1 has released`}, []string{`lost lock`}, ``},
	{"crash client: what it has sent twice may prolong its lease yet",
		"world clients=1 hold=9s ttl=3s delay=1ms\nat 0s start c1\nat 900ms duplicate c1 m1 next=1 late=2s\n" +
			"at 1500ms crash c1\nrun for=9s\n",
		[]string{`^1.500 c1 crashes$`, `^3.00. m1 mutex-renew`, `^6.... m1 removes lock:1`}, nil, ``},
	{"crash client: what it has given up may, too",
		"world clients=1 hold=19s ttl=18s delay=1ms\nat 0s start c1\nat 7s delay c1 m1 next=1 by=5s\n" +
			"at 16500ms crash c1\nrun for=40s\n",
		[]string{`^12.00. the network delays`, `^16.500 c1 crashes$`, `^17.00. m1 mutex-renew.* = \[1\]`,
			`^35.00. m1 removes lock:1`}, nil, ``},
	{"crash node: twice is once",
		"world clients=1\nat 1s crash m1\nat 2s crash m1\nrun for=3s\n", []string{`^1.000 m1 crashes`},
		[]string{`m1 crashes`}, ``},
	{"crash node: what is down does not come back from a second crash",
		"world clients=1\nat 1s crash m1\nat 2s crash m1 for=1s\nrun for=5s\n", []string{`^1.000 m1 crashes`},
		[]string{`m1 (crashes|restarts)`}, ``},

	{"restart without data: the lock is forgotten, two believe in it",
		"world clients=2 rounds=1 delay=1ms hold=2s ttl=10s\nexpect exclusion=violated\nat 0s start c1\n" +
			"at 500ms restart m1 data=lose\nat 1s start c2\nrun for=9s\n",
		[]string{`c1 holds`, `^0.500 m1 crashes`, `^0.500 m1 restarts without its data`, `^1.00. c2 holds`,
			` c1 releases`}, nil, ``},
	{"restart with data: the lock is there, and its TTL went on while the node was down",
		"world clients=2 rounds=1 delay=1ms hold=60s ttl=3s\nexpect exclusion=holds\nat 0s start c1\nat 500ms crash c1\n" +
			"at 600ms crash m1\nat 2s restart m1 data=keep\nat 2100ms start c2\nrun for=9s\n",
		[]string{`^2.000 m1 restarts with its data`, `^2.10. m1 .*acquire.* = 90\d`, `^3.00\d c2 holds`}, nil, ``},
	{"restart: subscriptions are restored, their waiters are woken and look again",
		"world clients=2 rounds=1 delay=1ms hold=60s ttl=30s\nat 0s start c1\nat 1s start c2\nat 1500ms crash c1\n" +
			"at 2s crash m1\nat 5s restart m1 data=lose\nrun for=29s\n",
		[]string{`c2 send m1 SUBSCRIBE`, `^2.001 c2 deliver m1 connection reset`, `c2 send m1 SUBSCRIBE`,
			`c2 deliver m1 connection refused`,
			`^5.000 m1 restarts`, `^(5|6|7|8).* c2 send m1 SUBSCRIBE`, `^(5|6|7|8).* c2 holds lock:1`}, nil, ``},
	{"restart: a request of the broken connection is void",
		"world clients=1 rounds=2 delay=100ms\nat 0s start c1\nat 50ms crash m1\nat 60ms restart m1 data=keep\nrun for=2s\n",
		[]string{`^0.000 c1 send m1`, `^0.060 m1 restarts`, `connection reset`, `c1 did not get lock:1`,
			`c1 asks for lock:1`},
		nil, `^0.[01].. m1 mutex`},

	{"promote: clients and their subscriptions move",
		"world clients=2 replicas=1 rounds=1 delay=1ms hold=2s ttl=10s\nat 0s start c1\nat 500ms start c2\n" +
			"at 1s promote r1\nrun for=9s\n",
		[]string{`^1.000 r1 is promoted`, `c2 deliver r1 r1 is master`, `c2 send r1 SUBSCRIBE`, `r1 mutex-release`,
			`^2.0.. c2 holds`}, nil, ``},
	{"promote: the other replicas follow the new master",
		"world clients=1 replicas=2 rounds=0 delay=1ms hold=100ms\nat 1s promote r1\nrun for=3s\n",
		[]string{`^1.000 r1 is promoted`, `^1.0.. r2 applied the effects of r1`, `^1.[1-9].. r2 applied the effects of r1`},
		[]string{`applied the effects of m1`}, ``},
	{"promote: a subscription that is not confirmed yet moves too, and the old master may then crash",
		"world clients=2 replicas=1 rounds=1 delay=1ms hold=4s ttl=30s\nat 0s start c1\nat 500ms start c2\n" +
			"at 502500us pause m1 for=5s\nat 600ms promote r1\nat 700ms crash m1\nrun for=9s\n",
		[]string{`c2 send m1 SUBSCRIBE`, `c2 send r1 SUBSCRIBE`, `c2 deliver r1 \["subscribe`, `m1 crashes`,
			`c2 deliver m1 connection reset`, `c1 has released`, `c2 holds`}, nil, ``},
	{"promote: news that has come to be wrong is not told when the network heals",
		"world clients=1 replicas=2 delay=1ms hold=100ms ttl=1s\nat 1s partition c1 r1\nat 1500ms promote r1\n" +
			"at 2s promote r2\nat 3s heal\nrun for=5s\n",
		[]string{`^1.500 the network holds up a message from r1 to c1: r1 is master`, `c1 deliver r2 r2 is master`,
			`^3.000 the network heals`, `^[34].... c1 holds`}, nil, `c1 (deliver|send) r1`},
	{"promote: a replica that is down cannot be",
		"world clients=1 replicas=1 rounds=1 delay=1ms\nat 0s crash r1\nat 1s promote r1\nat 2s start c1\nrun for=3s\n",
		[]string{`^0.000 r1 crashes`, `^2.00. c1 holds`}, []string{`r1 (is|send)`}, ``},

	{"hold, release: the replica hears nothing, then catches up",
		"world clients=1 replicas=1 rounds=1 delay=1ms hold=4s ttl=10s\nat 0s hold r1\nat 0s start c1\n" +
			"at 2s release r1\nrun for=3s\n",
		[]string{`^0.000 replication to r1 is held back`, `c1 holds`, `^2.000 replication to r1 goes on`,
			`^2.001 r1 applied the effects of m1`},
		[]string{`^1.* r1 `}, ``},
	{"a replica waits for its master's DEL",
		"world clients=1 replicas=1 rounds=1 delay=1ms hold=10s ttl=1s renew=off\nat 0s start c1\nat 500ms crash c1\n" +
			"at 100ms hold r1\nat 4s release r1\nrun for=5s\n",
		[]string{`^1.00. m1 removes lock:1`, `^4.001 r1 applied`}, nil, `r1 removes`},

	{"partition: both ways, and healed",
		"world clients=1 rounds=9 delay=1ms\nat 0s partition c1 m1\nat 0s start c1\nat 5s heal\nrun for=9s\n",
		[]string{`the network cuts c1 from m1$`, `^0.000 the network holds up a message from c1 to m1:`,
			`^5.000 the network heals`, `c1 holds`}, nil, ``},
	{"partition: one way, requests arrive and answers do not",
		"world clients=1 rounds=9 delay=1ms\nat 0s partition m1 c1 way=one\nat 0s start c1\nat 5s heal\nrun for=9s\n",
		[]string{`cuts m1 from c1, one way`, `^0.001 m1 `, `^0.001 the network holds up a message from m1 to c1:`,
			`^5.000 the network heals`, `c1 holds`},
		nil, ``},
	{"partition: a replica that was cut off catches up",
		"world clients=1 replicas=1 rounds=1 delay=1ms hold=1s\nat 0s start c1\nat 500ms partition m1 r1\nat 5s heal\n" +
			"run for=9s\n",
		[]string{`r1 applied`, `^0.500 the network cuts`, `from m1 to r1:`, `^5.000 the network heals`,
			`^5.001 r1 applied`}, nil, ``},
	{"partition: what was sent into it arrives, though its client has given it up",
		"world clients=2 rounds=1 delay=1ms hold=1s\nat 0s start c1\nat 2s partition c2 m1\nat 3s start c2\n" +
			"at 7s heal\nrun for=9s\n",
		[]string{`^3.000 the network holds up a message from c2 to m1: mutex-acquire`,
			`^6.000 c2 did not get lock:1: .*unknown`,
			`^7.000 the network heals`, `^7.001 m1 mutex-acquire.* = nil`, `m1 mutex-release.* = 1`}, nil, `c2 holds`},
	{"partition: TCP sends again when its time has come, each connection of a pool by itself",
		"world clients=2 rounds=2 delay=1ms hold=1s think=1s pool=on\nat 0s start c1\nat 10ms start c2\n" +
			"at 2500ms partition c2 m1\nat 12s heal\nrun for=20s\n",
		[]string{`^3.016 c2 send m1 mutex-acquire`, `^6.016 c2 did not get lock:1: .*unknown`, `^12.000 the network heals`,
			`^12.001 m1 mutex-release.* = nil`, `^15.817 m1 mutex-acquire.* = nil`, `^16.... m1 mutex-release.* = 1`}, nil, ``},
	{"partition: over a connection that could not be made nothing is sent that is given up",
		"world clients=1 rounds=1 delay=1ms pool=on\nat 0s partition c1 m1\nat 0s start c1\nat 5s heal\nrun for=9s\n",
		[]string{`^0.000 the network holds up a message from c1 to m1: mutex-acquire`, `^5.000 the network heals`,
			`^6.... m1 mutex-release.* = nil`}, []string{`m1 mutex-acquire`}, ``},
	{"partition: a connection that is closed abortively delivers nothing late",
		"world clients=2 rounds=2 delay=1ms hold=1s think=1s pool=on abort=on\nat 0s start c1\nat 10ms start c2\n" +
			"at 2500ms partition c2 m1\nat 12s heal\nrun for=20s\n",
		[]string{`^6.016 c2 did not get lock:1: .*unknown`, `^12.001 m1 mutex-release.* = nil`},
		[]string{`^1[2-9].... m1 mutex-acquire.*c2`}, ``},
	{"duplicate: not WAIT, which another connection would be answered at once",
		"world clients=1 replicas=1 sync=on rounds=1 delay=1ms lag=500ms\nat 0s duplicate c1 m1 next=9\nat 0s start c1\n" +
			"run for=9s\n",
		[]string{`^0.... the network doubles a message from c1 to m1: mutex-acquire`, `^0.50. c1 holds`},
		nil, `doubles a message from c1 to m1: WAIT`},
	{"delay: what comes when its connection has been closed abortively is lost",
		"world clients=1 rounds=1 delay=1ms hold=1s pool=on abort=on\nat 0s start c1\n" +
			"at 500ms delay c1 m1 next=1 what=request by=5s\nrun for=20s\n",
		[]string{`^1.... the network loses a message from c1 to m1: mutex-release`, `^4.... c1 gets an error: .*unknown`,
			`^4.009 m1 mutex-release.* = 1`}, []string{`^6.... m1 mutex-release`}, ``},
	{"delay: what comes before that is executed",
		"world clients=1 rounds=1 delay=1ms hold=1s pool=on abort=on\nat 0s start c1\n" +
			"at 500ms delay c1 m1 next=1 what=request by=4s\nrun for=20s\n",
		[]string{`^4.... c1 gets an error: .*unknown`, `^5.007 m1 mutex-release`}, nil, `network loses`},
	{"partition: a message that is not held up for long is delivered",
		"world clients=2 rounds=1 delay=1ms hold=2s ttl=99s renew=off\nat 0s start c1\nat 100ms start c2\n" +
			"at 1s partition c2 m1\nat 6s heal\nrun for=20s\n",
		[]string{`^2.0.. the network holds up a message from m1 to c2: \["message"`, `^6.001 c2 deliver m1 \["message"`,
			`^6.... c2 holds`}, []string{`^6.... c2 send m1 SUBSCRIBE`}, ``},
	{"partition: over a subscription that was silent for 6 s nothing is delivered, it is made anew",
		"world clients=2 rounds=1 delay=1ms hold=2s ttl=99s renew=off\nat 0s start c1\nat 100ms start c2\n" +
			"at 1s partition c2 m1\nat 9s heal\nrun for=20s\n",
		[]string{`^2.0.. the network holds up a message from m1 to c2: \["message"`, `^9.100 c2 send m1 SUBSCRIBE`,
			`^9.... c2 holds`}, []string{`deliver m1 \["message"`}, ``},
	{"partition: a crash behind it is noticed at the next request",
		"world clients=1 rounds=0 delay=1ms hold=100ms think=400ms\nat 1s partition m1 c1\nat 2s restart m1 data=lose\n" +
			"at 3s heal\nrun for=9s\n",
		[]string{`^2.000 the network holds up a message from m1 to c1: connection reset`, `^3.000 the network heals`,
			`c1 deliver m1 connection reset`, `c1 holds`}, nil, ``},

	{"drop: requests, the first two pass",
		"world clients=1 rounds=1 delay=1ms\nat 0s drop c1 m1 next=1 after=2 what=request\nat 0s start c1\nrun for=9s\n",
		[]string{`^0.000 c1 send m1 mutex-acquire`, `^0.002 c1 send m1 mutex-acquire`, `from c1 to m1: mutex-release`},
		[]string{`network loses`}, ``},
	{"drop: replies",
		"world clients=1 rounds=1 delay=1ms\nat 0s drop m1 c1 next=2 what=reply\nat 0s start c1\nrun for=19s\n",
		[]string{`^0.001 the network loses a message from m1 to c1: NOSCRIPT`, `from m1 to c1:`},
		[]string{`network loses`}, ``},
	{"drop: published messages, and nothing else on the way",
		"world clients=2 rounds=1 delay=1ms hold=1s ttl=4s\nat 0s drop m1 c2 next=1 what=message\nat 0s start c1\n" +
			"at 500ms start c2\nrun for=19s\n",
		[]string{`m1 send c2 \["subscribe`, `^1.009 the network loses a message from m1 to c2: \["message`,
			`^4.0.. c2 holds`}, []string{`network loses`}, ``},
	{"drop: anything",
		"world clients=1 rounds=1 delay=1ms\nat 0s drop m1 c1 next=1\nat 0s drop c1 m1 next=1 after=1\nat 0s start c1\n" +
			"run for=19s\n",
		[]string{`from m1 to c1:`, `from c1 to m1:`}, []string{`network loses`}, ``},
	{"drop: a replica is sent again what got lost",
		"world clients=1 replicas=1 rounds=1 delay=1ms hold=200ms\nat 0s drop m1 r1 next=3\nat 0s drop r1 m1 next=1\n" +
			"at 0s start c1\nrun for=19s\n",
		[]string{`from m1 to r1:`, `from r1 to m1:`, `from m1 to r1:`, `from m1 to r1:`, `r1 applied`, `r1 send m1`},
		[]string{`network loses`}, ``},

	{"duplicate: a request is executed twice, its second answer is nobody's",
		"world clients=1 rounds=1 delay=1ms ttl=3s\nat 0s duplicate c1 m1 next=1 after=1 late=10ms\nat 0s start c1\n" +
			"at 50ms audit\nat 1s audit\nat 5s audit\nrun for=9s\n",
		[]string{`the network doubles a message from c1 to m1: mutex-acquire`, `^0.003 m1 mutex-acquire.* = nil`,
			`^0.013 m1 mutex-acquire.* = nil`, `^0.050 of lock:1 the server counts 2 taken by c1, clients 1$`,
			`^0.050 of lock:1 the server counts 2 taken, clients 1$`,
			`^1.000 of lock:1 the server counts 1 taken by c1, clients 0$`,
			`^5.000 of lock:1 the server counts 0 taken, clients 0$`}, nil, ``},
	{"audit: what a client had of several locks when it died counts, though it asked for the others",
		"world masters=2 clients=1 lock=multi rounds=1 delay=1ms ttl=60s renew=off\nat 0s partition c1 m2\nat 0s start c1\n" +
			"at 1s crash c1\nat 2s audit\nrun for=3s\n",
		[]string{`^0.... m1 mutex-acquire.* = nil`, `^1.000 c1 crashes`,
			`^2.000 of lock:1 the server counts 1 taken, clients 0$`}, nil, ``},
	{"audit: a server that is down is asked when it is back",
		"world clients=1 rounds=1 delay=1ms ttl=60s renew=off hold=20s\nat 0s start c1\nat 1s crash m1 for=2s\n" +
			"at 2s audit\nrun for=9s\n",
		[]string{`^1.000 m1 crashes`, `^3.... of lock:1 the server counts 1 taken, clients 1$`}, nil, `^2.* counts`},
	{"audit: of several masters one that is down has nothing, whatever it has in memory",
		"world masters=3 clients=1 lock=redlock rounds=1 delay=1ms ttl=60s renew=off hold=20s\nat 0s start c1\n" +
			"at 1s crash c1\nat 2s run m2 DEL lock:1\nat 2s run m3 DEL lock:1\nat 3s audit\nat 4s crash m1\nat 5s audit\n" +
			"run for=9s\n",
		[]string{`^3.000 of lock:1 the server counts 1 taken, clients 0$`,
			`^5.000 of lock:1 the server counts 0 taken, clients 0$`}, nil, ``},
	{"audit: nor has it members of a lock",
		"world masters=2 clients=1 lock=multi rounds=1 delay=1ms ttl=60s renew=off hold=20s\nat 0s start c1\n" +
			"at 1s crash c1\nat 2s run m1 FLUSHALL\nat 3s audit\nat 4s crash m2\nat 5s audit\nrun for=9s\n",
		[]string{`^3.000 of lock:1 the server counts 1 taken, clients 0$`,
			`^5.000 of lock:1 the server counts 0 taken, clients 0$`}, nil, ``},
	{"run: a command by hand has its effects on replicas too",
		"world clients=1 replicas=1 rounds=1 delay=1ms hold=5s\nat 0s start c1\nat 1s run m1 DEL lock:1\n" +
			"at 2s audit\nrun for=3s\n",
		[]string{`c1 holds`, `^1.000 somebody runs DEL lock:1 at m1`, `^1.00. r1 applied`,
			`the server counts 0 taken by c1, clients 1`},
		nil, ``},
	{"move: each step says what it does to the slot",
		"world clients=1 cluster=2x0\nat 1s move lock:1 m2 step=open\nat 2s move lock:1 m2 step=keys\n" +
			"at 3s move lock:1 m2 step=close\nat 5s move lock:1 m1\nrun for=9s\n",
		[]string{`^1.000 the slot of lock:1 is opened for its move from m1 to m2$`,
			`^2.000 the keys of the slot of lock:1 move from m1 to m2$`,
			`^3.000 the slot of lock:1 is closed after its move from m1 to m2$`,
			`^5.000 the slot of lock:1 moves from m2 to m1$`}, nil, ``},
	{"run: a node that is down runs nothing",
		"world clients=1\nat 0s crash m1\nat 1s run m1 DEL lock:1\nrun for=3s\n", []string{`m1 crashes`},
		[]string{`somebody`}, ``},
	{"evict: keys go by name, counted round, and a replica removes none by itself",
		"world clients=1 replicas=1\nat 0s start c1\nat 0s crash c1\nat 1s run m1 SET b 1\nat 1s run m1 SET c 1\n" +
			"at 1s run m1 SET a 1\nat 2s evict r1 key=1\nat 3s evict m1 key=5\nat 4s evict m1 key=3\nat 5s evict m1 key=1\n" +
			"at 6s evict m1 key=1\nrun for=9s\n",
		[]string{`^3.000 m1 makes room: it evicts b$`, `^4.000 m1 .*evicts a$`, `^5.000 m1 .*evicts c$`},
		[]string{`evicts`}, `r1 makes room`},
	{"evict spare=on: a master that is down agrees with nobody",
		"world masters=3 clients=1 lock=redlock delay=1ms ttl=10s hold=9s\nat 0s start c1\nat 1s crash m3\n" +
			"at 2s evict m1 key=1 spare=on\nat 3s restart m3 data=keep\nat 4s evict m1 key=1 spare=on\nrun for=5s\n",
		[]string{`^0.0.. c1 holds`, `^4.000 m1 makes room: it evicts lock:1`}, nil, `^2.* evicts`},
	{"evict spare=on: of a lock that nobody has no word is needed",
		"world clients=1\nat 0s start c1\nat 0s crash c1\nat 1s run m1 SET a 1\nat 2s evict m1 key=1 spare=on\nrun for=3s\n",
		[]string{`^2.000 m1 makes room: it evicts a`}, nil, ``},
	{"evict: who stands still evicts nothing before it goes on",
		"world clients=1 replicas=1\nat 1s run m1 SET a 1\nat 1500ms pause m1 for=1s\nat 2s evict m1 key=1\nrun for=3s\n",
		[]string{`^1.500 m1 is paused`, `^2.500 m1 goes on`, `^2.500 m1 makes room: it evicts a`}, nil, ``},
	{"calm: a replica that lives takes the place of its master",
		"world clients=1 replicas=1\nat 1s crash m1\nat 2s calm\nrun for=3s\n",
		[]string{`^1.000 m1 crashes`, `^2.000 r1 is promoted`}, []string{`m1 restarts`}, ``},
	{"calm: replication that was held back goes on",
		"world clients=1 replicas=1\nat 1s hold r1\nat 2s calm\nrun for=3s\n",
		[]string{`^1.000 replication to r1 is held back`, `^2.000 replication to r1 goes on`, `r1 applied`}, nil, ``},
	{"calm: without one the master comes back, with its data",
		"world clients=1 replicas=1\nat 1s crash r1\nat 1s crash m1\nat 2s calm\nrun for=3s\n",
		[]string{`^2.000 m1 restarts with its data`}, []string{`r1 is promoted`}, ``},
	{"restart: the latest is lost, and what came before is there",
		"world clients=2 rounds=1 delay=1ms hold=3s ttl=20s\nat 1s start c1\nat 2s restart m1 lose=1500ms\n" +
			"at 2500ms start c2\nrun for=9s\n",
		[]string{`^1.00. c1 holds`, `^2.000 m1 crashes`, `^2.000 m1 restarts without the last 1.500s of its data`,
			`^2.50. c2 holds`}, nil, ``},
	{"restart: what is older than the lost part stays",
		"world clients=2 rounds=1 delay=1ms hold=3s ttl=20s\nat 1s start c1\nat 2s restart m1 lose=500ms\n" +
			"at 2500ms start c2\nrun for=9s\n",
		[]string{`^2.000 m1 restarts without the last 0.500s of its data`, `^4.0.. c1 has released`, `c2 holds`}, nil, ``},
	{"drop: the end of a connection is told all the same, and the loss strikes what follows",
		"world clients=2 rounds=1 delay=1ms hold=2s\nat 0s start c1\nat 500ms start c2\nat 1s drop m1 c2 next=1\n" +
			"at 1001ms crash m1 for=10ms\nrun for=9s\n",
		[]string{`^1.001 m1 send c2 connection reset`, `^1.002 c2 deliver m1 connection reset`,
			`^1.103 the network loses .*subscribe`, `^[2-7].* c2 holds`}, nil, ``},
	{"sync: who is granted a lock waits until a replica has it",
		"world clients=1 replicas=1 sync=on rounds=1 delay=1ms lag=300ms\nat 0s start c1\nrun for=3s\n",
		[]string{`m1 INFO replication`, `m1 mutex-acquire.* = nil`, `m1 WAIT 1 1000`, `r1 applied`, `^0.3.. c1 holds`},
		nil, ``},
	{"sync: without a replica that answers a grant is refused",
		"world clients=1 replicas=1 sync=on rounds=1 delay=1ms\nat 0s pause r1 for=5s\nat 0s start c1\nat 3s audit\n" +
			"run for=4s\n",
		[]string{`m1 WAIT 1 1000`, `^1.0.. c1 did not get lock:1: .*too few replicas`, `counts 0 taken, clients 0`},
		[]string{`c1 holds`}, ``},

	{"clock rate: a client that is 3 % slow believes in its lease too long",
		"world clients=1 rounds=1 delay=1ms ttl=10s renew=off hold=60s\nat 0s clock c1 rate=-3%\nat 0s start c1\n" +
			"run for=19s\n",
		[]string{`the clock of c1 runs 3% slow`, `c1 holds`, `^10.0.. m1 removes lock:1`,
			`^10.[1-3].. c1 lost lock:1`}, nil, ``},
	{"clock rate: a sleeping client wakes by its new rate",
		"world clients=1 rounds=1 delay=1ms hold=10s\nat 0s start c1\nat 5s clock c1 rate=+100%\nrun for=19s\n",
		[]string{`^0.00. c1 holds`, `^7.5.. c1 releases`}, nil, ``},
	{"clock rate: a paused client whose timers are due",
		"world clients=2 rounds=3 delay=1ms hold=100ms ttl=2s\nat 50ms pause c1 for=1s\nat 60ms pause c2 for=4s\n" +
			"at 900ms clock c1 rate=-50%\nat 900ms clock c2 rate=+50%\nrun for=60s\n",
		[]string{`c1 goes on`, `c2 goes on`, `c2 holds`, `c2 end`}, nil, ``},
	{"clock rate: a node that is twice as fast frees the lock in half the time",
		"world clients=1 rounds=1 delay=1ms hold=60s ttl=10s renew=off\nat 0s start c1\nat 1s clock m1 rate=+100%\n" +
			"run for=19s\n",
		[]string{`^5.50. m1 removes lock:1`}, nil, ``},
	{"clock jump: forwards, and the lease is over",
		"world clients=1 rounds=1 delay=1ms hold=60s ttl=10s renew=off\nat 0s start c1\nat 1s clock m1 jump=+9s\n" +
			"run for=19s\n",
		[]string{`^1.000 the clock of m1 jumps forward by 9.000s`, `^1.00. m1 removes lock:1`}, nil, ``},
	{"clock jump: backwards, and the lease is longer",
		"world clients=1 rounds=1 delay=1ms hold=60s ttl=10s renew=off\nat 0s start c1\nat 500ms crash c1\n" +
			"at 1s clock m1 jump=-5s\nrun for=19s\n",
		[]string{`^1.000 the clock of m1 jumps back by 5.000s`, `^15.00. m1 removes lock:1`}, nil, ``},
	{"clock offset: from the true date, whatever the clock showed before",
		"world clients=1 rounds=1 delay=1ms hold=1s\nat 1s clock m1 offset=+9s\nat 2s clock m1 offset=-1s\nrun for=3s\n",
		[]string{`^1.000 the clock of m1 jumps forward by 9.000s`, `^2.000 the clock of m1 jumps back by 10.000s`}, nil, ``},
	{"clock jump: leases and sleeps of a client do not follow its date",
		"world clients=1 rounds=1 delay=1ms hold=5s ttl=3s\nat 0s start c1\nat 1s clock c1 jump=+1h\n" +
			"at 2s clock c1 jump=-2h\nrun for=19s\n",
		[]string{`^0.00. c1 holds`, `^5.00. c1 releases`}, nil, ``},
}

func TestVerbs(t *testing.T) {
	for _, tt := range verbTests {
		t.Run(tt.name, func(t *testing.T) {
			lines, r := story(t, tt.text)
			all := strings.Join(lines, "\n")
			next := 0
			for _, want := range tt.want {
				re, from := regexp.MustCompile(want), next
				for next < len(lines) && !re.MatchString(lines[next]) {
					next++
				}
				require.Less(t, next, len(lines), "no %q after line %d of\n%s", want, from, all)
				next++
			}
			for _, never := range tt.never {
				re := regexp.MustCompile(never)
				for _, line := range lines[next:] {
					require.NotRegexp(t, re, line, all)
				}
			}
			if tt.nowhere != "" {
				require.NotRegexp(t, "(?m)"+tt.nowhere, all)
			}
			require.True(t, r.AsExpected(), r.Results)
		})
	}
}

// TestCommandsByHandTellWhatTheyDid: the key that somebody deletes goes in the
// event of the deletion, and no later event tells of it.
func TestCommandsByHandTellWhatTheyDid(t *testing.T) {
	s, err := Find("deleted_lock_is_told")
	require.NoError(t, err)
	told := map[trace.Kind]int{}
	_, err = s.Run(t.Context(), Options{Seed: s.Seed, Details: true, Observe: func(e *trace.Event, _ []string) {
		for _, d := range e.Details {
			if d.What == trace.Called && d.Text == "DEL lock:1" {
				told[e.Kind]++
			}
		}
	}})
	require.NoError(t, err)
	require.Equal(t, map[trace.Kind]int{trace.Command: 1}, told)
}

// What a restart loses is of true time, whatever the node's clock has done before the crash and since.
func TestRestartsLoseTrueTime(t *testing.T) {
	for _, clock := range []string{"", "0s clock m1 rate=+50%", "0s clock m1 rate=-50%", "3s clock m1 rate=+900%",
		"3500ms clock m1 rate=-99%", "5s clock m1 rate=+50%", "5s clock m1 rate=-99%"} {
		if clock != "" {
			clock = "at " + clock + "\n"
		}
		for lose, want := range map[string]string{"900ms": `c1 has released`, "1100ms": `^15\.00. c2 holds`} {
			lines, _ := story(t, "world clients=2 rounds=1 delay=1ms ttl=5m renew=off hold=20s\n"+clock+
				"at 2999ms start c1\nat 4s crash m1\nat 14s restart m1 lose="+lose+"\nat 15s start c2\nrun for=60s\n")
			i := slices.IndexFunc(lines, regexp.MustCompile(`c2 holds|c1 has released`).MatchString)
			require.Regexp(t, want, lines[i], "%s%s", clock, lose)
		}
	}
}
