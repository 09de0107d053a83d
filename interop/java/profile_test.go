package java

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/luaengine"
	"minikv/sim"
	"minikv/topology"
	"minikv/trace"
)

// told is how long after one story the next begins: if all began at once, all would do
// the same at the same instants, and late.
const told = 100 * ms

// tellings is how often a story may be told, as a machine can be busy with something else.
const tellings = 3

// TestProfile tells the same stories to Redisson and to sim's model of it, on which the
// simulator's verdicts on Redisson rest: the same requests at about the same times, and
// the same outcome.
func TestProfile(t *testing.T) {
	if os.Getenv("INTEROP_JAVA") == "" {
		t.Skip("interop/run.sh builds Redisson and runs this")
	}
	built := build(t, "redisson4")
	runs := model(t)
	wrong := map[string][]string{} // by story
	untold := stories
	for try := 0; try < tellings && len(untold) > 0; try++ {
		var again []story
		for _, s := range perform(t, built, untold) {
			wrong[s.name] = s.differences(runs[s.name])
			if len(wrong[s.name]) > 0 && try == tellings-1 {
				more := s.runs(t, len(runs[s.name]), manySeeds)
				wrong[s.name] = s.differences(append(runs[s.name], more...))
			}
			if len(wrong[s.name]) > 0 {
				again = append(again, s.story)
			}
		}
		if untold = again; len(untold) > 0 {
			fmt.Println(len(untold), "stories went another way than in the model")
		}
	}
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { assert.Empty(t, strings.Join(wrong[s.name], "\n")) })
	}
}

// perform tells stories, one soon after the other, the longest first. Their clients are in
// one JVM, but for those that stand still.
func perform(t *testing.T, built redisson, stories []story) []*stage {
	together := built.launch(t)
	stages := make([]*stage, len(stories))
	for i, s := range stories {
		agent := together
		if s.standsStill() {
			agent = built.launch(t)
		}
		stages[i] = newStage(t, s, agent)
	}
	slices.SortStableFunc(stages, func(a, b *stage) int { return cmp.Compare(b.length, a.length) })
	var wg sync.WaitGroup
	for _, s := range stages {
		wg.Go(s.play)
		time.Sleep(told)
	}
	wg.Wait()
	for _, s := range stages {
		s.agent.end()
		s.topology.Close()
		for _, w := range s.wires {
			w.down()
		}
	}
	return stages
}

// stage is where a story is told to Redisson.
type stage struct {
	story
	topology *topology.Topology
	servers  []*redis.Client
	wires    []*wire // before the masters, and in a cluster before their replicas too
	agent    *client
	others   []*lockclient.Client // one for each server
	begun    time.Time
	results  []sight
}

const (
	lockKey     = "lock:1"
	lockChannel = "redisson_lock__channel:{" + lockKey + "}"
)

func newStage(t *testing.T, s story, agent *jvm) *stage {
	st := &stage{story: s}
	var addresses, direct []string
	cfg := topology.Config{Plan: cluster.Plan{Masters: 1}, Host: nodeHost, Announce: wireHost}
	switch {
	case s.kind == "redlock":
		cfg.Plan.Masters = masters
	case s.cluster:
		cfg.Plan.Masters, cfg.Plan.Cluster, cfg.Grown = masters, true, true
	}
	if s.replicated {
		cfg.Plan.Replicas = 1
	}
	top, err := topology.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(top.Close)
	st.topology = top
	for i := range cfg.Plan.Masters {
		master := st.node("m%d", i)
		w := st.addWire(t, master)
		server := redis.NewClient(&redis.Options{Addr: w.upstream})
		t.Cleanup(func() { server.Close() })
		st.servers, direct = append(st.servers, server), append(direct, w.upstream)
		through := w.address
		if s.replicated && !s.cluster {
			through += "+" + behindWire(st.node("r%d", i).Address())
		}
		addresses = append(addresses, through)
	}
	if s.cluster {
		for i := range cfg.Plan.Masters * cfg.Plan.Replicas {
			st.addWire(t, st.node("r%d", i))
		}
		st.others = []*lockclient.Client{connectCluster(t, direct)}
		addresses = []string{strings.Join(addresses, ",")}
	}
	for i := 0; !s.cluster && i < len(direct); i++ {
		st.others = append(st.others, connect(t, direct[i], false))
	}
	st.agent = agent.connect(t, addresses)
	return st
}

