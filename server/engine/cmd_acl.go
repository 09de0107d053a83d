package engine

import (
	"slices"
	"strings"

	"minikv/internal/resp"
)

// ACL and its subcommands, https://redis.io/docs/latest/commands/acl/

var aclCommands = []Command{
	{Name: "CAT", Arity: -2, Flags: NoScript | Loading | Stale, Run: runACLCat},
	{Name: "DELUSER", Arity: -3, Flags: administering, Run: runACLDelUser},
	{Name: "DRYRUN", Arity: -4, Flags: administering, Run: runACLDryRun},
	{Name: "GENPASS", Arity: -2, Flags: NoScript | Loading | Stale, Run: runACLGenPass},
	{Name: "GETUSER", Arity: 3, Flags: administering, Run: runACLGetUser},
	help("ACL", "", aclHelp),
	{Name: "LIST", Arity: 2, Flags: administering, Run: runACLList},
	{Name: "LOAD", Arity: 2, Flags: administering, Run: runACLLoad},
	{Name: "LOG", Arity: -2, Flags: administering, Run: runACLLog},
	{Name: "SAVE", Arity: 2, Flags: administering, Run: runACLSave},
	{Name: "SETUSER", Arity: -3, Flags: administering, Run: runACLSetUser},
	{Name: "USERS", Arity: 2, Flags: administering, Run: runACLUsers},
	{Name: "WHOAMI", Arity: 2, Flags: NoScript | Loading | Stale, Run: runACLWhoAmI},
}

// runACLWhoAmI is ACL WHOAMI.
func runACLWhoAmI(c *Call) resp.Value { return resp.Str(c.Session.user.name) }

// runACLUsers is ACL USERS.
func runACLUsers(c *Call) resp.Value {
	list := []resp.Value{}
	for _, u := range c.Node.access.users {
		list = append(list, resp.Str(u.name))
	}
	return resp.List(list...)
}

// runACLList is ACL LIST: the users as lines of a configuration file.
func runACLList(c *Call) resp.Value { return listReply(c.Node.userLines()) }

// userLines are the users as lines of a configuration file.
func (n *Node) userLines() []string {
	rules := n.aclRules()
	lines := make([]string, len(n.access.users))
	for i, u := range n.access.users {
		lines[i] = "user " + u.name + " " + rules.describe(u)
	}
	return lines
}

// runACLSetUser is ACL SETUSER name [rule ...]: all rules or none.
// Source: ACLStringSetUser of Redis 7.0.
func runACLSetUser(c *Call) resp.Value {
	n, name := c.Node, string(c.Args[2])
	if hasSpaces(name) {
		return resp.Err("ERR Usernames can't contain spaces or null characters")
	}
	words := make([]string, len(c.Args)-3)
	for i := range words {
		words[i] = string(c.Args[i+3])
	}
	merged, unmatched := mergeSelectors(words)
	if unmatched >= 0 {
		return resp.Err(blanked([]byte("ERR Unmatched parenthesis in acl selector starting at '" +
			resp.CString(words[unmatched]) + "'.")))
	}
	rules, u := n.aclRules(), n.access.find(name)
	changed := rules.newUser(name)
	if u != nil {
		changed = u.clone()
	}
	for _, rule := range merged {
		if bad := rules.setUser(changed, rule); bad != "" {
			return resp.Err(blanked([]byte("ERR Error in ACL SETUSER modifier '" + resp.CString(rule) + "': " + bad)))
		}
	}
	if u == nil {
		u = rules.newUser(name)
		n.access.add(u)
	} else {
		c.revokeChannels(u, changed)
	}
	u.become(changed)
	return resp.OK
}

// revokeChannels ends the connections of a user that listen to what they may
// not any more when the user changes.
// Source: ACLKillPubsubClientsIfNeeded of Redis 7.0.
func (c *Call) revokeChannels(u, changed *user) {
	var patterns []string
	for _, s := range changed.selectors {
		if s.allChannels {
			return
		}
		patterns = append(patterns, s.channels...)
	}
	if !u.hasChannels() {
		return
	}
	c.Node.eachSession(func(s *Session) {
		if s.user == u && s.listensBeside(patterns) {
			c.kick(s)
		}
	})
}

// hasChannels reports whether u is allowed any channel.
func (u *user) hasChannels() bool {
	return slices.ContainsFunc(u.selectors, func(s *selector) bool { return s.allChannels || len(s.channels) > 0 })
}

// listensBeside reports whether a session listens to what patterns do not allow.
func (s *Session) listensBeside(patterns []string) bool {
	beside := func(names []string, isPattern bool) bool {
		for _, name := range names {
			if !matchesChannel(patterns, name, isPattern) {
				return true
			}
		}
		return false
	}
	return beside(s.subs.patterns.all(), true) || beside(s.subs.channels.all(), false) ||
		beside(s.subs.shards.all(), false)
}

// runACLDelUser is ACL DELUSER name [name ...]: the connections of the users end.
func runACLDelUser(c *Call) resp.Value {
	a := &c.Node.access
	for _, name := range c.Args[2:] {
		if resp.CString(name) == a.root.name {
			return resp.Err("ERR The 'default' user cannot be removed")
		}
	}
	var deleted int64
	for _, name := range c.Args[2:] {
		if at, ok := a.place(string(name)); ok {
			u := a.users[at]
			a.users = append(a.users[:at], a.users[at+1:]...)
			c.dismiss(u)
			deleted++
		}
	}
	return resp.Int(deleted)
}

