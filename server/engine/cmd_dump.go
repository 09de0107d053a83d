package engine

import (
	"time"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Values in Redis's own format, https://redis.io/docs/latest/commands/dump/

var dumpCommands = []Command{
	{Name: "DUMP", Arity: 2, Flags: ReadOnly, Groups: "keyspace", Run: runDump},
	{Name: "RESTORE", Arity: -4, Flags: Write | DenyOOM, Groups: "keyspace dangerous", Run: runRestore},
	{Name: "RESTORE-ASKING", Arity: -4, Flags: Write | DenyOOM | Asking, Groups: "keyspace dangerous", Run: runRestore},
}

// runDump is DUMP key.
func runDump(c *Call) resp.Value {
	payload, ok := c.DB.Dump(c.Args[1], c.Node.compresses())
	return textReply(string(payload), ok, nil)
}

// restoreOptions are the options of RESTORE.
type restoreOptions struct {
	replace, absolute bool
	idle              int64 // seconds, -1: not given
	frequency         int64 // 0 to 255, -1: not given
}

// runRestore is RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency].
// A TTL of 0 is none; one that has passed leaves no key.
func runRestore(c *Call) resp.Value {
	opt, bad := parseRestore(c.Args[4:])
	if bad != "" {
		return resp.Err(bad)
	}
	key, payload := c.Args[1], c.Args[3]
	if !opt.replace && c.DB.Exists(key) {
		return resp.Err("BUSYKEY Target key name already exists.")
	}
	ttl, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return resp.Err(errNotInt)
	case ttl < 0:
		return resp.Err("ERR Invalid TTL value, must be >= 0")
	case !datastore.SealedDump(payload, c.Node.conf.anyChecksum):
		return resp.Err("ERR DUMP payload version or checksum are wrong")
	case !c.DB.Loadable(payload, c.sanitizes()):
		return resp.Err("ERR Bad data format")
	}
	replaced := opt.replace && c.DB.Remove(key)
	deadline, now := datastore.NoDeadline, c.NowMillis()
	if ttl > 0 {
		deadline = ttl
		if !opt.absolute {
			deadline += now
		}
		if deadline <= now && !c.Node.repl.isReplica() {
			if replaced {
				c.Changed(key, "del")
				c.Replicate([]byte("DEL"), key)
			}
			return resp.OK
		}
	}
	c.DB.Restore(key, payload, deadline)
	if opt.idle >= 0 {
		c.DB.SetIdle(key, restoredIdle(opt.idle, lruClock(c.Node.cfg.Clock.Wall())))
	}
	if opt.frequency >= 0 && c.Node.tracksFrequency() {
		c.DB.SetUses(key, int(opt.frequency))
	}
	c.Changed(key, "restore")
	if ttl > 0 && !opt.absolute {
		effect := append([][]byte(nil), c.Args...)
		effect[2] = []byte(decimal(deadline))
		c.Replicate(append(effect, []byte("ABSTTL"))...)
	}
	return resp.OK
}

// sanitizes reports whether a payload is to be right in every detail.
// Source: rdbLoadObject of Redis 7.0.
func (c *Call) sanitizes() bool {
	switch c.Node.conf.get("sanitize-dump-payload") {
	case "yes":
		return true
	case "clients":
		return c.Session != c.Node.repl.master && c.Session.user.flags&userSkipSanitize == 0
	}
	return false
}

// restoredIdle is for how long a key has been idle of which RESTORE says so many
// seconds: what is older than the clock's 24 bits reach is taken for later.
// Source: objectSetLRUOrLFU and estimateObjectIdleTime of Redis 7.0.
func restoredIdle(seconds, clock int64) time.Duration {
	const most, perSecond = 1<<24 - 1, 1000
	used := clock - seconds*perSecond/perSecond // which may overflow, as there
	if used < 0 {
		used += most
	}
	idle := clock - used&most
	if idle < 0 {
		idle += most
	}
	return time.Duration(idle) * time.Second
}

func parseRestore(args [][]byte) (opt restoreOptions, bad string) {
	const mostFrequent = 255
	opt.idle, opt.frequency = -1, -1
	for ; len(args) > 0; args = args[1:] {
		var ok bool
		switch {
		case is(args[0], "REPLACE"):
			opt.replace = true
		case is(args[0], "ABSTTL"):
			opt.absolute = true
		case is(args[0], "IDLETIME") && len(args) > 1 && opt.frequency == -1:
			args = args[1:]
			if opt.idle, ok = parseInt(args[0]); !ok {
				return opt, errNotInt
			} else if opt.idle < 0 {
				return opt, "ERR Invalid IDLETIME value, must be >= 0"
			}
		case is(args[0], "FREQ") && len(args) > 1 && opt.idle == -1:
			args = args[1:]
			if opt.frequency, ok = parseInt(args[0]); !ok {
				return opt, errNotInt
			} else if opt.frequency < 0 || opt.frequency > mostFrequent {
				return opt, "ERR Invalid FREQ value, must be >= 0 and <= 255"
			}
		default:
			return opt, errSyntax
		}
	}
	return opt, ""
}
