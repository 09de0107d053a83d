package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"minikv/internal/resp"
)

var usual = deployment{
	replicas: 2, sentinels: 3, quorum: 2, downAfter: 3 * time.Second, failoverTimeout: 10 * time.Second,
}

// startSet starts a set and waits until all know each other.
func startSet(t *testing.T, cfg deployment, seed uint64) *virtualWorld {
	w := newVirtualWorld(t, cfg, seed)
	meetEachOther(t, cfg, w)
	return w
}

func (w *virtualWorld) command(name, line string) resp.Value {
	cmd, _ := resp.SplitArgs([]byte(line))
	return w.ask(name, cmd)
}

func (w *virtualWorld) sentinel(name string) *Sentinel { return w.find(name).proc.(*Sentinel) }

func channels(events []event) []string {
	var names []string
	for _, e := range events {
		names = append(names, e.channel)
	}
	return names
}

// A Sentinel that was restarted knows what it knew, above all whom it voted for.
func TestSentinelRestartKeepsItsConfiguration(t *testing.T) {
	w := startSet(t, usual, 1)
	w.command("s1", "SENTINEL SET mymaster quorum 3 failover-timeout 12345")
	w.command("s1", "SENTINEL CONFIG SET announce-ip 127.0.0.1")
	w.command("s1", fmt.Sprintf("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 %d 7 somebody", worldPort))
	before := w.command("s1", "SENTINEL MYID")
	w.stop("s1")
	w.sleep(time.Second)
	w.start("s1")
	require.Equal(t, before, w.command("s1", "SENTINEL MYID"))
	m := fields(w.command("s1", "SENTINEL MASTER mymaster"))
	require.Equal(t, "3", m["quorum"])
	require.Equal(t, "12345", m["failover-timeout"])
	require.Equal(t, "2", m["num-slaves"])
	require.Equal(t, "2", m["num-other-sentinels"])
	require.Equal(t, uint64(7), w.sentinel("s1").Epoch())
	v := w.command("s1", fmt.Sprintf("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 %d 7 another", worldPort))
	require.Equal(t, int64(7), v.List[2].Int)
	require.NotEqual(t, "another", v.List[1].Str, "one vote in each epoch")
	w.sleep(5 * time.Second)
	require.Equal(t, "master", fields(w.command("s1", "SENTINEL MASTER mymaster"))["flags"])
}

// Whoever leads crashes behind its election, or behind the promotion; another
// Sentinel ends what it has begun.
func TestSentinelLeaderCrashes(t *testing.T) {
	for _, point := range []string{"crash-after-election", "crash-after-promotion"} {
		t.Run(point, func(t *testing.T) {
			w := startSet(t, usual, 3)
			for _, name := range []string{"s1", "s2", "s3"} {
				w.command(name, "SENTINEL SIMULATE-FAILURE "+point)
			}
			w.stop("m1")
			w.sleep(10 * time.Second)
			dead := ""
			for _, name := range []string{"s1", "s2", "s3"} {
				if !w.find(name).alive {
					require.Empty(t, dead, "one leads")
					dead = name
				} else {
					w.command(name, "SENTINEL SIMULATE-FAILURE help")
				}
			}
			require.NotEmpty(t, dead)
			w.sleep(30 * time.Second)
			w.start(dead)
			w.sleep(10 * time.Second)
			address := w.sentinel("s1").MasterAddress("mymaster")
			require.NotEqual(t, fmt.Sprintf("127.0.0.1:%d", worldPort), address)
			require.Equal(t, address, w.sentinel("s2").MasterAddress("mymaster"))
			require.Equal(t, address, w.sentinel("s3").MasterAddress("mymaster"))
		})
	}
}

// A Sentinel that watches two masters has one link to another that does.
func TestSentinelsShareLinks(t *testing.T) {
	w := startSet(t, usual, 4)
	for _, name := range []string{"s1", "s2", "s3"} {
		w.command(name, fmt.Sprintf("SENTINEL MONITOR second 127.0.0.1 %d 2", worldPort+1))
	}
	w.sleep(10 * time.Second)
	for _, master := range []string{"mymaster", "second"} {
		for _, one := range w.command("s1", "SENTINEL SENTINELS "+master).List {
			require.Equal(t, "2", fields(one)["link-refcount"])
			require.Equal(t, "sentinel", fields(one)["flags"])
		}
	}
	w.command("s1", "SENTINEL REMOVE second")
	for _, one := range w.command("s1", "SENTINEL SENTINELS mymaster").List {
		require.Equal(t, "1", fields(one)["link-refcount"])
	}
	w.stop("s2")
	w.sleep(5 * time.Second)
	require.Contains(t, channels(w.takeEvents("s1")), "+sdown")
	require.Equal(t, "OK 2 usable Sentinels. Quorum and failover authorization can be reached",
		w.command("s1", "SENTINEL CKQUORUM mymaster").Str)
	w.stop("s3")
	w.sleep(5 * time.Second)
	require.Equal(t, "NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the specified quorum for "+
		"this master. Not enough available Sentinels to reach the majority and authorize a failover",
		w.command("s1", "SENTINEL CKQUORUM mymaster").Str)
}

