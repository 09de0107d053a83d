package stories

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/trace"
)

// agent is the program of the Java clients, as interop/run.sh builds it.
const agent = "../java/redisson4/target"

// hasRedisson reports whether there is Redisson, and a JVM for it.
func hasRedisson() bool { return os.Getenv("INTEROP_JAVA") != "" }

// jvm is a process with clients of Redisson.
type jvm struct {
	cmd   *exec.Cmd
	began time.Time // when its clock was nanos
	nanos int64
	heard chan struct{} // closed when all that it has told is noted

	mu      sync.Mutex
	in      io.Writer
	clients map[string]func(told) // by what the process calls them
}

// together is the process that has all clients of Redisson that may share one, nil without any.
var together struct {
	once sync.Once
	*jvm
}

// launch starts a process, with a machine if m is not nil.
func launch(t require.TestingT, m *machine) *jvm {
	jars, err := os.ReadFile(filepath.Join(agent, "classpath"))
	require.NoError(t, err, "interop/run.sh builds it")
	j := &jvm{clients: map[string]func(told){}, heard: make(chan struct{})}
	j.cmd = exec.Command("java", "-cp", filepath.Join(agent, "classes")+string(os.PathListSeparator)+string(jars),
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx1g", "-Xlog:disable",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "interop.Stories")
	if m != nil {
		library, _ := machineLibrary()
		j.cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "STORIES_MACHINE="+m.file)
	}
	var complaints bytes.Buffer
	j.cmd.Stderr = &complaints
	in, err := j.cmd.StdinPipe()
	require.NoError(t, err)
	j.in = in
	out, err := j.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, j.cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "no JVM: %s", &complaints)
	j.began = time.Now()
	j.nanos, err = strconv.ParseInt(lines.Text(), 10, 64)
	require.NoError(t, err)
	go func() {
		defer close(j.heard)
		for lines.Scan() {
			j.hear(lines.Text())
		}
	}()
	return j
}

// hear has a client's event noted.
func (j *jvm) hear(line string) {
	words := strings.SplitN(line, " ", 5)
	nanos, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		panic(err)
	}
	token, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil {
		panic(err)
	}
	j.mu.Lock()
	client := j.clients[words[0]]
	j.mu.Unlock()
	client(told{Kind: kindOf(words[1]), At: j.began.UnixNano() + nanos - j.nanos, Token: token, Text: words[4]})
}

// kindOf is the kind of event that has a name.
func kindOf(name string) trace.Kind {
	for kind := trace.Kind(0); ; kind++ {
		if kind.String() == name {
			return kind
		}
	}
}

func (j *jvm) tell(words ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = io.WriteString(j.in, strings.Join(words, " ")+"\n") // one that has crashed does not hear
}

func (j *jvm) kill() {
	_ = j.cmd.Process.Kill()
	<-j.heard
	_ = j.cmd.Wait()
}

// addRedisson makes a client of Redisson. It has a process to itself if something happens to its
// process.
func (w *world) addRedisson(number int) {
	name := clientName(number)
	id := fmt.Sprintf("%d-%s", w.places.story, name)
	p := &process{}
	j := together.jvm
	if w.has(func(s sim.Step) bool {
		return slices.Contains([]string{"pause", "crash", "clock"}, s.Verb) && s.Args[0] == name
	}) {
		if w.has(func(s sim.Step) bool { return s.Verb == "clock" && s.Args[0] == name }) {
			p.machine = newMachine(w.t)
		}
		j = launch(w.t, p.machine)
		p.pid, p.kill = j.cmd.Process.Pid, j.kill
	} else {
		p.kill = sync.OnceFunc(func() {
			j.tell(id, "end")
			j.forget(id)
		})
	}
	w.t.Cleanup(p.kill)
	p.tell = func(words ...string) { j.tell(slices.Concat([]string{id}, words)...) }
	w.clients[name] = p
	ready := make(chan struct{})
	j.mu.Lock()
	j.clients[id] = func(e told) {
		if e.Kind == trace.None {
			close(ready)
			return
		}
		w.heard(name, number, e)
	}
	j.mu.Unlock()
	p.tell("connect", strings.Join(w.redissonOptions(number), " "))
	select {
	case <-ready:
	case <-j.heard:
		require.FailNow(w.t, "the JVM has ended")
	case <-time.After(startLimit):
		require.FailNow(w.t, "no connection")
	}
}

// forget has nobody hear of a client any more.
func (j *jvm) forget(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.clients[id] = func(told) {}
}

// front is where a client of Redisson, which knows one address of a master, finds whom it takes
// for that: a link of its own, to that of the server.
func front(master string) string { return "front of " + master }

// redissonOptions are those of a client's Stories.
func (w *world) redissonOptions(number int) []string {
	load := &w.story.World.Load
	millis := func(r sim.Range) string { return fmt.Sprintf("%d..%d", r.Lo.Milliseconds(), r.Hi.Milliseconds()) }
	kind, lease, wait := load.Kind, int64(-1), int64(-1)
	switch {
	case kind == "rw" && number <= load.Readers:
		kind = "read"
	case kind == "rw":
		kind = "write"
	case kind == "multi" && number%2 == 0 && !load.OneOrder:
		kind = "reversed"
	case kind == "multi":
		kind = "several"
	}
	if !load.Renew {
		lease = load.Lease.Lo.Milliseconds()
	}
	if load.Wait > 0 || load.Once {
		wait = load.Wait.Milliseconds()
	}
	return []string{"kind=" + kind, fmt.Sprintf("name=lock:%d", (number-1)%w.story.World.Locks()+1),
		fmt.Sprintf("watchdog=%d", load.TTL.Milliseconds()), fmt.Sprintf("lease=%d", lease), fmt.Sprintf("wait=%d", wait),
		"hold=" + millis(load.Hold), "think=" + millis(load.Think), fmt.Sprintf("rounds=%d", load.Rounds),
		"masters=" + strings.Join(w.redissonMasters(clientName(number)), ";")}
}

// redissonMasters are the addresses of the masters that a client knows, each with those of its
// replicas where they are to confirm, or those of a cluster.
func (w *world) redissonMasters(name string) (addresses []string) {
	spec := &w.story.World
	if spec.Cluster {
		for _, n := range w.nodes {
			addresses = append(addresses, n.address)
		}
		return []string{strings.Join(addresses, ",")}
	}
	for i := range spec.Masters {
		master := fmt.Sprintf("m%d", i+1)
		l, err := newLink(w.links[[2]string{name, master}].address, sim.Range{}, sim.Range{}, false)
		require.NoError(w.t, err)
		w.links[[2]string{name, front(master)}] = l
		w.t.Cleanup(l.end)
		group := []string{l.address}
		for _, n := range w.nodes {
			if n.master == master && n.name != master && spec.Sync {
				group = append(group, w.links[[2]string{name, n.name}].address)
			}
		}
		addresses = append(addresses, strings.Join(group, "+"))
	}
	return addresses
}
