package main

import (
	"errors"
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
	{name: "replicas", takes: "N", help: "one master with N replicas"},
	{name: "sentinel", takes: "MxR[xS]", help: "M masters with R replicas each, and S Sentinels (default: 3)"},
	{name: "cluster", takes: "MxR", help: "a cluster of M masters with R replicas each"},
	{name: "clock", takes: "real|virtual", help: "virtual: time stands still until MINIKV CLOCK moves it"},
	{name: "control", takes: "[PORT]", alone: true,
		help: "allow the command MINIKV (see MINIKV HELP), also at PORT (default: the one after the nodes')"},
	{name: "seed", takes: "N", help: "seed of all random choices"},
	{name: "strict", takes: "[yes|no]", alone: true,
		help: "exit code 1 if clients send commands of redis-server that minikv does not have"},
	{name: "trace", takes: "FILE", help: "write what happens to FILE, for minikv trace FILE"},
	{name: "tls", takes: "DIR",
		help: "speak TLS alone, with DIR's ca.crt, redis.crt and redis.key; they are made if there are none"},
	{name: "ready-file", takes: "FILE", help: "written when clients can connect: says where, as JSON; removed at the end"},
	{name: "exit-with-stdin", takes: "[yes|no]", alone: true,
		help: "end when standard input ends, so that no orphan is left"},
}

// order is one of minikv's own directives as it was given.
type order struct{ name, value string }

func (o order) String() string { return "--" + o.name + " " + o.value }

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

	virtual     bool
	control     bool
	controlPort int    // 0: the one after the nodes', or a free one
	seed        uint64 // 0: none
	strict      bool
	traceFile   string // absolute, or ""
}

// directed reports whether tests are to have something in their hand that a
// mere server has not.
func (o *options) directed() bool {
	return o.several || o.virtual || o.control || o.seed != 0 || o.strict || o.traceFile != ""
}

// options reads the values. An error says what was expected.
func (conf *config) options() (opts options, err error) {
	opts.plan.Masters = 1
	var topology, encrypted *order
	for i := range conf.own {
		o := &conf.own[i]
		if o.name == "nodes" || o.name == "replicas" || o.name == "sentinel" || o.name == "cluster" {
			if topology != nil {
				return opts, fmt.Errorf("%s and %s: expected only one of them", topology, o)
			}
			topology = o
			opts.several = true
			opts.plan, err = o.plan()
		} else if o.name == "tls" {
			encrypted = o // the last one counts
		} else {
			err = opts.set(o)
		}
		if err != nil {
			return opts, fmt.Errorf("%s: %s", o, strings.TrimPrefix(err.Error(), "cluster: "))
		}
	}
	if encrypted != nil {
		if err := conf.speakTLS(encrypted.value); err != nil {
			return opts, fmt.Errorf("%s: %w", encrypted, err)
		}
	}
	opts.freePort = opts.readyFile != "" && conf.get("unixsocket") == ""
	return opts, conf.checkRoom(&opts)
}

// set takes over one of minikv's own directives that is no topology.
func (o *options) set(given *order) (err error) {
	value := given.value
	switch given.name {
	case "ready-file":
		o.readyFile, err = filepath.Abs(value)
	case "trace":
		o.traceFile, err = filepath.Abs(value)
	case "exit-with-stdin":
		o.exitWithStdin, err = yesNo(value)
	case "strict":
		o.strict, err = yesNo(value)
	case "clock":
		o.virtual = strings.EqualFold(value, "virtual")
		if !o.virtual && !strings.EqualFold(value, "real") {
			err = errors.New("expected real or virtual")
		}
	case "control":
		o.controlPort, err = strconv.Atoi(value)
		o.control = true
		if err != nil {
			o.controlPort = 0
			o.control, err = yesNo(value)
		}
		if err != nil || o.controlPort < 0 || o.controlPort > maxPort {
			err = errors.New("expected a port, yes or no")
		}
	case "seed":
		if o.seed, err = strconv.ParseUint(value, 10, 64); err != nil || o.seed == 0 {
			err = errors.New("expected a number from 1")
		}
	}
	return err
}

// checkRoom sees that the nodes find room.
func (conf *config) checkRoom(opts *options) error {
	ports := opts.plan.Size()
	if opts.control && opts.controlPort == 0 {
		ports++
	}
	_, port := conf.port()
	if port != 0 && port+ports-1 > maxPort {
		return fmt.Errorf("%s: needs %d ports from %d on, but ports end at %d", conf.own[0], ports, port, maxPort)
	}
	if conf.get("port") != "0" && conf.get("tls-port") != "0" && opts.directed() {
		return fmt.Errorf("%s: together with tls-port %s expected --port 0: each node has one port",
			conf.own[0], conf.get("tls-port"))
	}
	if path := conf.get("unixsocket"); path != "" && opts.directed() {
		return fmt.Errorf("%s: not possible together with unixsocket %s", conf.own[0], path)
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
	return false, errors.New("expected yes or no")
}