// With parallel-syncs 1 replicas are told their new master one after the other,
// with 2 at once.
func TestSentinelParallelSyncs(t *testing.T) {
	for _, parallel := range []int{1, 2} {
		cfg := usual
		cfg.replicas, cfg.sentinels, cfg.quorum = 3, 1, 1
		w := startSet(t, cfg, 5)
		w.command("s1", fmt.Sprintf("SENTINEL SET mymaster parallel-syncs %d", parallel))
		w.takeEvents("s1")
		w.stop("m1")
		w.sleep(15 * time.Second)
		var order []string
		for _, e := range w.takeEvents("s1") {
			if strings.HasPrefix(e.channel, "+slave-reconf") && e.channel != "+slave-reconf-inprog" {
				order = append(order, e.channel)
			}
		}
		want := []string{"+slave-reconf-sent", "+slave-reconf-done", "+slave-reconf-sent", "+slave-reconf-done"}
		if parallel == 2 {
			want = []string{"+slave-reconf-sent", "+slave-reconf-sent", "+slave-reconf-done", "+slave-reconf-done"}
		}
		require.Equal(t, want, order)
	}
}

// Replicas that were not told of their new master before the failover ran out of time are to be
// told behind it, without being waited for. But the connection to them is closed before that is written.
// Source: sentinelFailoverDetectEnd of Redis 7.0; so tells redis-server 7.0.15, see untold_late.txt.
func TestSentinelTellsTheRestInTheEnd(t *testing.T) {
	cfg := usual
	cfg.replicas, cfg.sentinels, cfg.quorum = 3, 1, 1
	cfg.downAfter, cfg.failoverTimeout = 20*time.Second, 5*time.Second
	w := startSet(t, cfg, 5)
	w.command("r1", "CONFIG SET replica-priority 1")
	w.sleep(15 * time.Second)
	w.stop("m1")
	w.sleep(18 * time.Second)
	w.freeze("r2")
	w.freeze("r3")
	w.takeEvents("s1")
	w.sleep(10 * time.Second)
	var told []string
	for _, e := range w.takeEvents("s1") {
		if strings.Contains(e.channel, "slave-reconf") || strings.Contains(e.channel, "failover-end") {
			told = append(told, e.String())
		}
	}
	master := fmt.Sprintf("mymaster 127.0.0.1 %d", worldPort)
	replica := func(i int) string {
		return fmt.Sprintf("slave 127.0.0.1:%d 127.0.0.1 %[1]d @ %s", worldPort+i, master)
	}
	require.Equal(t, []string{
		"+slave-reconf-sent " + replica(2), "+failover-end-for-timeout master " + master, "+failover-end master " + master,
		"+slave-reconf-sent-be " + replica(3),
	}, told)
	w.thaw("r3")
	w.sleep(time.Second)
	require.Equal(t, decimal(worldPort), decimal(w.command("r3", "ROLE").List[2].Int))
}

// The chosen replica is given up when there is no connection to it for the time of a failover.
// Source: sentinelFailoverSendSlaveOfNoOne of Redis 7.0.
func TestSentinelGivesUpWhomItCannotReach(t *testing.T) {
	s := startSet(t, usual, 1).sentinel("s1")
	m := s.masters[0]
	s.startFailover(m)
	m.promotedReplica = m.replicas[0]
	m.replicas[0].flags |= instPromoted
	m.replicas[0].link.disconnected = true
	s.enterFailover(m, failoverSendNoOne)
	for _, one := range []struct {
		waited int64
		state  failoverState
	}{{m.failoverTimeout, failoverSendNoOne}, {m.failoverTimeout + 1, failoverNone}} {
		m.failoverChanged = s.now() - one.waited
		s.runFailover(m)
		require.Equal(t, one.state, m.failover)
	}
	require.False(t, m.is(instFailover) || m.replicas[0].is(instPromoted))
}

