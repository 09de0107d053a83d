package stories

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/sim"
	"minikv/trace"
)

// run tells the story, from its beginning to its end.
func (w *world) run() {
	began := w.begin()
	var steps []sim.Step
	for _, s := range w.story.Steps {
		steps = append(steps, s)
		length := option(s, "for")
		switch {
		case length == "":
		case s.Verb == "crash":
			back := s
			back.Verb, back.At = comesBack, s.At+w.length(length)
			steps = append(steps, back)
		case s.Verb == "move":
			for _, end := range [][2]string{{"keys", cmp.Or(option(s, "keys"), length)}, {"close", length}} {
				more := s
				more.At, more.Opts = s.At+w.length(end[1]), []sim.Option{{Name: "step", Value: end[0]}}
				steps = append(steps, more)
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b sim.Step) int { return cmp.Compare(a.At, b.At) })
	if !slices.ContainsFunc(steps, func(s sim.Step) bool { return s.Verb == "start" }) {
		for _, p := range w.clients {
			p.tell("start")
		}
	}
	for _, s := range steps {
		time.Sleep(time.Until(began.Add(s.At)))
		require.NoError(w.t, w.do(s), "at %v %s %v", s.At, s.Verb, s.Args)
	}
	time.Sleep(time.Until(began.Add(w.story.For)))
	for _, p := range w.clients {
		p.kill()
	}
}

func (w *world) length(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(w.t, err)
	return d
}

// begin has the story begin now. If what is on disk counts, that is with a second of the clock,
// in which each server has synced already: what follows in it is not on disk before the next.
func (w *world) begin() time.Time {
	if w.story.World.EverySec {
		second := time.Now().Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(second))
	}
	began := w.referee.begins()
	w.provide()
	if w.story.World.EverySec {
		for _, n := range w.nodes {
			if n.master == n.name {
				_, err := n.do("SET", "synced", "with the beginning")
				require.NoError(w.t, err)
			}
		}
	}
	return began
}

// comesBack is the verb of a step that no story has: the end of a crash.
const comesBack = "comes back"

