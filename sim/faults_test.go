package sim

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// What each of these verbs, checks and options is for, seen to hold and to break.
func TestFaultsOfRows(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	for name, c := range map[string]struct{ world, story, check, want string }{
		"a stall outlasts the lease before the reply": {
			"profile=redisson clients=2 hold=5s rounds=1 ttl=3s renew=off delay=100ms",
			"at 0s start c1\nat 0s stall c1 for=4s after=2\nat 1s start c2\n", "exclusion", "violated"},
		"lockclient believes no grant that has ended": {"clients=2 hold=5s rounds=1 ttl=3s renew=off delay=100ms",
			"at 0s start c1\nat 0s stall c1 for=4s after=1\nat 1s start c2\n", "exclusion", "holds"},
		"a stall hits who asks, not who holds": {"clients=2 hold=10s rounds=1",
			"at 0s start c1\nat 1s stall c1 for=40s\nat 2s start c2\n", "exclusion", "holds"},
		"an evicted lock is free": {"clients=2 hold=8s rounds=1",
			"at 0s start c1\nat 1s evict m1 key=1\nat 2s start c2\n", "exclusion", "violated"},
		"an emptied server counts tokens from the start": {"lock=fenced clients=2 hold=8s rounds=1",
			"at 0s start c1\nat 1s run m1 FLUSHALL\nat 2s start c2\n", "fencing", "violated"},
		"eviction spares what a bare majority says": {"masters=5 clients=2 lock=redlock ttl=10s renew=off hold=5s rounds=1",
			"at 0s partition c1 m4,m5\nat 0s start c1\nat 1s evict m1 key=1 spare=on\nat 2s start c2\n", "exclusion", "holds"},
		"without that two majorities agree": {"masters=5 clients=2 lock=redlock ttl=10s renew=off hold=5s rounds=1",
			"at 0s partition c1 m4,m5\nat 0s start c1\nat 1s evict m1 key=1\nat 2s start c2\n", "exclusion", "violated"},
		"what is not on disk is forgotten": {"clients=2 hold=8s rounds=1 fsync=everysec",
			"at 0s start c1\nat 900ms restart m1 data=synced\nat 1s start c2\n", "exclusion", "violated"},
		"what is on disk is kept": {"clients=2 hold=8s rounds=1 fsync=everysec",
			"at 0s start c1\nat 1100ms restart m1 data=synced\nat 1200ms start c2\n", "exclusion", "holds"},
		"who stands still syncs nothing": {"lock=simple renew=off ttl=10s clients=2 hold=8s rounds=1 fsync=everysec",
			"at 1500ms start c1\nat 1700ms pause m1 for=5s\nat 3s crash m1 for=100ms data=synced\nat 3200ms start c2\n",
			"exclusion", "violated"},
		"what was on disk before it stood still is kept": {
			"lock=simple renew=off ttl=10s clients=2 hold=8s rounds=1 fsync=everysec",
			"at 100ms start c1\nat 1700ms pause m1 for=5s\nat 3s crash m1 for=100ms data=synced\nat 3200ms start c2\n",
			"exclusion", "holds"},
		"an eviction that is not on disk is undone": {"clients=2 hold=8s rounds=1 fsync=everysec",
			"at 0s start c1\nat 1200ms evict m1 key=1\nat 1500ms restart m1 data=synced\nat 2s start c2\n", "exclusion",
			"holds"},
		"what a replica has heard of and not on disk is forgotten when it is master": {
			"clients=2 hold=8s rounds=1 fsync=everysec replicas=1 delay=1ms", "at 1100ms start c1\nat 1400ms crash m1\n" +
				"at 1500ms promote r1\nat 1600ms restart r1 data=synced\nat 2s start c2\n", "exclusion", "violated"},
		"what it has on disk is kept": {
			"clients=2 hold=8s rounds=1 fsync=everysec replicas=1 delay=1ms", "at 100ms start c1\nat 1400ms crash m1\n" +
				"at 1500ms promote r1\nat 1600ms restart r1 data=synced\nat 2s start c2\n", "exclusion", "holds"},
		"with fsync always all is on disk": {"clients=2 hold=8s rounds=1 fsync=always",
			"at 0s start c1\nat 900ms crash m1 for=100ms data=synced\nat 1s start c2\n", "exclusion", "holds"},
		"after the faults everybody proceeds": {"clients=2 hold=1s bound=10s",
			"at 0s start all\nat 1s partition c1,c2 m1\nat 20s calm\n", "liveness", "holds"},
		"a latch that a dead client should count down never opens": {"lock=latch clients=2 waiters=1 bound=60s",
			"at 0s start c1\nat 1s crash c2\nat 2s calm\n", "liveness", "violated"},
		"a release without a look at the owner": {
			"profile=redisson broken=release clients=2 hold=5s rounds=1 ttl=3s renew=off",
			"at 0s start c1\nat 4s start c2\n", "theft", "violated"},
		"a release that looks at the owner": {
			"profile=redisson clients=2 hold=5s rounds=1 ttl=3s renew=off",
			"at 0s start c1\nat 4s start c2\n", "theft", "holds"},
		"a release without a look at the owner, after a failover": {
			"profile=redisson broken=release clients=2 hold=3s rounds=1 ttl=2s renew=off replicas=1 delay=1ms",
			"at 0s start c1\nat 100ms pause c1 for=4s\nat 2500ms start c2\nat 3s crash m1\nat 3s promote r1\n", "theft",
			"violated"},
		"that of a client's own, after a failover that Sentinels have brought about": {
			"clients=1 hold=9s rounds=1 ttl=20s renew=off replicas=2 sentinels=3 delay=1ms down-after=1s",
			"at 0s start c1\nat 3s crash m1\n", "theft", "holds"},
		"after a move of its slot": {
			"profile=redisson broken=release clients=2 hold=3s rounds=1 ttl=2s renew=off cluster=3x1 delay=1ms",
			"at 0s start c1\nat 100ms pause c1 for=4s\nat 2500ms start c2\nat 3s move lock:1 m3\n", "theft", "violated"},
		"a permit is given back by its id": {"lock=permits clients=3 permits=2 hold=1s rounds=4",
			"at 0s start all\nat 2s partition c1 m1 for=50s\n", "theft", "holds"},
		"a permit's lease ends by the clocks of clients: that of the server may be behind": {
			"lock=permits clients=2 ttl=3s renew=off hold=5s rounds=1",
			"at 0s clock m1 jump=-1s\nat 0s start c1\nat 100ms crash c1\nat 2s start c2\n", "theft", "holds"},
		"permits of which nobody counted the free ones for a while have the owners that they had": {
			"lock=permits clients=2 permits=2 ttl=6s renew=off once=on rounds=1 delay=1ms",
			"at 0s start all\nat 10ms evict m1 key=3\n", "theft", "holds"},
		"or ahead": {"lock=permits clients=2 ttl=3s renew=off hold=2s rounds=1",
			"at 0s clock m1 jump=+5s\nat 0s clock c2 jump=+4s\nat 0s start c1\nat 100ms start c2\n", "theft", "violated"},
		"a replica may not have heard of a lock": {"profile=redisson replicas=1 lag=2s clients=2 guards=1 hold=5s",
			"at 0s start all\n", "guard", "violated"},
		"the master has heard of it": {"replicas=1 lag=2s clients=2 guards=1 hold=5s",
			"at 0s start all\n", "guard", "holds"},
		"a read-write lock is asked of the master": {
			"profile=redisson lock=rw replicas=1 lag=2s clients=2 guards=1 hold=5s",
			"at 0s start all\n", "guard", "holds"},
		"a writer that reads on has a read-write lock all the time": {
			"lock=rw downgrade=on clients=3 guards=1 hold=10ms think=0s", "at 0s start all\n", "guard", "holds"},
		"a client that starts again has the same clock": {
			"clients=2 lock=permits permits=1 ttl=10s renew=off hold=8s rounds=1 delay=5ms",
			"at 0s start c1\nat 1s clock c2 jump=+30s\nat 1s crash c2 for=1s\n", "capacity", "violated"},
		"a client that starts asks a Sentinel first who is master": {
			"clients=1 replicas=2 sentinels=3 down-after=1s delay=1ms bound=1s",
			"at 3s partition m1 r1,r2,s1,s2,s3,c1\nat 12s start c1\n", "progress", "holds"},
		"one that reaches none knows of no master": {
			"clients=2 replicas=2 sentinels=3 down-after=1s delay=1ms hold=8s rounds=2",
			"at 5s partition m1,c1 r1,r2,s1,s2,s3,c2\nat 6s start c1\nat 8s start c2\n", "exclusion", "holds"},
		"one that hears of a new master does not wait for the old one": {
			"clients=1 replicas=2 sentinels=3 down-after=500ms delay=1ms bound=2s",
			"at 3s partition m1 r1,r2,s1,s2,s3,c1\nat 3100ms start c1\n", "progress", "holds"},
		"a client that starts again finds the master of the moment": {
			"replicas=1 clients=1 ttl=3s hold=1s think=0s delay=5ms bound=5s",
			"at 0s start c1\nat 1500ms failover r1 outage=0s\nat 3s crash c1 for=1s\n", "progress", "holds"},
		"who was cut off during a failover is told later": {
			"replicas=1 clients=1 hold=1s think=0s delay=5ms bound=8s",
			"at 0s start c1\nat 1400ms partition c1 r1 for=2s\nat 1500ms failover r1 outage=0s\n", "progress", "holds"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "world " + c.world + "\nexpect " + c.check + "=" + c.want + "\n" + c.story + "run for=100s\n"
			s, err := ParseScenario("x.scenario", text)
			require.NoError(t, err)
			r, err := s.Run(context.Background(), opt)
			require.NoError(t, err)
			require.Equal(t, c.want, r.Results[0].Verdict.String(), r.Results[0].Reason)
			traced := opt
			traced.Details = true
			again, err := s.Run(context.Background(), traced)
			require.NoError(t, err)
			require.Equal(t, r.Hash, again.Hash)
		})
	}
}