// A Sentinel that announces another port is looked for there, in the name of every master.
// Source: sentinelUpdateSentinelAddressInAllMasters of Redis 7.0.
func TestSentinelIsFollowedToItsNewPort(t *testing.T) {
	cfg := usual
	cfg.sentinels = 2
	w := startSet(t, cfg, 4)
	for _, name := range []string{"s1", "s2"} {
		w.command(name, fmt.Sprintf("SENTINEL MONITOR second 127.0.0.1 %d 2", worldPort+1))
	}
	w.sleep(10 * time.Second)
	w.takeEvents("s1")
	w.command("s2", "SENTINEL CONFIG SET announce-port 1")
	w.sleep(3 * time.Second)
	told := channels(w.takeEvents("s1"))
	require.Equal(t, []string{"+sentinel-address-switch", "+sentinel-address-update"}, told[:2])
	for _, master := range []string{"mymaster", "second"} {
		for _, one := range w.command("s1", "SENTINEL SENTINELS "+master).List {
			require.Equal(t, "1", fields(one)["port"])
		}
	}
}

// A Sentinel without the password cannot see a server, and sees it as soon as it
// is told.
func TestSentinelPasswords(t *testing.T) {
	cfg := usual
	cfg.replicas, cfg.sentinels, cfg.quorum = 0, 1, 1
	w := startSet(t, cfg, 6)
	w.command("m1", "CONFIG SET requirepass secret")
	w.command("m1", "AUTH secret")
	w.stop("s1")
	w.start("s1")
	w.sleep(6 * time.Second)
	require.Contains(t, fields(w.command("s1", "SENTINEL MASTER mymaster"))["flags"], "s_down")
	w.command("s1", "SENTINEL SET mymaster auth-pass secret")
	w.sleep(3 * time.Second)
	require.Equal(t, "master", fields(w.command("s1", "SENTINEL MASTER mymaster"))["flags"])
}

// Renamed commands are called by their new names.
func TestSentinelRenamedCommands(t *testing.T) {
	cfg := usual
	cfg.sentinels, cfg.quorum = 1, 1
	w := startSet(t, cfg, 7)
	w.command("s1", "SENTINEL SET mymaster rename-command slaveof replicaof rename-command PING ECHO")
	w.sleep(6 * time.Second)
	require.Contains(t, fields(w.command("s1", "SENTINEL MASTER mymaster"))["flags"], "s_down", "ECHO is no PING")
	w.command("s1", "SENTINEL SET mymaster rename-command ping PING")
	w.sleep(3 * time.Second)
	w.command("s1", "SENTINEL FAILOVER mymaster")
	w.sleep(5 * time.Second)
	require.NotEqual(t, fmt.Sprintf("127.0.0.1:%d", worldPort), w.sentinel("s1").MasterAddress("mymaster"))
}

// A minority of Sentinels beside the master does nothing; the majority on the
// other side promotes, and when the partition heals all agree.
func TestSentinelMinority(t *testing.T) {
	w := startSet(t, usual, 8)
	for _, inside := range []string{"m1", "s1"} {
		for _, outside := range []string{"r1", "r2", "s2", "s3"} {
			w.find(inside).cut[w.find(outside).id] = true
		}
	}
	w.sleep(20 * time.Second)
	old := fmt.Sprintf("127.0.0.1:%d", worldPort)
	require.Equal(t, old, w.sentinel("s1").MasterAddress("mymaster"))
	promoted := w.sentinel("s2").MasterAddress("mymaster")
	require.NotEqual(t, old, promoted)
	require.Equal(t, promoted, w.sentinel("s3").MasterAddress("mymaster"))
	w.join(w.find("m1"))
	w.join(w.find("s1"))
	w.sleep(30 * time.Second)
	require.Equal(t, promoted, w.sentinel("s1").MasterAddress("mymaster"))
	require.Equal(t, "slave", w.command("m1", "ROLE").List[0].Str)
}

// Processes that are known by a name are announced by it.
func TestSentinelHostNames(t *testing.T) {
	cfg := usual
	cfg.host = "redis.test"
	w := startSet(t, cfg, 10)
	require.Equal(t, fmt.Sprintf("redis.test:%d", worldPort), w.sentinel("s1").MasterAddress("mymaster"))
	w.stop("m1")
	w.sleep(15 * time.Second)
	v := w.command("s1", "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster")
	require.Equal(t, "redis.test", v.List[0].Str)
	require.NotEqual(t, decimal(worldPort), v.List[1].Str)
	require.Equal(t, v, w.command("s3", "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster"))
}

