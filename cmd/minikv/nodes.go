package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/server"
	"minikv/topology"
)

// startTopology runs several nodes, or one that tests have in their hand.
func startTopology(conf *config, opts options, logs *logger) (*backend, error) {
	base := nodeConfig(conf, nil, logs)
	port := base.Port
	base.Port = 0
	addresses := strings.Fields(conf.get("bind"))
	if len(addresses) == 0 || port == 0 && !opts.several && !opts.freePort {
		return nil, errNowhere
	}
	_, host := bindAddress(strings.TrimPrefix(addresses[0], "-"))
	cfg := topology.Config{
		Plan: opts.plan, Host: host, Port: port, Node: base, Virtual: opts.virtual, Seed: opts.seed,
		Log:     func(name string, level int, text string) { logs.log(level, name+": "+text) },
		Control: func(*topology.Node, []string) resp.Value { return resp.Err(errUncontrolled) },
	}
	var file *os.File
	if opts.traceFile != "" {
		var err error
		if file, err = os.Create(opts.traceFile); err != nil {
			return nil, fmt.Errorf("trace %s: %w", opts.traceFile, unwrapPath(err))
		}
		cfg.Told = recordIn(file, logs)
	}
	strict := &strictness{logs: logs}
	if opts.strict {
		cfg.Unsupported = strict.note
	}
	hand := newControl()
	if opts.control {
		cfg.Remember, cfg.Trace = true, traceKept
		cfg.Control = func(_ *topology.Node, args []string) resp.Value { return hand.answer(args) }
	}
	nodes, err := topology.Start(cfg)
	if err != nil {
		return nil, listenError(err)
	}
	b := &backend{done: nodes.Done(), verdict: strict.verdict}
	b.places.Password = conf.get("requirepass")
	b.find(nodes, opts.plan)
	hand.begin(nodes)
	var reception *server.Server // of those who control
	b.end = func() {
		if reception != nil {
			reception.Close()
		}
		nodes.Close()
		if file != nil {
			_ = file.Close()
		}
	}
	if opts.control {
		at := opts.controlPort
		if at == 0 && port != 0 {
			at = port + opts.plan.Size()
		}
		reception, b.places.Control, err = hand.serve(conf, host, at, logs)
		if err != nil {
			b.end()
			return nil, err
		}
		b.story = append(b.story, "MINIKV is answered at "+b.places.Control+" and by every node")
	}
	return b, nil
}

// find notes where the nodes are.
func (b *backend) find(nodes *topology.Topology, plan cluster.Plan) {
	for i, n := range nodes.Nodes() {
		b.story = append(b.story, n.Name()+" listens at "+n.Address())
		if plan.IsSentinel(cluster.ID(i + 1)) {
			b.places.Sentinels = append(b.places.Sentinels, n.Address())
		} else {
			b.places.Nodes = append(b.places.Nodes, n.Address())
		}
	}
	for i := range plan.Masters {
		if plan.Sentinels > 0 {
			b.places.Masters = append(b.places.Masters, plan.MasterName(cluster.ID(i+1)))
		}
	}
}

// recordIn writes events to the file, each as a line of JSON.
func recordIn(file *os.File, logs *logger) func(topology.Event) {
	failed := false
	return func(e topology.Event) {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = file.Write(append(line, '\n'))
		}
		if err != nil && !failed {
			failed = true
			logs.log(server.LevelWarning, "The trace is not complete: event "+strconv.FormatUint(e.Number, 10)+": "+err.Error())
		}
	}
}
