package cluster

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"minikv/server/engine"
)

// Plan says what a topology consists of. Its processes come in the order of their IDs:
// masters m1 …, replicas r1 … in their masters' order, Sentinels s1 ….
type Plan struct {
	Masters  int  // at least 1
	Replicas int  // of each master
	Only     ID   // only this master has replicas; 0: each has
	Cluster  bool // the masters share the slots; otherwise they are independent

	Sentinels       int           // they watch every master; none in a cluster
	Quorum          int           // how many of them must agree that a master is down; 0: more than half
	DownAfter       time.Duration // SENTINEL down-after-milliseconds; 0: Redis's default
	FailoverTimeout time.Duration // SENTINEL failover-timeout; 0: Redis's default
}

// maxProcesses bounds a topology, as a guard against slips of the hand.
const maxProcesses = 1000

// maxNodes bounds a cluster, in which each node keeps what it knows of each: with 200 it
// takes 400 MB, with 1,000 more than 17 GB.
const maxNodes = 300

// Check returns an error that says what is wrong with the plan; nil if nothing is.
func (p Plan) Check() error {
	switch {
	case p.Masters < 1:
		return fmt.Errorf("cluster: %d masters: expected at least 1", p.Masters)
	case p.Replicas < 0:
		return fmt.Errorf("cluster: %d replicas: expected at least 0", p.Replicas)
	case p.Only < 0 || int(p.Only) > p.Masters || p.Only > 0 && p.Cluster:
		return fmt.Errorf("cluster: replicas of master %d only: expected one of %d masters, outside of a cluster",
			p.Only, p.Masters)
	case p.Sentinels < 0:
		return fmt.Errorf("cluster: %d sentinels: expected at least 0", p.Sentinels)
	case max(p.Masters, p.Replicas, p.Sentinels) > maxProcesses || p.Size() > maxProcesses:
		return fmt.Errorf("cluster: expected at most %d processes", maxProcesses)
	case p.Cluster && p.Size() > maxNodes:
		return fmt.Errorf("cluster: %d nodes: expected at most %d, as each keeps links to all", p.Size(), maxNodes)
	case p.Cluster && p.Sentinels > 0:
		return fmt.Errorf("cluster: a cluster has no sentinels")
	case p.Quorum < 0 || p.Quorum > p.Sentinels:
		return fmt.Errorf("cluster: quorum %d: there are %d sentinels", p.Quorum, p.Sentinels)
	case p.DownAfter != 0 && p.DownAfter < time.Millisecond:
		return fmt.Errorf("cluster: down after %v: expected at least 1ms", p.DownAfter)
	}
	return nil
}

// Size returns the number of processes.
func (p Plan) Size() int { return p.Masters + p.AllReplicas() + p.Sentinels }

// AllReplicas returns the number of replicas of all masters together.
func (p Plan) AllReplicas() int {
	if p.Only > 0 {
		return p.Replicas
	}
	return p.Masters * p.Replicas
}

// Names returns the names of the processes, in the order of their IDs.
func (p Plan) Names() []string {
	names := make([]string, 0, p.Size())
	add := func(letter string, count int) {
		for i := range count {
			names = append(names, letter+strconv.Itoa(i+1))
		}
	}
	add("m", p.Masters)
	add("r", p.AllReplicas())
	add("s", p.Sentinels)
	return names
}

// IsSentinel reports whether a process is a Sentinel.
func (p Plan) IsSentinel(id ID) bool { return int(id) > p.Masters+p.AllReplicas() }

// MasterOf returns the master that a node follows at the start; of a master that is
// itself.
func (p Plan) MasterOf(id ID) ID {
	switch {
	case int(id) <= p.Masters:
		return id
	case p.Only > 0:
		return p.Only
	}
	return ID((int(id)-p.Masters-1)/p.Replicas + 1)
}

// MasterName returns what Sentinels call a master: mymaster if it is the only one, else
// mymaster1 ….
func (p Plan) MasterName(master ID) string {
	if p.Masters == 1 {
		return "mymaster"
	}
	return "mymaster" + strconv.Itoa(int(master))
}

