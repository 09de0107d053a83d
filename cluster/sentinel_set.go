package cluster

import (
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/server/engine"
)

// runSet is SENTINEL SET name option value [option value ...]. What stands
// before a bad option is set.
// Source: sentinelSetCommand of Redis 7.0.
func (s *Sentinel) runSet(c *engine.Call) resp.Value {
	return s.withMaster(c, func(m *instance) resp.Value {
		defer s.flush()
		for args := c.Args[3:]; len(args) > 0; {
			used, shown, bad := s.setOption(m, args)
			if bad != "" {
				return resp.Err(bad)
			}
			s.eventOf("+set", m, shown)
			args = args[used:]
		}
		return resp.OK
	})
}

// setOption sets the option that args begin with. It returns how many words it
// took and how the event shows them, or an error text.
func (s *Sentinel) setOption(m *instance, args [][]byte) (used int, shown, bad string) {
	option := resp.CString(args[0])
	name := strings.ToLower(option)
	words := 2
	if name == "rename-command" {
		words = 3
	}
	if len(args) < words || !isSetOption(name) {
		return 0, "", "ERR Unknown option or number of arguments for SENTINEL SET '" + option + "'"
	}
	value := resp.CString(args[1])
	shown = option + " " + value
	badValue := -1
	switch name {
	case "auth-pass":
		m.password = value
		shown = option + " ******"
		s.dropReplicas(m)
	case "auth-user":
		m.user = value
		s.dropReplicas(m)
	case "notification-script", "client-reconfig-script":
		return 0, "", "ERR Reconfiguration of scripts path is denied for security reasons. Check the " +
			"deny-scripts-reconfig configuration directive in your Sentinel configuration"
	case "rename-command":
		badValue = m.rename(string(args[1]), string(args[2]))
		shown += " " + resp.CString(args[2])
	default:
		if !s.setNumber(m, name, args[1]) {
			badValue = 1
		}
	}
	if badValue > 0 {
		return 0, "", "ERR Invalid argument '" + resp.CString(args[badValue]) + "' for SENTINEL SET '" + option + "'"
	}
	return words, shown, ""
}

func isSetOption(name string) bool {
	switch name {
	case "down-after-milliseconds", "failover-timeout", "parallel-syncs", "notification-script",
		"client-reconfig-script", "auth-pass", "auth-user", "quorum", "rename-command",
		"master-reboot-down-after-period":
		return true
	}
	return false
}

// setNumber sets an option that is a number. It reports whether it could.
func (s *Sentinel) setNumber(m *instance, name string, value []byte) bool {
	n, ok := datastore.ParseInteger(value)
	if !ok || n < 0 || n == 0 && name != "master-reboot-down-after-period" {
		return false
	}
	switch name {
	case "down-after-milliseconds":
		m.downAfter = n
		for _, r := range m.replicas {
			r.downAfter = n
		}
		for _, other := range m.sentinels {
			other.downAfter = n
		}
	case "failover-timeout":
		m.failoverTimeout = n
	case "parallel-syncs":
		m.parallelSyncs = n
	case "quorum":
		m.quorum = n
	case "master-reboot-down-after-period":
		m.rebootDownAfter = n
	}
	return true
}

// rename makes a command have another name on the master and its replicas. It
// returns which word is bad, counted from the option, or -1.
func (ri *instance) rename(from, to string) (bad int) {
	switch {
	case from == "":
		return 1
	case to == "":
		return 2
	}
	for i, one := range ri.renamed {
		if strings.EqualFold(one.from, from) {
			ri.renamed = append(ri.renamed[:i:i], ri.renamed[i+1:]...)
			break
		}
	}
	if !strings.EqualFold(from, to) {
		ri.renamed = append(ri.renamed, renamedCommand{from, to})
	}
	return -1
}

// dropReplicas dials a master and its replicas anew, with new credentials.
// Source: dropInstanceConnections of Redis 7.0.
func (s *Sentinel) dropReplicas(m *instance) {
	for _, ri := range append(instances{m}, m.replicas...) {
		ri.link.closeCommand()
		ri.link.closePubSub()
	}
}

// runConfig is SENTINEL CONFIG GET pattern, or SENTINEL CONFIG SET option value.
func (s *Sentinel) runConfig(c *engine.Call) resp.Value {
	verb := strings.ToLower(resp.CString(c.Args[2]))
	switch {
	case verb == "get" && len(c.Args) == 4:
		return s.getConfig(resp.CString(c.Args[3]))
	case verb == "set" && len(c.Args) == 5:
		return s.setConfig(c)
	}
	return resp.Err("ERR Only SENTINEL CONFIG GET <option> / SET <option> <value> are supported.")
}

