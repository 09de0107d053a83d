package cluster

import "strings"

// eventLevels are the levels of the events that are no warnings.
var eventLevels = map[string]int{
	"+slave": levelNotice, "+sentinel": levelNotice, "+sentinel-address-switch": levelNotice,
	"+sentinel-invalid-addr": levelNotice, "+sentinel-address-update": levelNotice, "+reboot": levelNotice,
	"+role-change": levelVerbose, "-role-change": levelVerbose, "+convert-to-slave": levelNotice,
	"+fix-slave-config": levelNotice, "+slave-reconf-inprog": levelNotice, "+slave-reconf-done": levelNotice,
	"+slave-reconf-sent": levelNotice, "+slave-reconf-sent-be": levelNotice, "-slave-reconf-sent-timeout": levelNotice,
	"+failover-state-send-slaveof-noone": levelNotice, "+failover-state-wait-promotion": levelNotice,
}

// eventOf is event with a text that begins with the description of an instance.
func (s *Sentinel) eventOf(channel string, ri *instance, more ...string) {
	s.event(channel, strings.Join(append([]string{s.describe(ri)}, more...), " "))
}

// event publishes a text to the subscribers of a channel, which is named like
// the event, and logs it.
// Source: sentinelEvent of Redis 7.0.
func (s *Sentinel) event(channel, text string) {
	if s.crashed {
		return
	}
	level, known := eventLevels[channel]
	if !known {
		level = levelWarning
	}
	s.log(level, channel+" "+text)
	if s.cfg.Event != nil {
		s.cfg.Event(channel, text)
	}
	s.node.Publish(channel, text)
}

// log writes a line of the log.
func (s *Sentinel) log(level int, text string) {
	if s.cfg.Node.Log != nil {
		s.cfg.Node.Log(level, text)
	}
}

// describe is an instance in events: what it is, its name and address, and the
// same of its master.
func (s *Sentinel) describe(ri *instance) string {
	text := ri.kind() + " " + ri.name + " " + s.announced(ri.addr) + " " + decimal(int64(ri.addr.port))
	if m := ri.master; m != nil {
		text += " @ " + m.name + " " + s.announced(m.addr) + " " + decimal(int64(m.addr.port))
	}
	return text
}

// announced is an address's host as it is told to others: the name that it was
// given by with announce-hostnames, and otherwise the number.
func (s *Sentinel) announced(a address) string {
	if s.options.announceHostnames {
		return a.host
	}
	return resolveName(a.host)
}
