package engine

import (
	"slices"
	"strings"

	"minikv/internal/resp"
)

// ACL, https://redis.io/docs/latest/commands/acl/: what clients ask. There is
// one user, the default one, who may do everything.

var aclCommands = []Command{
	{Name: "CAT", Arity: -2, Flags: NoScript | Loading | Stale, Groups: "slow", Run: runACLCat},
	{Name: "GENPASS", Arity: -2, Flags: NoScript | Loading | Stale, Groups: "slow", Run: runACLGenPass},
	{Name: "USERS", Arity: 2, Flags: Admin | NoScript | Loading | Stale,
		Groups: "admin slow dangerous", Run: runACLUsers},
	{Name: "WHOAMI", Arity: 2, Flags: NoScript | Loading | Stale, Groups: "slow", Run: runACLWhoAmI},
}

// aclCategories are those of 7.0.15 in its order.
var aclCategories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// runACLWhoAmI is ACL WHOAMI.
func runACLWhoAmI(*Call) resp.Value { return resp.Str("default") }

// runACLUsers is ACL USERS.
func runACLUsers(*Call) resp.Value { return resp.List(resp.Str("default")) }

// runACLCat is ACL CAT [category].
func runACLCat(c *Call) resp.Value {
	switch {
	case len(c.Args) == 2:
		return listReply(aclCategories)
	case len(c.Args) > 3:
		return resp.Err(errSubSyntax("ACL", c.Args[1]))
	}
	category := strings.ToLower(string(c.Args[2]))
	if !slices.Contains(aclCategories, category) {
		return resp.Err(oneLine([]byte("ERR Unknown category '" + string(c.Args[2]) + "'")))
	}
	var names []string
	for _, cmd := range c.Node.commands() {
		if len(cmd.Sub) == 0 && cmd.inGroup(category) {
			names = append(names, cmd.full)
		}
		for j := range cmd.Sub {
			if cmd.Sub[j].inGroup(category) {
				names = append(names, cmd.Sub[j].full)
			}
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
