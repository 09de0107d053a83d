package cluster

import (
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/server/engine"
)

// sentinelMode is the command table of redis-server --sentinel.
var sentinelMode = engine.NewMode("sentinel",
	[]string{"ACL", "AUTH", "CLIENT", "COMMAND", "HELLO", "INFO", "PING", "PSUBSCRIBE", "PUBLISH", "PUNSUBSCRIBE",
		"ROLE", "SHUTDOWN", "SUBSCRIBE", "UNSUBSCRIBE"},
	[]engine.Command{{
		Name: "SENTINEL", Arity: -2, Flags: engine.Admin, Sub: sentinelRows(),
	}})

// sentinelRows are the subcommands of SENTINEL in the table.
func sentinelRows() []engine.Command {
	var rows []engine.Command
	for _, one := range sentinelCommands {
		row := engine.Command{Name: one.name, Arity: one.arity, Flags: engine.Admin}
		if one.name == "HELP" {
			row.Flags = engine.Loading | engine.Stale
		}
		rows = append(rows, row)
	}
	return rows
}

// sentinelCommand is one subcommand of SENTINEL.
type sentinelCommand struct {
	name  string
	arity int // as Redis counts
	run   func(s *Sentinel, c *engine.Call) resp.Value
}

// sentinelCommands is https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#sentinel-commands
var sentinelCommands = []sentinelCommand{
	{"CKQUORUM", 3, (*Sentinel).runCheckQuorum},
	{"CONFIG", -3, (*Sentinel).runConfig},
	{"DEBUG", -2, (*Sentinel).runDebug},
	{"FAILOVER", 3, (*Sentinel).runForceFailover},
	{"FLUSHCONFIG", 2, (*Sentinel).runFlushConfig},
	{"GET-MASTER-ADDR-BY-NAME", 3, (*Sentinel).runMasterAddress},
	{"HELP", 2, (*Sentinel).runHelp},
	{"INFO-CACHE", -3, (*Sentinel).runInfoCache},
	{"IS-MASTER-DOWN-BY-ADDR", 6, (*Sentinel).runIsMasterDown},
	{"MASTER", 3, (*Sentinel).runMaster},
	{"MASTERS", 2, (*Sentinel).runMasters},
	{"MONITOR", 6, (*Sentinel).runMonitor},
	{"MYID", 2, (*Sentinel).runMyID},
	{"PENDING-SCRIPTS", 2, func(*Sentinel, *engine.Call) resp.Value { return resp.List() }},
	{"REMOVE", 3, (*Sentinel).runRemove},
	{"REPLICAS", 3, (*Sentinel).runReplicas},
	{"RESET", 3, (*Sentinel).runReset},
	{"SENTINELS", 3, (*Sentinel).runSentinels},
	{"SET", -5, (*Sentinel).runSet},
	{"SIMULATE-FAILURE", -3, (*Sentinel).runSimulateFailure},
	{"SLAVES", 3, (*Sentinel).runReplicas},
}

// handlers are the commands that the Sentinel itself answers.
func (s *Sentinel) handlers() engine.Handlers {
	handlers := engine.Handlers{"info": s.runInfo, "publish": s.runPublish, "role": s.runRole}
	for _, one := range sentinelCommands {
		run := one.run
		handlers["sentinel|"+strings.ToLower(one.name)] = func(c *engine.Call) resp.Value { return run(s, c) }
	}
	return handlers
}

const (
	errQuorum   = "ERR Quorum must be 1 or greater."
	errNoMaster = "ERR No such master with that name"
	errNotInt   = "ERR value is not an integer or out of range"
)

// runRole is ROLE.
func (s *Sentinel) runRole(*engine.Call) resp.Value {
	names := make([]resp.Value, len(s.masters))
	for i, m := range s.masters {
		names[i] = resp.Str(m.name)
	}
	return resp.List(resp.Str("sentinel"), resp.List(names...))
}