// addWire puts a wire before a node, where the node says it is.
func (s *stage) addWire(t *testing.T, n *topology.Node) *wire {
	w := newWire(t, n.Name(), behindWire(n.Address()), n.Address())
	if s.strange {
		w.slow = 5 * ms
	}
	s.wires = append(s.wires, w)
	return w
}

// node is one of a number that counts from 0.
func (s *stage) node(name string, i int) *topology.Node {
	return s.topology.Node(fmt.Sprintf(name, i+1))
}

// play tells the story.
func (s *stage) play() {
	for _, key := range s.warm() {
		s.ask(key, s.verb(), "-1")
	}
	time.Sleep(watchdog / 2)
	for _, key := range s.warm() {
		s.ask(key, "unlock", "")
	}
	time.Sleep(watchdog / 2) // until its last timer has found nothing to renew
	for _, w := range s.wires {
		w.forget()
	}
	if s.needed {
		for _, server := range s.servers {
			server.ConfigSet(context.Background(), "min-replicas-to-write", "1")
		}
	}
	s.begun = s.beginning()
	time.Sleep(time.Until(s.begun.Add(-ahead)))
	if s.held {
		s.other(s.hold)
	}
	var first []func() // what comes at the beginning, before the thread does anything
	for _, m := range s.mishaps {
		w, from := s.wires[m.master], s.begun.Add(m.at)
		if does := map[string]func(){
			"late":    func() { w.strike(wireFault{from: from, after: m.after, by: m.by}) },
			"lost":    func() { w.strike(wireFault{from: from, after: m.after, cut: true}) },
			"stuck":   func() { w.strike(wireFault{from: from, after: m.after, by: time.Hour}) },
			"unheard": func() { w.strike(wireFault{from: from, after: m.after, message: true}) },
		}[m.what]; does != nil {
			does()
		} else if m.at == 0 {
			first = append(first, s.event(m))
		} else {
			time.AfterFunc(time.Until(from), s.event(m))
		}
	}
	time.Sleep(time.Until(s.begun))
	for _, does := range first {
		does()
	}
	go s.tell()
	time.Sleep(time.Until(s.begun.Add(s.length)))
}

// other takes the lock for d, on one master after the other.
func (s *stage) other(d time.Duration) {
	var held []*lockclient.Held
	for i, c := range s.others {
		locks := map[string]*lockclient.Lock{
			"read": c.RW(lockKey).W(), "write": c.RW(lockKey).W(), "fair": c.Fair(lockKey), "fenced": c.Fenced(lockKey),
			"several": lockclient.Multi(c.Mutex(lockKey+".1"), c.Mutex(lockKey+".2"), c.Mutex(lockKey+".3")),
		}
		lock := cmp.Or(locks[s.kind], c.Mutex(lockKey))
		h, err := lock.Lock(context.Background(), lockclient.Lease(watchdog))
		if err != nil {
			s.result(fmt.Sprint("master ", i+1, ": ", err))
			return
		}
		held = append(held, h)
	}
	if s.left {
		return
	}
	time.AfterFunc(d, func() {
		for _, h := range held {
			_ = h.Unlock(context.Background())
		}
	})
}