// After a calm, servers that were down are there again, and nothing new begins.
func TestCalm(t *testing.T) {
	for _, story := range []string{
		"at 5s crash m1\n", "at 5s crash m1 for=90s\n", "at 5s failover r1 outage=90s\n", "at 5s pause m1 for=90s\n",
		"at 5s pause c1 for=90s\nat 5s pause c2 for=90s\n", "at 5s hold r1\nat 6s crash m1\n",
		"at 5s drop c1 m1 next=1000000\nat 5s delay m1 c2 next=1000000 by=1m\n",
	} {
		s, err := ParseScenario("x.scenario", "world replicas=1 clients=3 hold=1s bound=45s\nexpect liveness=holds\n"+
			"at 0s start all\n"+story+"at 10s calm\nrun for=120s\n")
		require.NoError(t, err)
		r, err := s.Run(context.Background(), Options{Seed: 1})
		require.NoError(t, err)
		require.Equal(t, "holds", r.Results[0].Verdict.String(), story+r.Results[0].Reason)
	}
}

func TestRowVerbErrors(t *testing.T) {
	for line, want := range map[string]string{
		"at 1s stall m1 for=1s":           "m1 is a master: expected a client (usage",
		"at 1s stall c1":                  "for=: expected a duration",
		"at 1s stall c1 for=1s after=x":   "after=x: expected a number",
		"at 1s evict m1":                  "key=: expected a number",
		"at 1s evict m1 key=1 spare=much": `unknown spare "much"`,
		"at 1s evict c1 key=1":            "c1 is a client: expected a master or a replica (usage",
		"at 1s calm now":                  "expected 0 arguments",
		"at 1s restart m1 data=some":      `unknown data "some": expected keep, lose, synced`,
		"faults pause servers=0":          "servers=0: expected a number",
		"faults pause most=1 most=2":      "most is given twice",
		"at 1s pause c01 for=1s":          `unknown client "c01"`,
		"at 1s partition c1 m+1":          `unknown master "m+1"`,
	} {
		_, err := ParseScenario("x.scenario", "world\n"+line+"\nrun for=1s\n")
		require.ErrorContains(t, err, want)
	}
	for words, want := range map[string]string{
		"sentinels=1 down-after=1ns": "cluster: down after 1ns: expected at least 1ms",
		"cluster=99x9":               "cluster: 990 nodes: expected at most 300",
		"fsync=never":                `unknown fsync "never"`, "broken=all": `unknown broken "all"`,
	} {
		_, err := ParseScenario("x.scenario", "world "+words+"\nrun for=1s\n")
		require.ErrorContains(t, err, want)
	}
}