// runPublish is PUBLISH channel message: other Sentinels' greetings only.
// Source: sentinelPublishCommand of Redis 7.0.
func (s *Sentinel) runPublish(c *engine.Call) resp.Value {
	if string(c.Args[1]) != helloChannel {
		return resp.Err("ERR Only HELLO messages are accepted by Sentinel instances.")
	}
	s.processHello(resp.CString(c.Args[2]))
	return resp.One
}

// runInfo is INFO [section ...].
func (s *Sentinel) runInfo(c *engine.Call) resp.Value {
	return c.Info([]engine.InfoSection{
		{Name: "Server"}, {Name: "Clients"}, {Name: "Stats"}, {Name: "CPU"},
		{Name: "Sentinel", Text: s.info},
	})
}

// info is the section Sentinel of INFO.
func (s *Sentinel) info() string {
	text := &strings.Builder{}
	line := func(words ...string) {
		for _, word := range words {
			text.WriteString(word)
		}
		text.WriteString("\r\n")
	}
	tilt, since := "0", int64(-1)
	if s.tilt {
		tilt, since = "1", (s.now()-s.tiltSince)/1000
	}
	line("sentinel_masters:", decimal(int64(len(s.masters))))
	line("sentinel_tilt:", tilt)
	line("sentinel_tilt_since_seconds:", decimal(since))
	line("sentinel_running_scripts:0")
	line("sentinel_scripts_queue_length:0")
	line("sentinel_simulate_failure_flags:", decimal(int64(s.failure)))
	for i, m := range s.masters {
		status := "ok"
		switch {
		case m.is(instODown):
			status = "odown"
		case m.is(instSDown):
			status = "sdown"
		}
		line("master", decimal(int64(i)), ":name=", m.name, ",status=", status,
			",address=", s.announced(m.addr), ":", decimal(int64(m.addr.port)),
			",slaves=", decimal(int64(len(m.replicas))), ",sentinels=", decimal(int64(len(m.sentinels)+1)))
	}
	return text.String()
}

// runMasters is SENTINEL MASTERS.
func (s *Sentinel) runMasters(*engine.Call) resp.Value { return s.showAll(s.masters) }

// withMaster runs a command on the master that its third word names.
func (s *Sentinel) withMaster(c *engine.Call, run func(m *instance) resp.Value) resp.Value {
	m := s.masters.byName(string(c.Args[2]))
	if m == nil {
		return resp.Err(errNoMaster)
	}
	return run(m)
}

// runMaster is SENTINEL MASTER name.
func (s *Sentinel) runMaster(c *engine.Call) resp.Value { return s.withMaster(c, s.show) }

// runReplicas is SENTINEL REPLICAS name.
func (s *Sentinel) runReplicas(c *engine.Call) resp.Value {
	return s.withMaster(c, func(m *instance) resp.Value { return s.showAll(m.replicas) })
}

// runSentinels is SENTINEL SENTINELS name: the others.
func (s *Sentinel) runSentinels(c *engine.Call) resp.Value {
	return s.withMaster(c, func(m *instance) resp.Value { return s.showAll(m.sentinels) })
}

// runMyID is SENTINEL MYID.
func (s *Sentinel) runMyID(*engine.Call) resp.Value { return resp.Str(s.id) }

// runMasterAddress is SENTINEL GET-MASTER-ADDR-BY-NAME name.
func (s *Sentinel) runMasterAddress(c *engine.Call) resp.Value {
	m := s.masters.byName(resp.CString(c.Args[2]))
	if m == nil {
		return resp.NullList
	}
	at := m.currentAddress()
	return resp.List(resp.Str(s.announced(at)), resp.Str(decimal(int64(at.port))))
}

