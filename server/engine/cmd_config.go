package engine

import (
	"slices"
	"strings"

	"minikv/internal/resp"
)

// CONFIG and its subcommands, https://redis.io/docs/latest/commands/config/

var configCommands = []Command{
	{Name: "GET", Arity: -3, Flags: administering, Run: runConfigGet},
	{Name: "SET", Arity: -4, Flags: administering, Run: runConfigSet},
	{Name: "RESETSTAT", Arity: 2, Flags: administering, Run: runConfigResetStat},
	{Name: "REWRITE", Arity: 2, Flags: administering, Run: runConfigRewrite},
	help("CONFIG", "", configHelp),
}

// runConfigGet is CONFIG GET pattern [pattern ...], in alphabetical order. A
// name that is no pattern is shown as it was asked for; of several spellings the first
// counts.
func runConfigGet(c *Call) resp.Value {
	var names []string
	seen := map[string]bool{} // in small letters: the first spelling counts
	add := func(name string) {
		if lower := lowerASCII(name); !seen[lower] {
			seen[lower] = true
			names = append(names, name)
		}
	}
	for _, arg := range c.Args[2:] {
		name, pattern := string(arg), resp.CString(arg)
		if !strings.ContainsAny(pattern, "[*?") {
			if findParameter(name) != nil {
				add(name)
			}
			continue
		}
		for name, p := range parametersByName { //tidy:unordered sorted below
			if !p.hidden && matchGlobFold(pattern, name) {
				add(name)
			}
		}
	}
	slices.Sort(names)
	list := make([]resp.Value, 0, 2*len(names))
	for _, name := range names {
		list = append(list, resp.Str(name), resp.Str(c.Node.Parameter(name)))
	}
	return resp.Pairs(list...)
}

// leastBacklog is the smallest repl-backlog-size that CONFIG SET leaves, in bytes.
const leastBacklog = 16 << 10

// runConfigSet is CONFIG SET name value [name value ...]: all or nothing.
func runConfigSet(c *Call) resp.Value {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		return resp.Err(errSyntax)
	}
	if bad := c.checkConfigSet(pairs); bad != "" {
		return resp.Err(bad)
	}
	if bad := c.needsTLS(pairs); bad != "" {
		c.putBack(pairs)
		return resp.Err(bad)
	}
	if bad := c.rebind(pairs); bad != "" {
		return resp.Err(bad)
	}
	const password = "requirepass"
	before := c.Node.conf.get(password)
	for i := 0; i < len(pairs); i += 2 {
		if err := c.Node.conf.set(string(pairs[i]), string(pairs[i+1])); err != nil {
			panic("engine: " + err.Error())
		}
	}
	if c.Node.conf.backlog < leastBacklog { // only CONFIG SET mends it
		_ = c.Node.conf.set("repl-backlog-size", decimal(leastBacklog))
	}
	if now := c.Node.conf.get(password); now != before {
		c.Node.access.root.setOnlyPassword(now)
	}
	c.Node.applyExpiryPolicy()
	c.Node.applyLimits()
	c.Node.makeRoom()
	return resp.OK
}

// rebind takes the ports that CONFIG SET names, if there are any. It is all of CONFIG
// SET that can fail when everything has been checked.
func (c *Call) rebind(pairs [][]byte) (bad string) {
	left := map[string]int64{} // the ports before, which a fault brings back
	for i := 0; i < len(pairs); i += 2 {
		name := lowerASCII(string(pairs[i]))
		if c.Node.cfg.Rebind == nil || name != "port" && name != "tls-port" {
			continue
		}
		port, _ := parseInt(pairs[i+1])
		before, _ := parseInt([]byte(c.Node.Parameter(name)))
		if port == before {
			continue
		}
		if c.Node.cfg.Rebind(name, int(port)) != nil {
			for name, port := range left { //tidy:unordered each has listeners of its own
				_ = c.Node.cfg.Rebind(name, int(port))
			}
			c.putBack(pairs)
			return errConfigSet(name, "Unable to listen on this port. Check server logs.")
		}
		left[name] = before
	}
	return ""
}

// needsTLS is why CONFIG SET must not have a server speak TLS that has no certificate, or "".
// Source: applyTlsCfg of Redis 7.0.
func (c *Call) needsTLS(pairs [][]byte) string {
	for i := 0; i < len(pairs) && !c.Node.cfg.TLS; i += 2 {
		name := lowerASCII(string(pairs[i]))
		switch name {
		case "tls-port", "tls-cluster", "tls-replication":
			if value, _ := findParameter(name).canonical(string(pairs[i+1])); value != "0" && value != "no" {
				c.Node.warn("CONFIG SET " + name + ": the server had no usable certificate and key when it started")
				return errConfigSet(name, "Unable to update TLS configuration. Check server logs.")
			}
		}
	}
	return ""
}

// checkConfigSet is why CONFIG SET must change nothing, or "".
func (c *Call) checkConfigSet(pairs [][]byte) string {
	seen := make(map[string]bool) // by name, of which a parameter may have two
	for i := 0; i < len(pairs); i += 2 {
		name := string(pairs[i])
		lower := lowerASCII(name)
		p := findParameter(name)
		switch {
		case p == nil:
			return "ERR Unknown option or number of arguments for CONFIG SET - '" + string(clip(pairs[i], len(name))) + "'"
		case p.immutable:
			return errConfigSet(name, "can't set immutable config")
		case p.protected && !c.permits("enable-protected-configs"):
			return errConfigSet(name, "can't set protected config")
		case seen[lower]:
			return errConfigSet(name, "duplicate parameter")
		}
		seen[lower] = true
	}
	for i := 0; i < len(pairs); i += 2 {
		name := lowerASCII(string(pairs[i])) // faults of the names themselves are told as they were written
		if _, bad := findParameter(name).canonical(string(pairs[i+1])); bad != "" {
			c.putBack(pairs[:i+2])
			return errConfigSet(name, bad)
		}
	}
	return ""
}

// putBack is what is left of parameters that were set before CONFIG SET met a fault: they
// are set to what CONFIG GET shows, which makes a difference to events alone.
// Source: restoreBackupConfig of Redis 7.0.
func (c *Call) putBack(pairs [][]byte) {
	const events = "notify-keyspace-events"
	for i := 0; i < len(pairs); i += 2 {
		if findParameter(string(pairs[i])).name == events {
			_ = c.Node.conf.set(events, c.Node.conf.notify.shown())
			c.Node.applyLimits()
		}
	}
}

func errConfigSet(name, why string) string {
	return "ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + why
}

// runConfigResetStat is CONFIG RESETSTAT.
func runConfigResetStat(c *Call) resp.Value {
	dirty, peak := c.Node.stats.dirty, c.Node.stats.peakMemory
	c.Node.stats = statistics{dirty: dirty, peakMemory: peak}
	c.Node.stats.rates.next = c.Node.cfg.Clock.Mono() + ratePeriod
	return resp.OK
}