// One seed tells one story.
func TestSentinelIsDeterministic(t *testing.T) {
	run := func() (told []event) {
		w := startSet(t, usual, 9)
		w.stop("m1")
		w.sleep(15 * time.Second)
		for _, name := range []string{"s1", "s2", "s3"} {
			told = append(told, w.takeEvents(name)...)
		}
		return told
	}
	require.Equal(t, run(), run())
}

// A master that SENTINEL MONITOR would refuse is a mistake of the program.
func TestSentinelOfImpossibleMaster(t *testing.T) {
	good := WatchedMaster{Name: "a", Host: "127.0.0.1", Port: 1, Quorum: 1}
	noQuorum, noPort, noHost := good, good, good
	noQuorum.Quorum, noPort.Port, noHost.Host = 0, 65536, "nohost"
	for reason, masters := range map[string][]WatchedMaster{
		errQuorum: {noQuorum}, errInvalidPort: {noPort}, errDuplicateMaster: {good, good},
		"ERR Invalid IP address or hostname specified": {noHost},
	} {
		w := &worldProcess{w: &virtualWorld{}}
		cfg := SentinelConfig{ID: 1, Directory: Directory{"127.0.0.1:1"}, Masters: masters}
		cfg.Node.Clock, cfg.Node.Random = w, w.w.draw
		require.PanicsWithValue(t, "cluster: sentinel: master a: "+reason, func() { NewSentinel(cfg) })
	}
}

// Whatever happens to the processes and between them: two Sentinels never name
// different addresses under one configuration epoch, and in the end all agree on
// an address that is a master's.
func TestSentinelsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<40).Draw(rt, "seed")
		w := startSet(t, usual, seed)
		agreed := map[string]string{}
		look := func() {
			for _, p := range w.procs {
				s, ok := p.proc.(*Sentinel)
				if !ok || !p.alive {
					continue
				}
				m := s.masters[0]
				epoch, address := unsigned(m.configEpoch), m.currentAddress().String()
				if known := agreed[epoch]; known != "" && known != address {
					rt.Fatalf("epoch %s: %s and %s", epoch, known, address)
				}
				agreed[epoch] = address
			}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "faults") {
			fault(rt, w)
			for range rapid.IntRange(1, 80).Draw(rt, "wait") {
				w.sleep(100 * time.Millisecond)
				look()
			}
		}
		heal(w)
		w.sleep(2 * time.Minute)
		look()
		address := w.sentinel("s1").MasterAddress("mymaster")
		for _, p := range w.procs {
			if s, ok := p.proc.(*Sentinel); ok && s.MasterAddress("mymaster") != address {
				rt.Fatalf("%s: %s, s1: %s", p.name, s.MasterAddress("mymaster"), address)
			}
			if m, ok := p.proc.(*Member); ok && m.Node().IsReplica() == (m.Directory().Address(p.id) == address) {
				rt.Fatalf("%s is replica: %t, the master is %s", p.name, m.Node().IsReplica(), address)
			}
		}
	})
}

// fault does something bad to one process.
func fault(rt *rapid.T, w *virtualWorld) {
	p := w.procs[rapid.IntRange(0, len(w.procs)-1).Draw(rt, "who")]
	other := w.procs[rapid.IntRange(0, len(w.procs)-1).Draw(rt, "other")]
	switch rapid.SampledFrom([]string{"kill", "start", "cut", "join", "freeze", "thaw", "jump"}).Draw(rt, "fault") {
	case "kill":
		if p.alive && !p.frozen {
			w.kill(p)
		}
	case "start":
		if !p.alive {
			w.restart(p)
		}
	case "cut":
		if p != other {
			p.cut[other.id] = true
		}
	case "join":
		w.join(p)
	case "freeze":
		p.frozen = true
	case "thaw":
		w.thaw(p.name)
	case "jump":
		p.offset += time.Duration(rapid.IntRange(-5000, 5000).Draw(rt, "by")) * time.Millisecond
	}
}

// heal undoes all faults.
func heal(w *virtualWorld) {
	for _, p := range w.procs {
		w.join(p)
		w.thaw(p.name)
		if !p.alive {
			w.restart(p)
		}
	}
}