// getConfig lists the options whose names match a pattern.
func (s *Sentinel) getConfig(pattern string) resp.Value {
	yesNo := func(yes bool) string {
		if yes {
			return "yes"
		}
		return "no"
	}
	o := &s.options
	var entries []resp.Value
	for _, one := range []struct{ name, value string }{
		{"resolve-hostnames", yesNo(o.resolveHostnames)}, {"announce-hostnames", yesNo(o.announceHostnames)},
		{"announce-ip", o.announceHost}, {"announce-port", decimal(int64(o.announcePort))},
		{"sentinel-user", o.user}, {"sentinel-pass", o.password},
	} {
		if engine.MatchGlobFold(pattern, one.name) {
			entries = append(entries, resp.Str(one.name), resp.Str(one.value))
		}
	}
	return resp.Pairs(entries...)
}

// setConfig sets one option.
func (s *Sentinel) setConfig(c *engine.Call) resp.Value {
	option, value := resp.CString(c.Args[3]), resp.CString(c.Args[4])
	o, ok := &s.options, true
	yes := strings.EqualFold(value, "yes")
	yesNo := yes || strings.EqualFold(value, "no")
	switch strings.ToLower(option) {
	case "resolve-hostnames":
		if ok = yesNo; ok {
			o.resolveHostnames = yes
		}
	case "announce-hostnames":
		if ok = yesNo; ok {
			o.announceHostnames = yes
		}
	case "announce-ip":
		o.announceHost, o.announceNoHost = value, value == ""
	case "announce-port":
		var port int64
		if port, ok = datastore.ParseInteger(c.Args[4]); ok {
			if ok = port >= 0 && port <= 65535; ok {
				o.announcePort = int(port)
			}
		}
	case "sentinel-user":
		o.user = value
		s.dropSentinels()
	case "sentinel-pass":
		o.password = value
		s.dropSentinels()
	default:
		return resp.Err("ERR Invalid argument '" + option + "' to SENTINEL CONFIG SET")
	}
	if !ok {
		return resp.Err("ERR Invalid value '" + value + "' to SENTINEL CONFIG SET '" + option + "'")
	}
	s.flush()
	return resp.OK
}

// dropSentinels dials the other Sentinels anew, with new credentials.
func (s *Sentinel) dropSentinels() {
	for _, m := range s.masters {
		for _, other := range m.sentinels {
			other.link.closeCommand()
		}
	}
}

// runDebug is SENTINEL DEBUG [name milliseconds ...]: the periods, or new values
// of some. What stands before a bad one is set.
func (s *Sentinel) runDebug(c *engine.Call) resp.Value {
	if len(c.Args) == 2 {
		return s.showPeriods()
	}
	for args := c.Args[2:]; len(args) > 0; args = args[2:] {
		option := resp.CString(args[0])
		var period *int64
		for _, one := range s.periods.table() {
			if strings.EqualFold(one.name, option) {
				period = one.millis
			}
		}
		if period == nil || len(args) == 1 {
			return resp.Err("ERR Unknown option or number of arguments for SENTINEL DEBUG '" + option + "'")
		}
		n, ok := datastore.ParseInteger(args[1])
		if !ok || n <= 0 {
			return resp.Err("ERR Invalid argument '" + resp.CString(args[1]) + "' for SENTINEL DEBUG '" + option + "'")
		}
		*period = n
	}
	return resp.OK
}

func (s *Sentinel) showPeriods() resp.Value {
	var entries []resp.Value
	for _, one := range s.periods.table() {
		entries = append(entries, resp.Str(one.name), resp.Str(decimal(*one.millis)))
	}
	return resp.Pairs(entries...)
}

// runSimulateFailure is SENTINEL SIMULATE-FAILURE [CRASH-AFTER-ELECTION]
// [CRASH-AFTER-PROMOTION] [HELP]: the process will end at that point of a failover.
func (s *Sentinel) runSimulateFailure(c *engine.Call) resp.Value {
	s.failure = 0
	for _, arg := range c.Args[2:] {
		switch strings.ToLower(resp.CString(arg)) {
		case "crash-after-election":
			s.failure |= crashAfterElection
			s.log(levelWarning, "Failure simulation: this Sentinel will crash after being successfully elected as "+
				"failover leader")
		case "crash-after-promotion":
			s.failure |= crashAfterPromotion
			s.log(levelWarning, "Failure simulation: this Sentinel will crash after promoting the selected replica "+
				"to master")
		case "help":
			return resp.List(resp.Str("crash-after-election"), resp.Str("crash-after-promotion"))
		default:
			return resp.Err("ERR Unknown failure simulation specified")
		}
	}
	return resp.OK
}
