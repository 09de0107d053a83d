package engine

import (
	"slices"
	"strings"
)

// commandGroups is a set of ACL categories.
type commandGroups uint32

// aclCategories are those of 7.0.15 in its order.
var aclCategories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// aclAbsent is the subcommand of SCRIPT that a node has not and rules may name all the
// same, so that categories have the same commands as those of redis-server.
var aclAbsent = Command{Name: "DEBUG", Groups: "scripting"}

// aclTable is the commands that rules may name on nodes that serve keys.
var aclTable []Command

// makeACLTable makes it of the table and what is absent there.
func makeACLTable() []Command {
	rows := slices.Clone(table)
	script := &rows[tableFind["SCRIPT"]]
	prepare(&aclAbsent, script.full+"|")
	script.Sub = append(slices.Clip(script.Sub), aclAbsent)
	return rows
}

// aclCommands are the commands that rules on this node may name.
func (n *Node) aclCommands() []Command {
	if n.cfg.Mode != nil {
		return n.cfg.Mode.rows
	}
	return aclTable
}

// impliedGroups are the categories that a command is in because of its flags.
// Source: setImplicitACLCategories of Redis 7.0.
func (cmd *Command) impliedGroups() commandGroups {
	names := "slow"
	if cmd.Flags&Fast != 0 {
		names = "fast"
	}
	if cmd.Flags&ReadOnly != 0 && cmd.Groups != "scripting" {
		names += " read"
	}
	for _, one := range []struct {
		flag  Flag
		names string
	}{{Write, " write"}, {Admin, " admin dangerous"}, {PubSub, " pubsub"}, {Blocking, " blocking"}} {
		if cmd.Flags&one.flag != 0 {
			names += one.names
		}
	}
	return groupsOf(names)
}

// groupsOf are categories that are separated by blanks.
func groupsOf(names string) (groups commandGroups) {
	for name := range strings.FieldsSeq(names) {
		groups |= groupOf(name)
	}
	return groups
}

// groupOf is the category of that name in any case, or none.
func groupOf(name string) commandGroups {
	name = lowered(name)
	for i, category := range aclCategories {
		if category == name {
			return 1 << i
		}
	}
	return 0
}

// find is a command or, with '|', a subcommand by its name in any case, or nil.
func (r *aclRules) find(name string) *Command {
	name = lowered(name)
	for cmd := range eachRow(r.commands) {
		if cmd.full == name {
			return cmd
		}
	}
	return nil
}
