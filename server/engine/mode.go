package engine

import (
	"fmt"
	"strings"

	"minikv/internal/resp"
)

// Mode makes a node speak its protocol without serving keys: it has some of the usual
// commands, and some of its own. A Sentinel is such a node. Modes belong to the process:
// make them once, while it starts.
type Mode struct {
	name string // as INFO and HELLO show it
	rows []Command
	find map[string]*Command
}

// NewMode makes a mode that has the commands named in keep, as they are in the usual
// table, and own ones. A node asks its Config.Handlers first for each of them, so a row
// of own need not have a Run. It panics if keep names an unknown command.
func NewMode(name string, keep []string, own []Command) *Mode {
	m := &Mode{name: name, find: make(map[string]*Command)}
	for _, kept := range keep {
		cmd := byName([]byte(kept))
		if cmd == nil {
			panic(fmt.Sprintf("engine: mode %s keeps %q, which is no command", name, kept))
		}
		m.rows = append(m.rows, cmd.handled())
	}
	for i := range own {
		prepare(&own[i], "")
		m.rows = append(m.rows, own[i].handled())
	}
	for i := range m.rows {
		m.find[m.rows[i].Name] = &m.rows[i]
	}
	return m
}

// handled is cmd, answered by the node's handlers first.
func (cmd *Command) handled() Command {
	row := *cmd
	if row.Run != nil || row.Sub == nil {
		row.Run, row.Fill = orAlone(row.Run), nil
	}
	row.Sub = nil
	for i := range cmd.Sub {
		row.Sub = append(row.Sub, cmd.Sub[i].handled())
	}
	return row
}

// commands is the command table of the node.
func (n *Node) commands() []Command {
	if n.cfg.Mode != nil {
		return n.cfg.Mode.rows
	}
	return table
}

// lookup finds the command of args, or its subcommand. A nil row comes with the
// error text.
func (n *Node) lookup(args [][]byte) (cmd *Command, bad string) {
	if cmd = n.byName(args[0]); cmd == nil {
		return nil, errUnknown(args)
	}
	return cmd.resolve(args)
}

// byName finds a command of the node by its name in any case, or nil.
func (n *Node) byName(name []byte) *Command {
	if n.cfg.Mode != nil {
		return n.cfg.Mode.find[upperASCII(string(name))]
	}
	return byName(name)
}

// modeName is what INFO and HELLO call the node's mode.
func (n *Node) modeName() string {
	switch {
	case n.cfg.Mode != nil:
		return n.cfg.Mode.name
	case n.cfg.Topology != nil:
		return "cluster"
	}
	return "standalone"
}

// InfoSection is one section of INFO, for a handler whose sections are not those of a
// node. With a nil Text it is the node's own section of that name.
type InfoSection struct {
	Name string
	Text func() string // its lines, each ended by CR LF
}

// Info answers INFO [section ...] for a mode whose sections are shown; by default it
// shows all of them. In RESP3 too the reply is a bulk string, where that of a node is a
// verbatim one. Source: sentinelInfoCommand of Redis 7.0.
func (c *Call) Info(shown []InfoSection) resp.Value {
	text := &strings.Builder{}
	for _, one := range shown {
		s := section{name: one.Name, byDefault: true}
		if one.Text != nil {
			s.write = func(_ *Node, t *strings.Builder) { t.WriteString(one.Text()) }
		}
		for i := range sections {
			if one.Text == nil && sections[i].name == one.Name {
				s.write = sections[i].write
			}
		}
		c.infoSection(text, &s)
	}
	return resp.Str(text.String())
}