// What somebody has on a server is read from its keys, of whichever kind of lock they
// are; what has expired is nobody's, and is not removed because somebody looks.
func TestClaims(t *testing.T) {
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 2, Thefts: true})
	n := w.nodes[0]
	now := n.clock.Wall().UnixMilli()
	until := func(d time.Duration) string { return strconv.FormatInt(now+d.Milliseconds(), 10) }
	for _, command := range [][]string{
		{"HSET", "lock:1", "mode", "read", "b", "1", "a", "1", "late", "1", "gone", "1"},
		{"SET", "{lock:1}:a:rwlock_timeout:1", "1"},
		{"SET", "{lock:1}:b:rwlock_timeout:1", "1"},
		{"SET", "{lock:1}:late:rwlock_timeout:1", "1", "PX", "1000"},
		{"HSET", "lock:1.1", "mode", "write", "c", "1"},
		{"SET", "lock:1.2", "token"},
		{"SET", "lock:1.3", "expired", "PX", "1000"},
		{"SET", "lock:2", "3"}, // permits, which nobody has
		{"SET", "lock:2.1", "0"},
		{"ZADD", "{lock:2.1}:timeout", until(time.Minute), "permit", until(time.Second), "lapsed"},
		{"SET", "elsewhere", "token"},
	} {
		n.byHand(command...)
	}
	nobody := func(claim) *process { return nil }
	had := []claim{{"lock:1", "a"}, {"lock:1", "b"}, {"lock:1", "late"}, {"lock:1.1", "c"}, {"lock:1.2", "token"},
		{"lock:1.3", "expired"}, {"lock:2.1", "lapsed"}, {"lock:2.1", "permit"}}
	require.Equal(t, had, n.claimed(nil, nobody))
	w.now += 1001 * time.Millisecond
	has := slices.DeleteFunc(had, func(c claim) bool { return c.of == "late" || c.of == "expired" || c.of == "lapsed" })
	require.Equal(t, has, n.claimed(nil, nobody))
	require.True(t, n.engine.Keyspace().DB(0).Stale([]byte("lock:1.3")), "it is still there")
}
