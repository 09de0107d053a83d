package engine

import "strings"

// commandGroups is a set of ACL categories.
type commandGroups uint32

// aclCategories are those of 7.0.15 in its order.
var aclCategories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// aclCommand is a command or subcommand as rules name it.
type aclCommand struct {
	name   string // in full, lower case
	row    int
	groups commandGroups
	isSub  bool
	subs   []*aclCommand
}

// aclAbsent are the commands of redis-server that a node has not and rules may
// name all the same, so that categories have the same commands.
var aclAbsent = []Command{
	{Name: "SCRIPT", Sub: []Command{{Name: "DEBUG", Groups: "slow scripting"}}},
}

// aclTable is the commands of nodes that serve keys.
var aclTable []*aclCommand

// aclCommands are the commands that rules on this node may name.
func (n *Node) aclCommands() []*aclCommand {
	if n.cfg.Mode != nil {
		return n.cfg.Mode.acl
	}
	return aclTable
}

// addACLCommands adds rows to list, where subcommands may be added to a
// container that is there.
func addACLCommands(list []*aclCommand, rows []Command) []*aclCommand {
	for i := range rows {
		row := &rows[i]
		var cmd *aclCommand
		for _, have := range list {
			if have.name == row.full {
				cmd = have
			}
		}
		if cmd == nil {
			cmd = &aclCommand{name: row.full, row: row.row, groups: row.groups}
			list = append(list, cmd)
		}
		for j := range row.Sub {
			sub := &row.Sub[j]
			cmd.subs = append(cmd.subs,
				&aclCommand{name: sub.full, row: sub.row, groups: sub.groups, isSub: true})
		}
	}
	return list
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
func (r *aclRules) find(name string) *aclCommand {
	name = lowered(name)
	for _, cmd := range r.commands {
		if cmd.name == name {
			return cmd
		}
		for _, sub := range cmd.subs {
			if sub.name == name {
				return sub
			}
		}
	}
	return nil
}
