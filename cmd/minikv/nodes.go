package main

import (
	"strings"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/topology"
)

// startTopology runs several nodes, or one that tests have in their hand.
func startTopology(conf *config, opts options, logs *logger) (*backend, error) {
	cfg, err := topologyConfig(conf, opts, logs)
	if err != nil {
		return nil, err
	}
	record := &recorder{logs: logs}
	if opts.traceFile != "" {
		cfg.Told = record.note
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
	hand.begin(nodes)
	b := &backend{done: nodes.Done(), verdict: strict.verdict, incomplete: record.incomplete, end: func() {
		nodes.Close()
		record.end()
	}}
	if opts.traceFile != "" {
		if err := record.begin(opts.traceFile); err != nil {
			b.end()
			return nil, err
		}
	}
	b.places.Password = conf.get("requirepass")
	b.secure(conf)
	b.find(nodes, opts.plan)
	if opts.control {
		if err := b.receive(hand, conf, cfg, opts.controlPort, logs); err != nil {
			b.end()
			return nil, err
		}
	}
	return b, nil
}

// topologyConfig is the part of the configuration that is about nodes.
func topologyConfig(conf *config, opts options, logs *logger) (topology.Config, error) {
	encryption, err := conf.encryption(logs)
	if err != nil {
		return topology.Config{}, err
	}
	base := nodeConfig(conf, nil, logs)
	base.Port = 0
	parameter, port := conf.port()
	if parameter == "port" {
		encryption = nil // no port speaks it
	}
	if port == 0 && !opts.several && !opts.freePort {
		return topology.Config{}, errNowhere
	}
	host, err := oneHost(strings.Fields(conf.get("bind")))
	if err != nil {
		return topology.Config{}, err
	}
	return topology.Config{
		Plan: opts.plan, Host: host, Port: port, TLS: encryption, Node: base, Virtual: opts.virtual, Seed: opts.seed,
		Grown:   true,
		Log:     func(name string, level int, text string) { logs.log(level, name+": "+text) },
		Control: func(*topology.Node, []string) resp.Value { return resp.Err(errUncontrolled) },
	}, nil
}

// receive opens the control port; without a given one it is the one after the
// nodes', or a free one if these are free ones.
func (b *backend) receive(hand *control, conf *config, cfg topology.Config, port int, logs *logger) error {
	if port == 0 && cfg.Port != 0 {
		port = cfg.Port + cfg.Plan.Size()
	}
	reception, address, err := hand.serve(conf, cfg.Host, port, logs)
	if err != nil {
		return err
	}
	b.places.Control = address
	b.story = append(b.story, "MINIKV is answered at "+address+" and by every node")
	nodesEnd := b.end
	b.end = func() {
		reception.Close()
		nodesEnd()
	}
	return nil
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
