package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"minikv/cluster"
	slots "minikv/internal/slot"
	"minikv/trace"
)

// setCluster reads cluster=MASTERSxREPLICAS.
func setCluster(w *Spec, o Option) (err error) {
	left, right, ok := strings.Cut(o.Value, "x")
	w.Cluster = true
	if w.Masters, err = number(Option{o.Name, left}, 1, 99); err == nil {
		w.Replicas, err = number(Option{o.Name, right}, 0, 9)
	}
	if !ok || err != nil {
		return fmt.Errorf("cluster=%s: expected MASTERSxREPLICAS, such as 3x1, of at most 99 and 9", o.Value)
	}
	return nil
}

// Plan returns which servers the world has.
func (w *Spec) Plan() cluster.Plan {
	p := cluster.Plan{Masters: w.Masters, Replicas: w.Replicas, Only: cluster.ID(w.Replicated), Cluster: w.Cluster}
	if !w.Cluster {
		p.Sentinels, p.Quorum, p.DownAfter, p.FailoverTimeout = w.Watched, w.Quorum, w.Silence, w.Failover
	}
	return p
}

// parameters are those of the nodes that differ from redis.conf's defaults.
func (w *Spec) parameters(string) map[string]string {
	var all map[string]string
	set := func(name string, value int64) {
		if all == nil {
			all = map[string]string{}
		}
		all[name] = strconv.FormatInt(value, 10)
	}
	if w.Cluster && w.Silence > 0 {
		set("cluster-node-timeout", int64(w.Silence/time.Millisecond))
	}
	if w.MinGood > 0 {
		set("min-replicas-to-write", int64(w.MinGood))
	}
	return all
}

// home is the node that has a key, as far as the world knows: of a cluster's
// nodes that are up and serve its slot the one that last became master.
func (g *group) home(key string) *node {
	w := g.master.w
	if !w.cfg.Plan.Cluster {
		return g.master
	}
	best := g.first
	for _, n := range g.nodes {
		if !n.down && n.serves(key) && (best.down || !best.serves(key) || n.ledSince > best.ledSince) {
			best = n
		}
	}
	return best
}

// serves reports whether the node of a cluster takes itself for the owner of a key's slot.
func (n *node) serves(key string) bool { return n.member.Topology().Slot(slots.Of([]byte(key))).Mine }

func checkMove(w *Spec, s Step) error {
	if err := s.shape(2, "step", "for", "keys"); err != nil {
		return err
	}
	if !w.Cluster {
		return fmt.Errorf("expected a cluster")
	}
	if s.opt("keys") != "" && s.opt("for") == "" || s.opt("for") != "" && s.opt("step") != "open" {
		return fmt.Errorf("expected step=open with for=, and for= with keys=")
	}
	for _, option := range []string{"for", "keys"} {
		if err := s.timed(option, false); err != nil {
			return err
		}
	}
	if s.opt("step") != "" {
		if _, err := oneOf(Option{"step", s.opt("step")}, []string{"open", "keys", "close"}); err != nil {
			return err
		}
	}
	return w.known(s.Args[1], aMaster|aReplica)
}

// applyMove moves the slot of a key to another master, or does one step of that:
// open makes the slot migrating and importing, keys moves its keys, close makes
// the other master its owner.
// Source: "Moving slots" of redis-cli --cluster reshard.
func applyMove(r *runner, s Step) {
	to := r.node(s.Args[1])
	from := to.group.home(s.Args[0])
	if from == to || from.down || to.down {
		return
	}
	if r.waitsFor(s, func() { applyMove(r, s) }) {
		return
	}
	if from.engine.Paused() || to.engine.Paused() { // a MIGRATE is under way, for which everybody waits
		r.moveLater(s)
		return
	}
	number := strconv.Itoa(slots.Of([]byte(s.Args[0])))
	step := s.opt("step")
	if step == "close" && s.opt("wait") == "on" && from.byHand("CLUSTER", "COUNTKEYSINSLOT", number).Int > 0 {
		r.moveLater(s)
		return
	}
	text := map[string]string{"": "the slot of %s moves from %s to %s",
		"open":  "the slot of %s is opened for its move from %s to %s",
		"keys":  "the keys of the slot of %s move from %s to %s",
		"close": "the slot of %s is closed after its move from %s to %s"}[step]
	cause := r.w.emit(trace.Event{Kind: trace.Command, Actor: r.w.nemesis, Peer: from.actor, Key: s.Args[0],
		Text: fmt.Sprintf(text, s.Args[0], from.name, to.name)})
	fromID, toID := from.byHand("CLUSTER", "MYID").Str, to.byHand("CLUSTER", "MYID").Str
	if s.opt("for") != "" {
		if from.member.Topology().Slot(slots.Of([]byte(s.Args[0]))).Migrating != "" {
			return // it is open already
		}
		r.goesOn(s)
	}
	if step == "" || step == "open" {
		to.byHand("CLUSTER", "SETSLOT", number, "IMPORTING", fromID)
		from.byHand("CLUSTER", "SETSLOT", number, "MIGRATING", toID)
	}
	if step == "" || step == "keys" {
		from.moveKeys(number, to)
	}
	if step == "close" {
		to.byHand("CLUSTER", "SETSLOT", number, "NODE", toID)
		from.byHand("CLUSTER", "SETSLOT", number, "NODE", toID)
	}
	to.settle(cause)
	from.settle(cause)
	if step == "" {
		s.Opts = []Option{{"step", "close"}, {"wait", "on"}}
		r.moveLater(s)
	}
}

// goesOn has the keys of a slot that is open for a while move, and closes it.
func (r *runner) goesOn(s Step) {
	end := s.length("for", 0)
	keys := s.length("keys", end)
	step := func(opts ...Option) func() {
		return func() { applyMove(r, Step{Verb: s.Verb, Args: s.Args, Opts: opts}) }
	}
	r.w.at(r.w.now+keys, step(Option{"step", "keys"}))
	r.w.at(r.w.now+end, step(Option{"step", "keys"}))
	r.w.at(r.w.now+end, step(Option{"step", "close"}, Option{"wait", "on"}))
}

// moveLater does a step of a move once servers answer, or keys have arrived.
func (r *runner) moveLater(s Step) {
	const period = 10 * time.Millisecond
	r.w.at(r.w.now+period, func() { applyMove(r, s) })
}

// moveKeys has the node send the keys of a slot to another one.
func (n *node) moveKeys(number string, to *node) {
	list := n.byHand("CLUSTER", "GETKEYSINSLOT", number, "1000").List
	if len(list) == 0 {
		return
	}
	host, port := n.w.directory.Endpoint(to.id())
	args := []string{"MIGRATE", host, strconv.Itoa(port), "", "0", "5000", "KEYS"}
	for _, key := range list {
		args = append(args, key.Str)
	}
	n.do(n.proc.NewSession("console"), args) // nobody reads the reply
}
