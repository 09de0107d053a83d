package stories

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/sim"
	"minikv/trace"
)

// startLimit is how long processes may take to be there.
const startLimit = time.Minute

func clientName(number int) string { return fmt.Sprintf("c%d", number) }

// world is what a story happens in.
type world struct {
	t       *attempt
	story   *sim.Scenario
	referee *referee
	nodes   map[string]*node
	leaders map[string]string // who is master now, by the first master of a group that has had another
	clients map[string]*process
	links   map[[2]string]*link // by the client's or replica's name, and the server's
	places  *places             // of a governed world, which has no links
}

// node is a redis-server.
type node struct {
	name, address string
	master        string   // the name of the first master of its group
	options       []string // of its command line, but for those of its data
	folder        string
	machine       *machine // nil: that of this test
	process       *redisserver.Process
}

// process is a client.
type process struct {
	pid     int      // 0: it shares its process with others
	machine *machine // nil: it has that of this test, and tells the time by its own
	tell    func(words ...string)
	kill    func() // ends it, and returns when all that it has told is noted; may be called again
}

// newWorld is the world of a story, whose number no other one has.
func newWorld(t *attempt, s *sim.Scenario, number int) *world {
	return &world{t: t, story: s, referee: newReferee(s), nodes: map[string]*node{}, clients: map[string]*process{},
		leaders: map[string]string{}, links: map[[2]string]*link{}, places: &places{story: number}}
}

// leader is the name of the master that a node's group has now.
func (w *world) leader(n *node) string { return cmp.Or(w.leaders[n.master], n.master) }

// startAll starts all processes.
func (w *world) startAll() {
	spec, replicas := &w.story.World, 0
	for i := range spec.Masters {
		master := w.addNode(fmt.Sprintf("m%d", i+1), "")
		for range spec.Replicas {
			replicas++
			w.addNode(fmt.Sprintf("r%d", replicas), master.name)
		}
	}
	if spec.Cluster {
		w.startGoverned()
	}
	for _, n := range w.nodes {
		if n.master != n.name {
			w.eventually(n, "INFO replication", "master_link_status:up")
			w.eventually(w.nodes[n.master], "INFO replication", fmt.Sprintf("connected_slaves:%d", spec.Replicas))
		}
	}
	if spec.Watched > 0 {
		w.startGoverned()
	}
	for i := range spec.Clients {
		w.addClient(i + 1)
	}
}

// given are the addresses that stories have. Each has its own until the end, as a crashed
// server comes back where it was.
var given sync.Map

// freeAddress is an address that no other story has.
func freeAddress() (string, error) {
	for {
		address, err := redisserver.FreeAddress()
		if _, taken := given.LoadOrStore(address, true); !taken || err != nil {
			return address, err
		}
	}
}

// addNode starts a server; one of a group's master follows that.
func (w *world) addNode(name, master string) *node {
	n := &node{name: name, master: name, folder: w.t.TempDir()}
	if w.governed() {
		n.address, n.options = w.places.address(name)+":6379", w.parameters(name)
	} else {
		address, err := freeAddress()
		require.NoError(w.t, err)
		host, port, err := net.SplitHostPort(address)
		require.NoError(w.t, err)
		n.address, n.options = address, []string{"--bind", host, "--port", port}
	}
	n.options = append(n.options, "--save", "", "--repl-diskless-sync-delay", "0",
		"--min-replicas-to-write", fmt.Sprint(w.story.World.MinGood))
	if w.has(func(s sim.Step) bool { return keeps(s) && s.Args[0] == name }) {
		sync := "always"
		if w.story.World.EverySec {
			sync = "everysec"
		}
		n.options = append(n.options, "--appendonly", "yes", "--appendfsync", sync)
	}
	w.nodes[name] = n
	if w.has(func(s sim.Step) bool { return needsMachine(&w.story.World, s) && s.Args[0] == name }) {
		n.machine = newMachine(w.t)
	}
	if master != "" {
		n.master = master
		n.options = append(n.options, w.following(name, master)...)
	}
	w.start(n)
	return n
}

// following are the options of a replica; in a cluster it is told later.
func (w *world) following(name, master string) []string {
	address := w.nodes[master].address
	switch {
	case w.story.World.Cluster:
		return nil
	case !w.governed():
		address = w.addLink(name, master, sim.Range{}, w.story.World.Lag).address
	}
	host, port, err := net.SplitHostPort(address)
	require.NoError(w.t, err)
	return []string{"--replicaof", host + " " + port}
}

