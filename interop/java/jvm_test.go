package java

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
)

const (
	startLimit = time.Minute      // for a JVM to start, and for a client to connect
	callLimit  = 10 * time.Second // for a request; no contract waits longer
)

// redisson is an agent that was built.
type redisson struct {
	folder    string // of the Maven module
	version   string
	classpath string
	archive   string // of the classes that an agent uses, as the JVM has them in memory; "": not made yet
}

// built are the agents by folder.
var built = map[string]redisson{}

// build reads what Maven has left in a module, once. It archives the classes: a hundred
// JVMs that read them from jars take twice as long to start.
func build(t *testing.T, folder string) redisson {
	if r, ok := built[folder]; ok {
		return r
	}
	r := read(t, folder)
	archive := filepath.Join(folder, "target", "agent.jsa")
	j := r.launch(t, "-XX:ArchiveClassesAtExit="+archive)
	j.connect(t, []string{startMinikv(t)})
	j.end()
	<-j.ended
	if _, err := os.Stat(archive); err == nil {
		r.archive = archive
	}
	built[folder] = r
	return r
}

// read reads a module. Classes can only be archived from jars.
func read(t *testing.T, folder string) redisson {
	jars, err := os.ReadFile(filepath.Join(folder, "target", "classpath"))
	require.NoError(t, err, "interop/run.sh builds it")
	version := regexp.MustCompile(`redisson-([0-9.]+)\.jar`).FindSubmatch(jars)
	require.NotNil(t, version, "%s", jars)
	classes, agent := filepath.Join(folder, "target", "classes"), filepath.Join(folder, "target", "agent.jar")
	said, err := exec.Command("jar", "--create", "--file", agent, "-C", classes, ".").CombinedOutput()
	require.NoError(t, err, "%s", said)
	return redisson{folder: folder, version: string(version[1]),
		classpath: agent + string(os.PathListSeparator) + string(jars)}
}

// jvm is a JVM with an agent.
type jvm struct {
	end   func()                // has it end
	stop  func(d time.Duration) // has it stand still for d
	ended chan struct{}         // closed at the end of its output

	mu      sync.Mutex
	in      io.Writer
	clients int // how many are connected
	lastID  int
	answers map[string]chan string
}

// client is the party of one Redisson in a JVM.
type client struct {
	*jvm
	id int
}

// start starts an agent with one client, and ends it with the test.
func (r redisson) start(t *testing.T, masters []string) *client {
	return r.launch(t).connect(t, masters)
}

// launch starts an agent, with options of the JVM.
func (r redisson) launch(t *testing.T, options ...string) *jvm {
	if r.archive != "" {
		options = append(options, "-XX:SharedArchiveFile="+r.archive)
	}
	arguments := slices.Concat(options, []string{"-cp", r.classpath, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Xmx256m", "-Xlog:disable", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"interop.Agent", strconv.FormatInt(watchdog.Milliseconds(), 10)})
	command := exec.Command("java", arguments...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	ready := make(chan string, 1)
	j := &jvm{in: in, end: func() { in.Close() }, ended: make(chan struct{}),
		answers: map[string]chan string{"ready": ready}}
	j.stop = func(d time.Duration) {
		_ = redisserver.Pause(command.Process.Pid)
		time.AfterFunc(d, func() { _ = redisserver.Resume(command.Process.Pid) })
	}
	go j.listen(out)
	t.Cleanup(func() {
		j.end()
		select {
		case <-j.ended:
		case <-time.After(callLimit):
			_ = command.Process.Kill()
		}
		_ = command.Wait()
		if t.Failed() {
			t.Logf("Redisson %s said:\n%s", r.version, &complaints)
		}
	})
	select {
	case <-ready:
	case <-j.ended:
		require.FailNow(t, "the JVM ended")
	case <-time.After(startLimit):
		require.FailNow(t, "the JVM does not start")
	}
	return j
}

// connect makes one more client in the JVM.
func (j *jvm) connect(t *testing.T, masters []string) *client {
	j.mu.Lock()
	j.clients++
	c := &client{j, j.clients}
	j.mu.Unlock()
	asked, err := c.ask(request{"main", "client", "-", "connect", strings.Join(masters, ";")})
	require.NoError(t, err)
	select {
	case answer := <-asked:
		require.Equal(t, "ok ", answer)
	case <-j.ended:
		require.FailNow(t, "the JVM ended")
	case <-time.After(startLimit):
		require.FailNow(t, "Redisson does not connect")
	}
	return c
}

// listen hands the answers to those who asked.
func (j *jvm) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, answer, _ := strings.Cut(lines.Text(), " ")
		j.mu.Lock()
		asked := j.answers[id]
		delete(j.answers, id)
		j.mu.Unlock()
		if asked != nil {
			asked <- answer
		}
	}
	close(j.ended)
}

func (c *client) name() string { return "Java" }

func (c *client) call(q request) (string, error) {
	asked, err := c.ask(q)
	if err != nil {
		return "", err
	}
	select {
	case answer := <-asked:
		status, result, _ := strings.Cut(answer, " ")
		if status != "ok" {
			return "", fmt.Errorf("redisson: %s %q: %s", q.verb, q.key, result)
		}
		return result, nil
	case <-c.ended:
		return "", fmt.Errorf("redisson: %s %q: the JVM ended", q.verb, q.key)
	case <-time.After(callLimit):
		return "", fmt.Errorf("redisson: %s %q: no answer in %v", q.verb, q.key, callLimit)
	}
}

// ask sends a request.
func (c *client) ask(q request) (answer <-chan string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	id := strconv.Itoa(c.lastID)
	asked := make(chan string, 1)
	c.answers[id] = asked
	_, err = fmt.Fprintln(c.in, id, c.id, q.thread, q.kind, q.key, q.verb, q.argument)
	return asked, err
}