// tell is what the thread does.
func (s *stage) tell() {
	verb, argument := s.verb(), "-1"
	switch {
	case s.once && s.lease > 0:
		verb, argument = "tryLock", fmt.Sprint(s.lease.Milliseconds())
	case s.once:
		verb, argument = "tryLock", ""
	case s.wait > 0 && s.lease > 0:
		verb, argument = "waitLock", fmt.Sprintf("%d,%d", s.wait.Milliseconds(), s.lease.Milliseconds())
	case s.wait > 0:
		verb, argument = "waitLock", fmt.Sprint(s.wait.Milliseconds())
	case s.lease > 0:
		argument = fmt.Sprint(s.lease.Milliseconds())
	}
	for range max(s.rounds, 1) {
		if answer := s.ask(lockKey, verb, argument); !strings.HasPrefix(answer, "ok") || answer == "ok false" {
			s.result("refused")
			continue
		}
		s.result("hold")
		inner := strings.Replace(s.kind, "write", "read", 1)
		if s.twice {
			s.askOf(inner, lockKey, verb, argument)
			s.result("hold")
			s.unlock(inner)
		}
		last := s.kind
		if s.downgrade {
			s.askOf(inner, lockKey, verb, argument)
			s.result("hold")
			s.unlock(s.kind)
			last = inner
		}
		time.Sleep(s.hold)
		s.unlock(last)
	}
}

func (s *stage) unlock(kind string) {
	s.result("release")
	outcome := "failed"
	if strings.HasPrefix(s.askOf(kind, lockKey, "unlock", ""), "ok") {
		outcome = "freed"
	}
	s.result(outcome)
}

// verb is what takes the lock however long that takes.
func (s *stage) verb() string {
	if s.kind == "fenced" {
		return "lockForToken"
	}
	return "lock"
}

func (s *stage) ask(key, verb, argument string) string { return s.askOf(s.kind, key, verb, argument) }

func (s *stage) askOf(kind, key, verb, argument string) string {
	answer, err := s.agent.ask(request{"main", kind, key, verb, argument})
	if err != nil {
		return err.Error()
	}
	return <-answer
}

func (s *stage) result(name string) {
	s.wires[0].mu.Lock()
	defer s.wires[0].mu.Unlock()
	s.results = append(s.results, sight{name, time.Now()})
}

// moment is something that happened, and how long after the beginning.
type moment struct {
	name string
	at   time.Duration
}

// observed is what Redisson did.
func (s *stage) observed() (list []moment) {
	for _, w := range s.wires {
		w.mu.Lock()
		for _, seen := range w.seen {
			list = append(list, moment{w.node + " " + seen.name, seen.at.Sub(s.begun)})
		}
		w.mu.Unlock()
	}
	s.wires[0].mu.Lock()
	defer s.wires[0].mu.Unlock()
	for _, r := range s.results {
		list = append(list, moment{r.name, r.at.Sub(s.begun)})
	}
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for len(list) > 0 && list[len(list)-1].at > s.length {
		list = list[:len(list)-1]
	}
	return list
}

// model is what the model does with the first seeds, by story and channel.
func model(t *testing.T) map[string][]map[string][]moment {
	var wg sync.WaitGroup
	var mu sync.Mutex
	model := map[string][]map[string][]moment{}
	for _, s := range stories {
		wg.Go(func() {
			runs := s.runs(t, 0, seeds)
			mu.Lock()
			defer mu.Unlock()
			model[s.name] = runs
		})
	}
	wg.Wait()
	return model
}

// runs is what the model does with the seeds after one and up to another.
func (s *story) runs(t *testing.T, after, last int) (runs []map[string][]moment) {
	lua := sim.NewLua()
	for seed := after + 1; seed <= last; seed++ {
		runs = append(runs, s.channels(s.expected(t, lua, uint64(seed))))
	}
	return runs
}

// expected is what the model does with a seed.
func (s *story) expected(t *testing.T, lua *luaengine.Engine, seed uint64) (list []moment) {
	parsed, err := sim.ParseScenario("story.scenario", s.scenario())
	if !assert.NoError(t, err) {
		return nil
	}
	_, err = parsed.Run(t.Context(), sim.Options{Seed: seed, Details: true, Lua: lua,
		Observe: func(e *trace.Event, names []string) {
			name := modelName(e, names)
			if name != "" {
				list = append(list, moment{name, e.At - ahead})
			}
		}})
	assert.NoError(t, err)
	return list
}