// runIsMasterDown is SENTINEL IS-MASTER-DOWN-BY-ADDR ip port current-epoch runid;
// with a run id it asks for a vote, too. In tilt no master is down.
func (s *Sentinel) runIsMasterDown(c *engine.Call) resp.Value {
	port, ok1 := datastore.ParseInteger(c.Args[3])
	epoch, ok2 := datastore.ParseInteger(c.Args[4])
	if !ok1 || !ok2 {
		return resp.Err(errNotInt)
	}
	var m *instance
	if host := resp.CString(c.Args[2]); host != "" && (s.options.resolveHostnames || s.resolves(host)) {
		m = s.masters.find(host, int(port), "")
	}
	down, leader, leaderEpoch := resp.Zero, "", uint64(0)
	if m != nil && m.is(instSDown) && !s.tilt {
		down = resp.One
	}
	if candidate := resp.CString(c.Args[5]); m != nil && candidate != "*" {
		leader, leaderEpoch = s.vote(m, uint64(epoch), candidate)
	}
	if leader == "" {
		leader = "*"
	}
	return resp.List(down, resp.Str(leader), resp.Int(int64(leaderEpoch)))
}

// runReset is SENTINEL RESET pattern: forgets all that was learned of the masters
// that match, and replies how many these are.
func (s *Sentinel) runReset(c *engine.Call) resp.Value {
	count := int64(0)
	for _, m := range s.masters {
		if engine.MatchGlob(resp.CString(c.Args[2]), m.name) {
			s.resetMaster(m, false)
			s.eventOf("+reset-master", m)
			count++
		}
	}
	s.flush()
	return resp.Int(count)
}

// runForceFailover is SENTINEL FAILOVER name: without asking the others.
func (s *Sentinel) runForceFailover(c *engine.Call) resp.Value {
	return s.withMaster(c, func(m *instance) resp.Value {
		switch {
		case m.is(instFailover):
			return resp.Err("INPROG Failover already in progress")
		case s.bestReplica(m) == nil:
			return resp.Err("NOGOODSLAVE No suitable replica to promote")
		}
		s.log(levelWarning, "Executing user requested FAILOVER of '"+m.name+"'")
		s.startFailover(m)
		m.flags |= instForced
		return resp.OK
	})
}

// runMonitor is SENTINEL MONITOR name ip port quorum.
func (s *Sentinel) runMonitor(c *engine.Call) resp.Value {
	quorum, ok := datastore.ParseInteger(c.Args[5])
	if !ok {
		return resp.Err("ERR Invalid quorum")
	}
	port, ok := datastore.ParseInteger(c.Args[4])
	if !ok {
		return resp.Err("ERR Invalid port")
	}
	host := resp.CString(c.Args[3])
	m, bad := s.addMaster(resp.CString(c.Args[2]), host, int(port), int(quorum))
	if bad != "" {
		return resp.Err(bad)
	}
	s.flush()
	s.eventOf("+monitor", m, "quorum "+decimal(m.quorum))
	return resp.OK
}

// runRemove is SENTINEL REMOVE name.
func (s *Sentinel) runRemove(c *engine.Call) resp.Value {
	return s.withMaster(c, func(m *instance) resp.Value {
		s.eventOf("-monitor", m)
		s.masters.remove(m)
		s.release(instances{m})
		s.flush()
		return resp.OK
	})
}

// runFlushConfig is SENTINEL FLUSHCONFIG.
func (s *Sentinel) runFlushConfig(*engine.Call) resp.Value {
	s.flush()
	return resp.OK
}

// runCheckQuorum is SENTINEL CKQUORUM name: whether enough Sentinels are up to
// agree that the master is down, and to elect one of them.
func (s *Sentinel) runCheckQuorum(c *engine.Call) resp.Value {
	return s.withMaster(c, func(m *instance) resp.Value {
		usable := int64(1)
		for _, other := range m.sentinels {
			if !other.is(instSDown | instODown) {
				usable++
			}
		}
		var lacking []string
		if usable < m.quorum {
			lacking = append(lacking, "Not enough available Sentinels to reach the specified quorum for this master")
		}
		if usable < int64(len(m.sentinels)+1)/2+1 {
			lacking = append(lacking,
				"Not enough available Sentinels to reach the majority and authorize a failover")
		}
		if lacking != nil {
			return resp.Err("NOQUORUM " + decimal(usable) + " usable Sentinels. " + strings.Join(lacking, ". "))
		}
		return resp.Simple("OK " + decimal(usable) +
			" usable Sentinels. Quorum and failover authorization can be reached")
	})
}
