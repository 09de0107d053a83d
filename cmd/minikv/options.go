package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"minikv/cluster"
)

// directive is a line of configuration that minikv has and redis.conf has not.
type directive struct {
	name  string
	takes string // what follows it, for people
	alone bool   // nothing need follow it, which is yes
	help  string
}

// ownDirectives are minikv's own, in the order of the help.
var ownDirectives = []directive{
	{name: "nodes", takes: "N", help: "N independent masters"},
	{name: "replicas", takes: "N", help: "a master with N replicas"},
	{name: "sentinel", takes: "MxR", help: "M masters with R replicas each, and three Sentinels"},
	{name: "cluster", takes: "MxR", help: "a cluster of M masters with R replicas each"},
	{name: "ready-file", takes: "FILE", help: "written when clients can connect: where, as JSON; removed at the end"},
	{name: "exit-with-stdin", takes: "[yes|no]", alone: true, help: "end when standard input does: no orphans"},
}

// order is one of minikv's own directives as it was given.
type order struct{ name, value string }

func (o order) String() string { return "--" + o.name + " " + o.value }

// usageError is a command line that asks for what cannot be.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func findDirective(name string) *directive {
	for i := range ownDirectives {
		if ownDirectives[i].name == name {
			return &ownDirectives[i]
		}
	}
	return nil
}

// setOwn notes one of minikv's own directives; its value is looked at by options.
func (conf *config) setOwn(d *directive, values []string) (reason string) {
	if len(values) == 0 && d.alone {
		values = []string{"yes"}
	}
	if len(values) != 1 {
		return "wrong number of arguments: expected " + d.name + " " + d.takes
	}
	conf.own = append(conf.own, order{d.name, values[0]})
	return ""
}

// options are what minikv's own directives amount to.
type options struct {
	plan          cluster.Plan // of one node if none was ordered
	several       bool
	readyFile     string // absolute, or ""
	exitWithStdin bool
	freePort      bool // port 0 is a free one: there is somebody to tell
}

// options reads the values. An error says what was expected.
func (conf *config) options() (opts options, err error) {
	opts.plan.Masters = 1
	var topology *order
	for i := range conf.own {
		o := &conf.own[i]
		switch o.name {
		case "ready-file":
			opts.readyFile, err = filepath.Abs(o.value)
		case "exit-with-stdin":
			opts.exitWithStdin, err = yesNo(o.value)
		default:
			if topology != nil {
				return opts, &usageError{fmt.Sprintf("%s and %s: expected one topology", topology, o)}
			}
			topology = o
			opts.several = true
			opts.plan, err = o.plan()
		}
		if err != nil {
			return opts, &usageError{fmt.Sprintf("%s: %s", o, strings.TrimPrefix(err.Error(), "cluster: "))}
		}
	}
	opts.freePort = opts.readyFile != "" && conf.get("unixsocket") == ""
	if opts.several {
		err = conf.checkSeveral(topology, opts.plan)
	}
	return opts, err
}

// checkSeveral sees that several nodes find room.
func (conf *config) checkSeveral(o *order, plan cluster.Plan) error {
	if port, _ := strconv.Atoi(conf.get("port")); port != 0 && port+plan.Size()-1 > maxPort {
		return &usageError{fmt.Sprintf("%s: %d nodes from port %d on: ports end at %d", o, plan.Size(), port, maxPort)}
	}
	if path := conf.get("unixsocket"); path != "" {
		return &usageError{fmt.Sprintf("%s: several nodes cannot share the unixsocket %s", o, path)}
	}
	return nil
}

const maxPort = 65535

func yesNo(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, fmt.Errorf("expected yes or no")
}
