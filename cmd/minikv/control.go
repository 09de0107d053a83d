package main

import (
	"errors"
	"fmt"
	"strings"

	"minikv/internal/resp"
	"minikv/topology"
)

// control answers the command MINIKV, by which clients hold the clock, the
// network and the nodes in their hand.
type control struct {
	started  chan struct{} // closed when topology is set
	topology *topology.Topology
}

func newControl() *control { return &control{started: make(chan struct{})} }

// begin gives control what it controls.
func (c *control) begin(t *topology.Topology) {
	c.topology = t
	close(c.started)
}

// verb is what MINIKV can do.
type verb struct {
	words string // its name, one or two words in upper case
	args  string // what follows, for people
	least int    // how many arguments follow
	most  int    // likewise; -1: any number
	help  []string
	run   func(t *topology.Topology, args []string) (resp.Value, error)
}

// errUncontrolled is the reply to MINIKV without --control.
const errUncontrolled = "ERR MINIKV is refused: start minikv with --control"

// answer runs one command, args[0] being MINIKV.
func (c *control) answer(args []string) resp.Value {
	<-c.started
	args = args[1:]
	if len(args) == 0 {
		return fail("wrong number of arguments for 'minikv' command")
	}
	if len(args) == 1 && strings.EqualFold(args[0], "HELP") {
		return shownLines(helpLines())
	}
	v, rest, known := findVerb(args)
	switch {
	case v == nil && known:
		return fail("unknown subcommand or wrong number of arguments for '" + args[0] + "'. Try MINIKV HELP.")
	case v == nil:
		return fail("unknown subcommand '" + args[0] + "'. Try MINIKV HELP.")
	case len(rest) < v.least || v.most >= 0 && len(rest) > v.most:
		return fail("wrong number of arguments: expected MINIKV " + v.usage())
	}
	reply, err := v.run(c.topology, rest)
	if errors.Is(err, errSyntax) {
		return fail(err.Error() + ": expected MINIKV " + v.usage())
	}
	if err != nil {
		return fail(strings.TrimPrefix(err.Error(), "topology: "))
	}
	return reply
}

func fail(text string) resp.Value { return resp.Err(oneLine("ERR " + text)) }

// oneLine is what an error reply can be.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
}

// findVerb finds the verb whose words the arguments begin with; known reports
// whether the first word alone begins one.
func findVerb(args []string) (v *verb, rest []string, known bool) {
	for i := range verbs {
		first, second, two := strings.Cut(verbs[i].words, " ")
		if !strings.EqualFold(first, args[0]) {
			continue
		}
		known = true
		if !two {
			return &verbs[i], args[1:], true
		}
		if len(args) > 1 && strings.EqualFold(second, args[1]) {
			return &verbs[i], args[2:], true
		}
	}
	return nil, nil, known
}

func (v *verb) usage() string { return strings.TrimSpace(v.words + " " + v.args) }

// helpLines is MINIKV HELP, in the form of redis-server's.
func helpLines() []string {
	lines := []string{"MINIKV <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for i := range verbs {
		lines = append(lines, verbs[i].usage())
		for _, line := range verbs[i].help {
			lines = append(lines, "    "+line)
		}
	}
	return append(lines, "HELP", "    Prints this help.")
}

// done is the reply of what has nothing to tell.
var done = resp.Simple("OK")

func okay(err error) (resp.Value, error) { return done, err }

// node finds a node by its name or address.
func node(t *topology.Topology, name string) (*topology.Node, error) {
	if n := t.Node(strings.ToLower(name)); n != nil {
		return n, nil
	}
	nodes := t.Nodes()
	first, last := nodes[0].Name(), nodes[len(nodes)-1].Name()
	if first == last {
		return nil, fmt.Errorf("unknown node %q: the only one is %s", name, first)
	}
	return nil, fmt.Errorf("unknown node %q: the nodes are %s to %s", name, first, last)
}

// onNode makes a verb of what is done to the node that its first argument names.
func onNode(
	do func(n *topology.Node, args []string) error,
) func(t *topology.Topology, args []string) (resp.Value, error) {
	return func(t *topology.Topology, args []string) (resp.Value, error) {
		n, err := node(t, args[0])
		if err != nil {
			return resp.Value{}, err
		}
		return okay(do(n, args[1:]))
	}
}

// errSyntax is the error of arguments that are not as the verb's usage says, which is added to it.
var errSyntax = errors.New("syntax error")