// dismiss ends the connections of a user that is no more.
func (c *Call) dismiss(u *user) {
	c.Node.eachSession(func(s *Session) {
		if s.user == u {
			s.user, s.authenticated = c.Node.access.root, false
			c.condemn(s)
		}
	})
}

// runACLGetUser is ACL GETUSER name.
func runACLGetUser(c *Call) resp.Value {
	u := c.Node.access.find(string(c.Args[2]))
	if u == nil {
		return resp.Null
	}
	rules := c.Node.aclRules()
	flags := []resp.Value{}
	for _, one := range userFlagNames {
		if u.flags&one.flag != 0 {
			flags = append(flags, resp.Str(one.name))
		}
	}
	selectors := []resp.Value{}
	for _, s := range u.selectors[1:] {
		selectors = append(selectors, resp.Pairs(rules.fields(s)...))
	}
	fields := []resp.Value{
		resp.Str("flags"), {Kind: resp.Set, List: flags}, resp.Str("passwords"), listReply(u.passwords),
	}
	fields = append(fields, rules.fields(u.selectors[0])...)
	return resp.Pairs(append(fields, resp.Str("selectors"), resp.List(selectors...))...)
}

// fields are a selector in the reply of ACL GETUSER.
func (r *aclRules) fields(s *selector) []resp.Value {
	return []resp.Value{
		resp.Str("commands"), resp.Str(r.describeCommands(s)),
		resp.Str("keys"), resp.Str(s.describeKeys()),
		resp.Str("channels"), resp.Str(s.describeChannels()),
	}
}

// runACLDryRun is ACL DRYRUN name command [argument ...]: OK, or why the user
// may not run the command.
func runACLDryRun(c *Call) resp.Value {
	args := c.Args[3:]
	u := c.Node.access.find(string(c.Args[2]))
	if u == nil {
		return resp.Err(oneLine([]byte("ERR User '" + resp.CString(c.Args[2]) + "' not found")))
	}
	cmd, _ := c.Node.lookup(args)
	switch {
	case cmd == nil:
		return resp.Err(oneLine([]byte("ERR Command '" + resp.CString(args[0]) + "' not found")))
	case cmd.Arity > 0 && len(args) != cmd.Arity || len(args) < -cmd.Arity:
		return resp.Err(errArity(cmd.full))
	}
	why, at := u.denies(cmd, args)
	const denied = "This user has no permissions to "
	switch why {
	case allowed:
		return resp.OK
	case deniedCommand:
		return resp.Str(denied + "run the '" + cmd.full + "' command")
	case deniedKey:
		return resp.Str(denied + "access the '" + resp.CString(args[at]) + "' key")
	default:
		return resp.Str(denied + "access the '" + resp.CString(args[at]) + "' channel")
	}
}

// runACLCat is ACL CAT [category].
func runACLCat(c *Call) resp.Value {
	switch {
	case len(c.Args) == 2:
		return listReply(aclCategories)
	case len(c.Args) > 3:
		return resp.Err(errSubSyntax("ACL", c.Args[1]))
	}
	group := groupOf(string(c.Args[2]))
	if group == 0 {
		return resp.Err(oneLine([]byte("ERR Unknown category '" + string(clip(c.Args[2], 128)) + "'")))
	}
	var names []string
	for cmd := range eachRow(c.Node.aclCommands()) {
		if cmd.groups&group != 0 {
			names = append(names, cmd.full)
		}
	}
	return listReply(names)
}

// runACLGenPass is ACL GENPASS [bits]: random hexadecimal digits, four bits each.
func runACLGenPass(c *Call) resp.Value {
	bits := int64(256)
	if len(c.Args) > 3 {
		return resp.Err(errSubSyntax("ACL", c.Args[1]))
	}
	if len(c.Args) == 3 {
		var ok bool
		switch bits, ok = parseInt(c.Args[2]); {
		case !ok:
			return resp.Err(errNotInt)
		case bits < 1 || bits > 4096:
			return resp.Err("ERR ACL GENPASS argument must be the number of bits for the output password, " +
				"a positive number up to 4096")
		}
	}
	digits := (bits + 3) / 4
	text := ""
	for int64(len(text)) < digits {
		text += c.Node.randomHex()
	}
	return resp.Str(text[:digits])
}

const errNoACLFile = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users " +
	"via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in " +
	"order to store users in the Redis configuration."

// runACLLoad is ACL LOAD: the users of the file, or none of them, take the place
// of those there are, whose connections end.
func runACLLoad(c *Call) resp.Value {
	n := c.Node
	if n.cfg.ACLFile == nil {
		return resp.Err(errNoACLFile)
	}
	users, bad := n.aclRules().read(n.cfg.ACLFile)
	if bad != "" {
		return resp.Err(oneLine([]byte("ERR " + bad)))
	}
	for _, u := range n.access.replace(users) {
		c.dismiss(u)
	}
	return resp.OK
}

// runACLSave is ACL SAVE.
func runACLSave(c *Call) resp.Value {
	n := c.Node
	if n.cfg.ACLFile == nil {
		return resp.Err(errNoACLFile)
	}
	text := strings.Join(n.userLines(), "\n") + "\n"
	if err := n.cfg.ACLFile.Write([]byte(text)); err != nil {
		return resp.Err("ERR There was an error trying to save the ACLs. Please check the server logs for " +
			"more information")
	}
	return resp.OK
}