// has reports whether the story has such a step.
func (w *world) has(is func(sim.Step) bool) bool { return slices.ContainsFunc(w.story.Steps, is) }

// keeps reports whether a server comes back with its data.
func keeps(s sim.Step) bool {
	return (s.Verb == "restart" || s.Verb == "crash" && option(s, "for") != "") && option(s, "data") != "lose"
}

func (w *world) addLink(from, to string, there, back sim.Range) *link {
	reads := w.has(func(s sim.Step) bool { return s.Verb == "drop" || s.Verb == "delay" })
	l, err := newLink(w.nodes[to].address, there, back, reads)
	require.NoError(w.t, err)
	l.follows = w.nodes[from] != nil
	w.links[[2]string{from, to}] = l
	w.t.Cleanup(l.end)
	return l
}

// start starts a server's process, with the data of its folder.
func (w *world) start(n *node) {
	command := append(append([]string{os.Getenv("REDIS_BINARY")}, n.options...), "--dir", n.folder)
	if n.machine != nil {
		library, _ := machineLibrary()
		command = append([]string{"env", "LD_PRELOAD=" + library, "STORIES_MACHINE=" + n.machine.file}, command...)
	}
	var err error
	n.process, err = redisserver.Start(command[0], command[1:]...)
	require.NoError(w.t, err)
	w.t.Cleanup(n.process.End)
	w.eventually(n, "PING", "PONG")
}

// do has a server run a command, over a connection of its own.
func (n *node) do(words ...any) (any, error) {
	client := redis.NewClient(&redis.Options{Addr: n.address, MaxRetries: -1, DisableIdentity: true})
	defer client.Close()
	return client.Do(context.Background(), words...).Result()
}

// eventually waits until a node's answer to a command contains a text.
func (w *world) eventually(n *node, command, text string) {
	var words []any
	for word := range strings.FieldsSeq(command) {
		words = append(words, word)
	}
	require.Eventually(w.t, func() bool {
		answer, err := n.do(words...)
		return err == nil && strings.Contains(fmt.Sprint(answer), text)
	}, startLimit, 10*time.Millisecond, "%s: %s: wanted %q", n.name, command, text)
}

// provide makes what clients find: the permits of semaphores, the counts of latches.
func (w *world) provide() {
	load := &w.story.World.Load
	count := map[string]int{"semaphore": load.Permits, "permits": load.Permits, "latch": load.Count}[load.Kind]
	if count == 0 {
		return
	}
	_, err := w.nodes["m1"].do("SET", "lock:1", count)
	require.NoError(w.t, err)
}

// addClient starts a client.
func (w *world) addClient(number int) {
	name := clientName(number)
	links := map[string]string{}
	for server, n := range w.nodes {
		if w.governed() {
			links[server] = n.address
		} else {
			links[server] = w.addLink(name, server, w.story.World.Delay, w.story.World.Delay).address
		}
	}
	if w.story.World.Load.Redisson {
		w.addRedisson(number)
		return
	}
	id := identity{Story: w.story.Text(), Number: number, Links: links}
	if w.governed() {
		id.From = w.places.address(name)
	}
	text, err := json.Marshal(id)
	require.NoError(w.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asClient+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(w.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	heard := make(chan struct{})
	p := &process{pid: cmd.Process.Pid}
	p.tell = func(words ...string) {
		_, _ = io.WriteString(in, strings.Join(words, " ")+"\n") // one that has crashed does not hear
	}
	p.kill = func() {
		_ = cmd.Process.Kill()
		<-heard
		_ = cmd.Wait()
	}
	w.t.Cleanup(p.kill)
	w.clients[name] = p
	lines := bufio.NewScanner(out)
	ready := lines.Scan()
	go func() {
		defer close(heard)
		for lines.Scan() {
			w.hear(name, number, lines.Bytes())
		}
	}()
	require.True(w.t, ready, "%s does not begin", name)
}

// hear notes what a client of lockclient tells.
func (w *world) hear(name string, number int, line []byte) {
	var e told
	if err := json.Unmarshal(line, &e); err != nil {
		w.t.Errorf("%s says %s", name, line)
		return
	}
	w.heard(name, number, e)
}

// heard notes an event of a client.
func (w *world) heard(name string, number int, e told) {
	lock, peer := int32((number-1)%w.story.World.Locks()+1), trace.Actor(0)
	if e.Reads {
		peer = w.referee.actor(name)
	}
	w.referee.note(time.Unix(0, e.At), trace.Event{Kind: e.Kind, Actor: w.referee.actor(name), Lock: lock, A: e.Token,
		Peer: peer, Text: e.Text})
}
