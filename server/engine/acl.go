package engine

import (
	"slices"
	"strings"
)

// access is who may do what on a node.
// Source: acl.c of Redis 7.0, for this file and those whose names begin with it.
type access struct {
	users []*user // by name
	root  *user   // the user named default, which is always there
	log   []aclEntry

	// first is the memory of what every node begins with.
	first struct {
		user      user
		selectors [1]*selector
		users     [1]*user
	}
}

// userFlag is a property of a user, as ACL GETUSER names it.
type userFlag uint8

const (
	userOn userFlag = 1 << iota
	userOff
	userNoPass // any password will do
	userSkipSanitize
	userSanitize
)

// userFlagNames are the flags in the order in which they are shown.
var userFlagNames = []struct {
	flag userFlag
	name string
}{
	{userOn, "on"}, {userOff, "off"}, {userNoPass, "nopass"},
	{userSkipSanitize, "skip-sanitize-payload"}, {userSanitize, "sanitize-payload"},
}

// user is who sessions are authenticated as. What it may do is given by its
// selectors, each of which may allow a whole command; the first is that of the
// rules outside of parentheses.
type user struct {
	name       string
	flags      userFlag
	passwords  []string // SHA-256, in hexadecimal digits, in the order in which they were added
	selectors  []*selector
	restricted bool // no selector allows everything
}

// selector is a set of permissions.
type selector struct {
	allKeys, allChannels bool
	allCommands          bool // +@all, and nothing taken away since
	future               bool // +@all, whatever was taken away since
	commands             commandSet
	firstArgs            []firstArgs
	patterns             []keyPattern
	channels             []string // patterns
}

// firstArgs are the first arguments that a command is allowed with.
type firstArgs struct {
	row  int // the command's
	args []string
}

// keyPattern says which keys may be read or written.
type keyPattern struct {
	may     keyAccess
	pattern string
}

// commandSet is a set of commands and subcommands, by their rows.
type commandSet [statsPages * len(statsPage{}) / 64]uint64

func (s *commandSet) has(row int) bool { return s[row/64]&(1<<(row%64)) != 0 }

func (s *commandSet) put(row int, in bool) {
	if in {
		s[row/64] |= 1 << (row % 64)
	} else {
		s[row/64] &^= 1 << (row % 64)
	}
}

// everything is the selector of the default user of a new node. Selectors are
// copied before they are changed.
var everything = func() *selector {
	s := &selector{allKeys: true, allChannels: true}
	s.allowAll()
	return s
}()

// superuser is whom commands from outside of the node belong to: the effects of
// its master, what the program itself asks.
var superuser = &user{name: "(superuser)", selectors: []*selector{everything}}

// begin makes the default user, with the password that is configured.
func (a *access) begin(password string) {
	a.root, a.first.selectors[0] = &a.first.user, everything
	*a.root = user{name: "default", flags: userOn, selectors: a.first.selectors[:]}
	a.root.setOnlyPassword(password)
	a.first.users[0] = a.root
	a.users = a.first.users[:]
}

// find is the user of that name, or nil.
func (a *access) find(name string) *user {
	if at, ok := a.place(name); ok {
		return a.users[at]
	}
	return nil
}

// place is where the user of that name is, or would be.
func (a *access) place(name string) (at int, ok bool) {
	return slices.BinarySearchFunc(a.users, name, func(u *user, name string) int { return strings.Compare(u.name, name) })
}

// add takes in a user whose name is new.
func (a *access) add(u *user) {
	at, _ := a.place(u.name)
	a.users = slices.Insert(a.users, at, u)
}

// open reports whether clients need not authenticate.
func (a *access) open() bool { return a.root.flags&(userNoPass|userOff) == userNoPass }

// authentic is the user of that name if it may come in with the password, or nil.
func (a *access) authentic(name, password string) *user {
	u := a.find(name)
	switch {
	case u == nil, u.flags&userOff != 0:
		return nil
	case u.flags&userNoPass != 0, slices.Contains(u.passwords, hashPassword(password)):
		return u
	}
	return nil
}

// RefuseReplica returns why a replica that authenticates with a user's name and a
// password, either of which may be "", is refused; "" if it is not.
func (n *Node) RefuseReplica(name, password string) string {
	u := n.access.root
	if name != "" || !n.access.open() {
		if name == "" {
			name = u.name
		}
		u = n.access.authentic(name, password)
	}
	psync := byName([]byte("PSYNC"))
	switch {
	case u == nil:
		return errNoAuth
	case !u.mayRun(psync):
		return errNoCommand(psync)
	}
	return ""
}

// mayRun reports whether some selector allows a command, whatever its arguments.
func (u *user) mayRun(cmd *Command) bool {
	return slices.ContainsFunc(u.selectors, func(s *selector) bool { return s.allCommands || s.commands.has(cmd.row) })
}

// Trust makes s a session of the program that runs the node: it may do everything without
// a password.
func (s *Session) Trust() { s.user, s.authenticated = superuser, true }

// newUser is a user as it is created: off, and allowed nothing.
func (r *aclRules) newUser(name string) *user {
	return &user{name: name, flags: userOff, selectors: []*selector{r.newSelector()}, restricted: true}
}

// newSelector allows nothing, but for channels if that is the default.
func (r *aclRules) newSelector() *selector { return &selector{allChannels: r.openChannels} }

// clone is a copy of u that can be changed without it.
func (u *user) clone() *user {
	c := *u
	c.passwords = slices.Clone(u.passwords)
	c.selectors = make([]*selector, len(u.selectors))
	for i, s := range u.selectors {
		c.selectors[i] = s.clone()
	}
	return &c
}

// become gives u the rules of another user.
func (u *user) become(other *user) {
	name := u.name
	*u = *other
	u.name = name
	u.restricted = !slices.ContainsFunc(u.selectors, func(s *selector) bool {
		return s.allKeys && s.allChannels && s.allCommands
	})
}

func (s *selector) clone() *selector {
	c := *s
	c.patterns, c.channels = slices.Clone(s.patterns), slices.Clone(s.channels)
	c.firstArgs = slices.Clone(s.firstArgs)
	for i := range c.firstArgs {
		c.firstArgs[i].args = slices.Clone(s.firstArgs[i].args)
	}
	return &c
}

// setOnlyPassword makes password the only one; "" is that none is needed.
// Source: ACLUpdateDefaultUserPassword of Redis 7.0.
func (u *user) setOnlyPassword(password string) {
	u.flags |= userNoPass
	u.passwords = nil
	if password != "" {
		u.flags &^= userNoPass
		u.passwords = []string{hashPassword(password)}
	}
}