func modelName(e *trace.Event, names []string) string {
	if names[e.Actor] == "c1" {
		switch e.Kind {
		case trace.Hold:
			return "hold"
		case trace.Release:
			return "release"
		case trace.Refused:
			return "refused"
		case trace.Freed:
			return "freed"
		case trace.Failed:
			return "failed"
		}
	}
	if e.Kind != trace.Execute || names[e.Peer] != "c1" {
		return ""
	}
	name, _, _ := strings.Cut(strings.ReplaceAll(e.Text, "(", " "), " ")
	aside := []string{"SCRIPT", "INFO", "CLUSTER", "ASKING"}
	if slices.Contains(aside, name) || strings.Contains(e.Text, "NOSCRIPT") {
		return ""
	}
	return names[e.Actor] + " " + name
}

// seeds is how many runs of the model tell what happens and when: it draws the pauses
// between tries. Where these do not explain the last telling, manySeeds may.
const seeds, manySeeds = 100, 1000

// early is how much earlier than in any of these runs something may happen in the JVM,
// and late how much later; its timers lag, and what they start is later each time.
const early = 200 * ms

func late(at time.Duration) time.Duration { return 500*ms + at/10 }

// differences are what Redisson did that the model does in no run, or at another time
// than in any run that went the same way until then.
func (s *stage) differences(runs []map[string][]moment) (list []string) {
	observed := s.channels(s.observed())
	for channel := range runs[0] {
		observed[channel] = append([]moment(nil), observed[channel]...) // also what the model alone does
	}
	for channel, got := range observed {
		same := slices.ContainsFunc(runs, func(run map[string][]moment) bool {
			return len(run[channel]) == len(got) && alike(run[channel], got) == len(got)
		})
		if !same {
			list = append(list, fmt.Sprintf("Redisson's %s:\n%sand the model's:\n%s",
				channel, text(got), text(runs[0][channel])))
			continue
		}
		for i, m := range got {
			from, to := s.length, -ahead
			for _, run := range runs {
				if want := run[channel]; alike(want, got) > i {
					from, to = min(from, want[i].at), max(to, want[i].at)
				}
			}
			if m.at < from-early || m.at > to+late(to) {
				list = append(list, fmt.Sprintf("%s, number %d of Redisson's %s, at %v: the model has it between %v and %v",
					m.name, i+1, channel, m.at, from, to))
			}
		}
	}
	return list
}

// alike is how many moments two lists have in common from their beginning.
func alike(a, b []moment) int {
	n := 0
	for n < min(len(a), len(b)) && a[n].name == b[n].name {
		n++
	}
	return n
}

// channels separates what may come in any order: what nobody waits for. Of what comes
// again and again without a pause there are the first and the last.
func (s *story) channels(list []moment) map[string][]moment {
	sorted := map[string][]moment{}
	for _, m := range list {
		channel := "requests"
		switch {
		case !strings.Contains(m.name, " "):
			channel = "outcomes"
		case strings.HasSuffix(m.name, "-renew"):
			channel = "renewals of " + m.name[:len("m1")]
		case s.strange && strings.HasSuffix(m.name, " WAIT"):
			channel = "confirmations of " + m.name[:len("m1")]
		case strings.HasSuffix(m.name, " DEL"):
			channel = "deletions"
		case strings.HasSuffix(m.name, "UNSUBSCRIBE"):
			channel = "ends of subscriptions"
		}
		so := sorted[channel]
		if n := len(so); s.strange && n > 1 && so[n-2].name == m.name && so[n-1].name == m.name {
			so[n-1] = m
			continue
		}
		sorted[channel] = append(so, m)
	}
	return sorted
}

func text(list []moment) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%7.3f %s\n", m.at.Seconds(), m.name)
	}
	return b.String()
}
