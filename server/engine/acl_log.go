package engine

import (
	"slices"

	"minikv/internal/resp"
)

// aclEntry is one line of ACL LOG: a user was denied something, once or more often.
type aclEntry struct {
	count    int64
	reason   denial
	context  string // toplevel, multi or lua
	object   string // the key, channel or command
	username string
	at       int64  // the latest time, in Unix milliseconds
	client   string // the latest client, as CLIENT LIST shows it
}

// logDenial notes that the session was denied something. What is like one of the
// latest entries, and no more than a minute from it, is counted there.
// Source: addACLLogEntry of Redis 7.0.
func (c *Call) logDenial(reason denial, context, object, username string) {
	const looksAt, near = 10, 60_000
	n := c.Node
	entry := aclEntry{1, reason, context, object, username, n.nowMillis(), c.describe(c.Session)}
	log := n.access.log
	for i := range log[:min(looksAt, len(log))] {
		one := log[i]
		distance := max(one.at-entry.at, entry.at-one.at)
		if one.reason == reason && one.context == context && one.object == object && one.username == username &&
			distance <= near {
			entry.count += one.count
			log = slices.Delete(log, i, i+1)
			break
		}
	}
	log = slices.Insert(log, 0, entry)
	if most := n.conf.number("acllog-max-len"); entry.count == 1 && int64(len(log)) > most {
		log = log[:most]
	}
	n.access.log = log
}

var denialNames = [...]string{
	deniedCommand: "command", deniedKey: "key", deniedChannel: "channel", deniedLogin: "auth",
}

// reply is the entry as ACL LOG shows it at a time in Unix milliseconds.
func (e *aclEntry) reply(now int64) resp.Value {
	return resp.Pairs(
		resp.Str("count"), resp.Int(e.count),
		resp.Str("reason"), resp.Str(denialNames[e.reason]),
		resp.Str("context"), resp.Str(e.context),
		resp.Str("object"), resp.Str(e.object),
		resp.Str("username"), resp.Str(e.username),
		resp.Str("age-seconds"), resp.Float(float64(now-e.at)/1000),
		resp.Str("client-info"), resp.Str(e.client),
	)
}

// runACLLog is ACL LOG [count|RESET]: the newest first.
func runACLLog(c *Call) resp.Value {
	count := int64(10)
	log := c.Node.access.log
	switch {
	case len(c.Args) > 3:
		return resp.Err(errSubSyntax("ACL", c.Args[1]))
	case len(c.Args) == 3 && is(c.Args[2], "RESET"):
		c.Node.access.log = nil
		return resp.OK
	case len(c.Args) == 3:
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok {
			return resp.Err(errNotInt)
		}
	}
	list := make([]resp.Value, min(max(count, 0), int64(len(log))))
	for i := range list {
		list[i] = log[i].reply(c.Node.nowMillis())
	}
	return resp.List(list...)
}
