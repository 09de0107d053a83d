package engine

import (
	"slices"
	"strings"

	"minikv/internal/resp"
)

// CLIENT TRACKING and its kin, https://redis.io/docs/latest/commands/client-tracking/

// runClientTracking is CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX prefix
// [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP].
func runClientTracking(c *Call) resp.Value {
	options, prefixes, bad := c.trackingArgs()
	switch {
	case bad != "":
		return resp.Err(bad)
	case is(c.Args[2], "OFF"):
		c.Node.stopTracking(c.Session)
		return resp.OK
	case !is(c.Args[2], "ON"):
		return resp.Err(errSyntax)
	}
	if bad := c.Session.tracking.refusal(options, prefixes); bad != "" {
		return resp.Err(bad)
	}
	if options.bcast {
		bad, refused := c.Session.tracking.overlap(prefixes)
		if refused {
			return resp.Err(bad)
		}
		if bad != "" {
			c.Session.send(resp.Err(bad))
		}
	}
	c.Node.startTracking(c.Session, options, prefixes)
	return resp.OK
}

// trackingArgs reads the options of CLIENT TRACKING.
func (c *Call) trackingArgs() (options trackingOptions, prefixes []string, bad string) {
	for i := 3; i < len(c.Args); i++ {
		more := i+1 < len(c.Args)
		switch {
		case is(c.Args[i], "REDIRECT") && more:
			i++
			if bad := c.redirectArg(&options, c.Args[i]); bad != "" {
				return options, nil, bad
			}
		case is(c.Args[i], "PREFIX") && more:
			i++
			prefixes = append(prefixes, string(c.Args[i]))
		case is(c.Args[i], "BCAST"):
			options.bcast = true
		case is(c.Args[i], "OPTIN"):
			options.optIn = true
		case is(c.Args[i], "OPTOUT"):
			options.optOut = true
		case is(c.Args[i], "NOLOOP"):
			options.noLoop = true
		default:
			return options, nil, errSyntax
		}
	}
	return options, prefixes, ""
}

// redirectArg reads the client to redirect to, who must exist.
func (c *Call) redirectArg(options *trackingOptions, arg []byte) (bad string) {
	if options.redirect != 0 {
		return "ERR A client can only redirect to a single other client"
	}
	id, ok := parseInt(arg)
	switch {
	case !ok:
		return errNotInt
	case c.Node.sessions.byID(id) == nil:
		return "ERR The client ID you want redirect to does not exist"
	}
	options.redirect = id
	return ""
}

// refusal is why tracking may not be turned on with these options, or "".
func (t *trackingState) refusal(options trackingOptions, prefixes []string) string {
	const switchFirst = " before disabling tracking for this client, and then re-enabling it with a different mode."
	switch {
	case !options.bcast && len(prefixes) > 0:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case t.on && t.bcast != options.bcast:
		return "ERR You can't switch BCAST mode on/off" + switchFirst
	case options.bcast && (options.optIn || options.optOut):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case options.optIn && options.optOut:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case options.optIn && t.optOut, options.optOut && t.optIn:
		return "ERR You can't switch OPTIN/OPTOUT mode" + switchFirst
	}
	return ""
}

// overlap is the error for prefixes that begin with one another, or with one
// that the client has, or "". Two of the given ones refuse the command only if
// the first is among them: otherwise 7.0.15 sends the error and goes on.
// Source: checkPrefixCollisionsOrReply of Redis 7.0.
func (t *trackingState) overlap(prefixes []string) (bad string, refused bool) {
	says := func(prefix, kind, other string) string {
		return "ERR Prefix '" + resp.CString(prefix) + "' overlaps with " + kind + " prefix '" + resp.CString(other) +
			"'. Prefixes for a single client must not overlap."
	}
	for i, prefix := range prefixes {
		overlaps := func(other string) bool {
			return strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix)
		}
		if at := slices.IndexFunc(t.prefixes, overlaps); at >= 0 {
			return says(prefix, "an existing", t.prefixes[at]), true
		}
		if at := slices.IndexFunc(prefixes[i+1:], overlaps); at >= 0 {
			return says(prefix, "another provided", prefixes[i+1+at]), i == 0
		}
	}
	return "", false
}

// runClientCaching is CLIENT CACHING YES|NO.
func runClientCaching(c *Call) resp.Value {
	t := &c.Session.tracking
	yes, no := is(c.Args[2], "YES"), is(c.Args[2], "NO")
	switch {
	case !t.on:
		return resp.Err("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or " +
			"OPTOUT mode enabled")
	case yes && !t.optIn:
		return resp.Err("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case no && !t.optOut:
		return resp.Err("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case !yes && !no:
		return resp.Err(errSyntax)
	}
	t.caching = true
	return resp.OK
}

// runClientGetRedir is CLIENT GETREDIR.
func runClientGetRedir(c *Call) resp.Value { return resp.Int(c.Session.tracking.redirection()) }

// redirection is the ID of who is told in place of the client: 0 is itself, -1
// that it does not track.
func (t *trackingState) redirection() int64 {
	if !t.on {
		return -1
	}
	return t.redirect
}

// runClientTrackingInfo is CLIENT TRACKINGINFO.
func runClientTrackingInfo(c *Call) resp.Value {
	t := &c.Session.tracking
	var flags []resp.Value
	add := func(name string, set bool) {
		if set {
			flags = append(flags, resp.Str(name))
		}
	}
	add("off", !t.on)
	add("on", t.on)
	add("bcast", t.bcast)
	add("optin", t.optIn)
	add("caching-yes", t.optIn && t.caching)
	add("optout", t.optOut)
	add("caching-no", t.optOut && t.caching)
	add("noloop", t.noLoop)
	add("broken_redirect", t.broken)
	prefixes := make([]resp.Value, len(t.prefixes))
	for i, prefix := range t.prefixes {
		prefixes[i] = resp.Str(prefix)
	}
	return resp.Pairs(
		resp.Str("flags"), resp.Value{Kind: resp.Set, List: flags},
		resp.Str("redirect"), resp.Int(t.redirection()),
		resp.Str("prefixes"), resp.List(prefixes...),
	)
}