// option is the value of a step's option, "" if it has none of that name.
func option(s sim.Step, name string) string {
	for _, o := range s.Opts {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// do does one step.
func (w *world) do(s sim.Step) error {
	switch s.Verb {
	case "start":
		for name, p := range w.clients {
			if s.Args[0] == name || s.Args[0] == "all" {
				p.tell("start")
			}
		}
	case "pause":
		return w.pause(s.Args[0], option(s, "for"))
	case "crash":
		w.crash(s.Args[0])
	case "restart", comesBack:
		return w.again(w.nodes[s.Args[0]], s)
	case "promote":
		return w.promote(w.nodes[s.Args[0]])
	case "hold":
		return w.hold(w.nodes[s.Args[0]])
	case "release":
		return w.mend(s.Args[0])
	case "partition":
		return w.partition(strings.Split(s.Args[0], ","), strings.Split(s.Args[1], ","))
	case "failover":
		return w.failover(s)
	case "drop", "delay":
		return w.strike(s)
	case "heal":
		return w.mend("")
	case "calm":
		for _, n := range w.nodes {
			_ = redisserver.Resume(n.process.Pid)
		}
		return w.mend("")
	case "move":
		return w.move(s)
	case "run":
		var words []any
		for _, word := range s.Args[1:] {
			words = append(words, word)
		}
		_, err := w.nodes[s.Args[0]].do(words...)
		return err
	case "evict":
		return w.nodes[s.Args[0]].evict(option(s, "key"))
	case "clock":
		return w.clock(s)
	case "audit": // for the checks that look into servers, which are left out
	default:
		return errors.New("nobody knows how to do that to real processes")
	}
	return nil
}

// evict removes a key, counted as sim does. Replicas are told what they would be if the server
// had done it to make room.
func (n *node) evict(key string) error {
	keys, err := n.do("KEYS", "*")
	if err != nil {
		return err
	}
	var names []string
	for _, name := range keys.([]any) {
		names = append(names, name.(string))
	}
	at, err := strconv.Atoi(key)
	if err != nil || len(names) == 0 {
		return err
	}
	slices.Sort(names)
	_, err = n.do("DEL", names[(at-1)%len(names)])
	return err
}

// pause has a process stand still for a while. A shell ends that, whatever becomes of this
// process.
func (w *world) pause(name, length string) error {
	d, err := time.ParseDuration(length)
	if err != nil {
		return err
	}
	var pid int
	client := w.clients[name]
	if client != nil {
		pid = client.pid
	} else {
		pid = w.nodes[name].process.Pid
	}
	w.referee.note(time.Now(), trace.Event{Kind: trace.Pause, Actor: w.referee.actor("nemesis"),
		Peer: w.referee.actor(name), A: int64(d)})
	script := fmt.Sprintf("kill -STOP %d; sleep %f; kill -CONT %d", pid, d.Seconds(), pid)
	cmd := exec.Command("sh", "-c", script)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait()
		w.referee.note(time.Now(), trace.Event{Kind: trace.Resume, Actor: w.referee.actor(name)})
	}()
	return nil
}

// crash kills a process.
func (w *world) crash(name string) {
	p := w.clients[name]
	if p == nil {
		w.stop(w.nodes[name])
		return
	}
	now := time.Now() // before the server is asked: the TTL ends no later than the referee thinks
	w.referee.note(now, trace.Event{Kind: trace.Crash, Actor: w.referee.actor("nemesis"), Peer: w.referee.actor(name),
		A: int64(w.leaseLeft())})
	p.kill()
}

// leaseLeft is the TTL of the lock, where there is one server.
func (w *world) leaseLeft() time.Duration {
	if len(w.nodes) > 1 {
		return 0
	}
	ttl, err := w.nodes["m1"].do("PTTL", "lock:1")
	if left, ok := ttl.(int64); err == nil && ok && left > 0 {
		return time.Duration(left) * time.Millisecond
	}
	return 0
}

// stop kills a server. Nobody can connect to it after that.
func (w *world) stop(n *node) {
	for between, l := range w.links {
		if between[1] == n.name {
			l.refuse()
		}
	}
	n.process.End()
}

// again starts a server anew, with as much of its data as a step says.
func (w *world) again(n *node, s sim.Step) error {
	w.stop(n)
	if losesPower(&w.story.World, s) {
		if err := n.machine.losePower(n.folder); err != nil {
			return err
		}
	}
	if option(s, "data") == "lose" {
		n.folder = w.t.TempDir()
	}
	w.start(n)
	for between, l := range w.links {
		if between[1] == n.name {
			require.NoError(w.t, l.open())
		}
	}
	return nil
}

// hold holds back what a replica's master sends it from now on.
func (w *world) hold(n *node) error {
	if w.governed() {
		return w.cut(w.leader(n), n.name)
	}
	w.links[[2]string{n.name, w.leader(n)}].hold()
	return nil
}

// failover has a replica take over from its master, which crashes, after a while.
func (w *world) failover(s sim.Step) error {
	n := w.nodes[s.Args[0]]
	outage, err := time.ParseDuration(option(s, "outage"))
	if err != nil {
		return err
	}
	w.stop(w.nodes[w.leader(n)])
	time.Sleep(outage)
	return w.promote(n)
}

// strike has the next messages on a link get lost, or be late.
func (w *world) strike(s sim.Step) error {
	r := &rule{what: option(s, "what"), lost: s.Verb == "drop"}
	l := w.links[[2]string{s.Args[0], s.Args[1]}]
	if l == nil {
		r.direction, l = back, w.links[[2]string{s.Args[1], s.Args[0]}]
	}
	var err error
	if r.next, err = strconv.Atoi(option(s, "next")); err != nil {
		return err
	}
	if after := option(s, "after"); after != "" {
		if r.after, err = strconv.Atoi(after); err != nil {
			return err
		}
	}
	if by := option(s, "by"); by != "" {
		if r.late, err = time.ParseDuration(by); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = append(l.rules, r)
	return nil
}

// promote makes a replica master. The other replicas are told of it, and clients, as soon
// as they are not cut off from it.
func (w *world) promote(n *node) error {
	if _, err := n.do("REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	before := w.leader(n)
	w.leaders[n.master] = n.name
	w.links[[2]string{n.name, before}].end()
	for _, other := range w.nodes {
		if other == n || other.master != n.master || other.name == before {
			continue
		}
		l := w.addLink(other.name, n.name, sim.Range{}, w.story.World.Lag)
		host, port, err := net.SplitHostPort(l.address)
		if err == nil {
			_, err = other.do("REPLICAOF", host, port)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			w.t.Logf("%s does not follow: %v", other.name, err)
		}
	}
	for name := range w.clients {
		l := w.links[[2]string{name, n.name}]
		if l == nil || !l.isCut(back) {
			w.follow(name, before, n)
			continue
		}
		go func() {
			l.passes(back)
			w.follow(name, before, n)
		}()
	}
	return nil
}

// follow has a client take another node for the master than before.
func (w *world) follow(client, before string, n *node) {
	if w.story.World.Load.Redisson {
		w.links[[2]string{client, front(n.master)}].turn(w.links[[2]string{client, n.name}].address)
		return
	}
	w.clients[client].tell("follow", before, n.name)
}

// partition cuts whatever goes between two sides.
func (w *world) partition(some, others []string) (err error) {
	for _, a := range some {
		for _, b := range others {
			err = errors.Join(err, w.cut(a, b), w.cut(b, a))
		}
	}
	return err
}

// cut cuts what goes from one to another.
func (w *world) cut(from, to string) error {
	if w.governed() {
		return w.places.cut(from, to)
	}
	if l := w.links[[2]string{from, to}]; l != nil {
		l.setCut(there)
	}
	if l := w.links[[2]string{to, from}]; l != nil {
		l.setCut(back)
	}
	return nil
}

// mend mends the link of a replica to its master, or with "" all. In a governed world
// it mends all that was cut.
func (w *world) mend(replica string) error {
	if w.governed() {
		return w.places.mend()
	}
	for between, l := range w.links {
		if replica == "" || between == [2]string{replica, w.leader(w.nodes[replica])} {
			l.mend()
		}
	}
	return nil
}