// Build makes the processes, connected to each other. dir has their addresses. node
// returns what a node alone would be made with, parameters included. event is called with
// what each Sentinel publishes; it may be nil.
//
// If clients need a password (requirepass), replicas and Sentinels use it too, unless
// masterauth is given, and masteruser if that is given. Users are those of the nodes;
// Sentinels have only the user default.
func (p Plan) Build(
	dir Directory, node func(id ID) engine.Config, event func(sentinel ID, channel, text string),
) ([]Process, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	processes := make([]Process, p.Size())
	var sentinels []*Sentinel
	var seed uint64
	for i := range processes {
		id := ID(i + 1)
		cfg := node(id)
		if password := cfg.Parameters["requirepass"]; password != "" {
			cfg.Parameters = with(cfg.Parameters, "masterauth", password)
		}
		if i == 0 {
			seed = cfg.Random()
		}
		switch {
		case p.IsSentinel(id):
			s := NewSentinel(p.sentinel(id, dir, cfg, event))
			sentinels = append(sentinels, s)
			processes[i] = s
		case p.Cluster:
			m, err := p.clusterMember(id, dir, cfg, seed)
			if err != nil {
				return nil, err
			}
			processes[i] = m
		default:
			processes[i] = p.member(id, dir, cfg)
		}
	}
	for _, s := range sentinels {
		p.introduce(s, sentinels)
	}
	Connect(processes)
	return processes, nil
}

// member is a node outside of a cluster.
func (p Plan) member(id ID, dir Directory, cfg engine.Config) *Member {
	if master := p.MasterOf(id); master != id {
		host, port := dir.Endpoint(master)
		cfg.Parameters = with(cfg.Parameters, "replicaof", host+" "+strconv.Itoa(port))
	}
	return NewMember(MemberConfig{ID: id, Directory: dir, Node: cfg})
}

// clusterMember is a node of a cluster whose nodes know each other. All nodes
// draw their names from the same seed.
func (p Plan) clusterMember(id ID, dir Directory, cfg engine.Config, seed uint64) (*Member, error) {
	layout, err := NewLayout(dir, p.Masters, p.Replicas, sequence(seed), BusConfig{Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	cfg.Parameters = with(cfg.Parameters, "cluster-enabled", "yes")
	m := NewMember(MemberConfig{ID: id, Directory: dir, Node: cfg, Bus: layout.Bus})
	if master := p.MasterOf(id); master != id {
		m.node.StartUnsynced()
		m.Follow(dir.Endpoint(master))
	}
	return m, nil
}

// sequence is a source of numbers that depend on the seed alone.
// Source: splitmix64, Sebastiano Vigna, 2015, public domain.
func sequence(seed uint64) func() uint64 {
	return func() uint64 {
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
}

// sentinel is what a Sentinel is made of.
func (p Plan) sentinel(
	id ID, dir Directory, cfg engine.Config, event func(sentinel ID, channel, text string),
) SentinelConfig {
	quorum := p.Quorum
	if quorum == 0 {
		quorum = p.Sentinels/2 + 1
	}
	cfg.Users, cfg.ACLFile = nil, nil // of Redis nodes: a Sentinel has not their commands
	c := SentinelConfig{ID: id, Directory: dir, Node: cfg}
	for master := ID(1); int(master) <= p.Masters; master++ {
		host, port := dir.Endpoint(master)
		c.Masters = append(c.Masters, WatchedMaster{
			Name: p.MasterName(master), Host: host, Port: port, Quorum: quorum,
			User: cfg.Parameters["masteruser"], Password: cfg.Parameters["masterauth"],
			DownAfter: p.DownAfter, FailoverTimeout: p.FailoverTimeout,
		})
	}
	if event != nil {
		c.Event = func(channel, text string) { event(id, channel, text) }
	}
	return c
}

// introduce tells a Sentinel of the replicas and of the other Sentinels, as the
// lines known-replica and known-sentinel of its configuration file would.
func (p Plan) introduce(s *Sentinel, all []*Sentinel) {
	dir := s.cfg.Directory
	for i, m := range s.masters {
		for id := ID(1); int(id) <= len(dir); id++ {
			if !p.IsSentinel(id) && int(id) > p.Masters && p.MasterOf(id) == ID(i+1) {
				host, port := dir.Endpoint(id)
				_, _ = s.newInstance(instReplica, "", address{host, port}, m)
			}
		}
		for _, other := range all {
			if other != s {
				if known, bad := s.newInstance(instSentinel, other.id, other.own(), m); bad == "" {
					known.runID = other.id
				}
			}
		}
	}
	s.flush()
}

// with is parameters and one more.
func with(parameters map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	maps.Copy(all, parameters)
	return all
}
