package sim

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Faults with for= end by themselves, and only themselves.
func TestFaultsThatEnd(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"a node comes back with its data": {
			"world clients=1 rounds=1 delay=1ms hold=9s\nat 0s start c1\nat 1s crash m1 for=2s data=keep\nrun for=20s\n",
			[]string{`^1.000 m1 crashes`, `^3.000 m1 restarts with its data`, `has released`}},
		"a node comes back without data": {
			"world clients=1 rounds=1 delay=1ms\nat 1s crash m1 for=2s data=lose\nrun for=20s\n",
			[]string{`^1.000 m1 crashes`, `^3.000 m1 restarts without`}},
		"a node that was restarted by hand is not restarted again": {
			"world clients=1\nat 1s crash m1 for=5s\nat 2s restart m1 data=keep\nat 7s crash m1\nrun for=20s\n",
			[]string{`^2.000 m1 restarts`, `^7.000 m1 crashes`}},
		"nor when it has crashed again by then": {
			"world clients=1\nat 1s crash m1 for=5s\nat 2s restart m1 data=keep\nat 3s crash m1 for=9s\nrun for=20s\n",
			[]string{`^2.000 m1 restarts`, `^3.000 m1 crashes`, `^12.000 m1 restarts`}},
		"a client starts again as somebody else": {
			"world clients=1 delay=1ms hold=9s ttl=3s\nat 0s start c1\nat 1s crash c1 for=500ms\nrun for=20s\n",
			[]string{`c1 holds`, `^1.000 c1 crashes`, `^1.500 c1 start`, `acquire\(.*c1.2:`, `^3.0.. m1 removes`, `c1 holds`}},
		"replication goes on": {
			"world replicas=1 clients=1\nat 1s hold r1 for=2s\nrun for=4s\n",
			[]string{`^1.000 replication to r1 is held back`, `^3.000 replication to r1 goes on`, `r1 applied`}},
		"replication that is held twice goes on when both have ended": {
			"world replicas=1 clients=1\nat 1s hold r1 for=8s\nat 2s hold r1 for=2s\nat 10s hold r1\n" +
				"at 11s hold r1 for=1s\nat 15s release r1\nat 16s hold r1\nrun for=20s\n",
			[]string{`^2.000 replication to r1 is held back`, `^9.000 replication to r1 goes on`, `r1 applied`,
				`^11.000 replication to r1 is held back`, `^15.000 replication to r1 goes on`, `^16.000 replication .*back`}},
		"a partition ends, not the other on the same link": {
			"world clients=1 delay=1ms hold=10ms\nat 1s partition c1 m1 for=4s\nat 4s partition c1 m1 for=6s\nrun for=20s\n",
			[]string{`^1.000 the network cuts`, `^5.000 the network heals`, `^[6-9].... the network holds up`, `^10.000 .*heals`,
				`c1 holds`}},
		"a partition that was healed by hand ends no later one": {
			"world clients=1 delay=1ms hold=10ms\nat 1s partition c1 m1 for=1s\nat 1100ms heal\nat 1200ms partition c1 m1\n" +
				"run for=9s\n",
			[]string{`^1.100 the network heals`, `^1.200 the network cuts`, `^[2-9].... the network holds up`}},
		"a failover after an outage": {
			"world replicas=1 clients=1\nat 1s failover r1 outage=2s\nrun for=9s\n",
			[]string{`^1.000 m1 crashes`, `^3.000 r1 is promoted`, `c1 holds`}},
		"of two failovers at a time one is enough": {
			"world replicas=2 clients=1\nat 1s failover r1 outage=2s\nat 1s failover r2 outage=5s\n" +
				"at 9s failover r2 outage=1s\nrun for=12s\n",
			[]string{`^1.000 m1 crashes`, `^3.000 r1 is promoted`, `^9.000 r1 crashes`, `^10.000 r2 is promoted`}},
		"a late reply, and what follows it on its connection": {
			"world clients=1 rounds=1 delay=1ms\nat 0s delay m1 c1 next=1 by=1s\nat 0s start c1\nrun for=9s\n",
			[]string{`^0.001 m1 send c1 .*NOSCRIPT`, `^1.002 c1 deliver`}},
		"a slow node takes one request after the other": {
			"world clients=2 per-lock=1 delay=1ms\nat 0s slow m1 for=1s by=50ms\nat 0s start all\nrun for=3s\n",
			[]string{`^0.000 m1 takes 0.050s for each command`, `^0.051 m1 `, `^0.101 m1 `, `^1.000 m1 is no longer slow`}},
		"a node that is slow for two reasons is slow until both have ended": {
			"world clients=1 delay=1ms\nat 0s slow m1 for=1s by=50ms\nat 0s slow m1 for=3s by=200ms\nat 2s start c1\n" +
				"run for=9s\n", []string{`^2.000 c1 send m1`, `^2.201 m1 `}},
		"what waits at a slow node is executed at once when that ends": {
			"world clients=3 per-lock=1 delay=1ms\nat 0s slow m1 for=3s by=2s\nat 0s start all\nrun for=9s\n",
			[]string{`^2.001 m1 .*c1:1`, `^3.000 m1 is no longer slow`, `^3.000 m1 .*c2:1`, `^3.000 m1 .*c3:1`,
				`^3.000 m1 .*c1:1.* = nil`}},
		"what comes as that ends does not overtake": {
			"world clients=2 per-lock=1 delay=1ms\nat 0s slow m1 for=3s by=20s\nat 0s start c1\nat 2999ms start c2\n" +
				"run for=9s\n", []string{`^3.000 m1 .*c1:1`, `^3.000 m1 .*c2:1`}},
		"a slow node that is paused goes on when the pause ends": {
			"world clients=2 per-lock=1 delay=1ms\nat 0s slow m1 for=2s by=500ms\nat 0s start all\nat 100ms pause m1 for=3s\n" +
				"run for=9s\n",
			[]string{`^2.000 m1 is no longer slow`, `^3.100 m1 goes on`, `^3.100 m1 .*c1:1`, `^3.100 m1 .*c2:1`}},
		"what waits at a slow node that crashes is gone": {
			"world clients=1 delay=1ms\nat 0s slow m1 for=2s by=500ms\nat 0s start c1\nat 100ms crash m1 for=100ms data=lose\n" +
				"run for=9s\n", []string{`^0.100 m1 crashes`, `^0.101 c1 deliver m1 .*connection reset`, `^0.[6-9].. m1 `}},
		"a client that crashes hangs up behind its requests": {
			"world clients=2 delay=1ms\nat 0s slow m1 for=9s by=500ms\nat 0s start c1\nat 100ms crash c1\n" +
				"run for=20s\n", []string{`^0.100 c1 crashes`, `^0.501 m1 .*c1:1`}},
		"a calm ends slowness": {
			"world clients=1 delay=1ms\nat 0s slow m1 for=9s by=2s\nat 0s start c1\nat 1s calm\nrun for=20s\n",
			[]string{`^1.000 m1 is no longer slow`, `^1.000 m1 .*c1:1`}},
	} {
		t.Run(name, func(t *testing.T) {
			lines, _ := story(t, test.text)
			rest := lines
			for _, want := range test.want {
				i := 0
				for i < len(rest) && !regexp.MustCompile(want).MatchString(rest[i]) {
					i++
				}
				require.Less(t, i, len(rest), "no %s in\n%s", want, strings.Join(lines, "\n"))
				rest = rest[i+1:]
			}
		})
	}
	lines, _ := story(t, "world clients=1\nat 1s crash m1 for=5s\nat 2s restart m1 data=keep\nat 7s crash m1\n"+
		"run for=9s\n")
	require.NotRegexp(t, `[6-9].... m1 restarts`, strings.Join(lines, "\n"))
	lines, _ = story(t, "world replicas=1 clients=1\nat 1s hold r1 for=8s\nat 2s hold r1 for=2s\nrun for=20s\n")
	require.NotRegexp(t, `[2-8]\.... replication to r1 goes on`, strings.Join(lines, "\n"))
	lines, _ = story(t, "world clients=1 delay=1ms\nat 0s slow m1 for=5s\nat 1s calm\nat 2s slow m1 for=9s by=1s\n"+
		"run for=9s\n")
	require.NotRegexp(t, `[5-9].... m1 is no longer slow`, strings.Join(lines, "\n"), "the calm has ended that")
}
