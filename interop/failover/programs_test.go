package failover

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endLimit is how long a program may go on after its input has ended.
const endLimit = 10 * time.Second

// allClients are those that this machine has, but for the comma-separated names
// of INTEROP_CLIENTS if there are any.
func allClients(t *testing.T) []client {
	all := []client{{name: "go-redis", start: startGoRedis}, {name: "rueidis", start: startRueidis}}
	if python := "../python/target/bin/python"; exists(python) {
		all = append(all, program("redis-py", python, "../python/workload.py"))
	}
	if exists("../node/node_modules") {
		all = append(all, program("ioredis", "node", "../node/ioredis.js"),
			program("node-redis", "node", "../node/node-redis.js"))
	}
	return wanted(append(all, redissons(t)...))
}

// redissons are those that Maven has built.
func redissons(t *testing.T) (all []client) {
	for _, folder := range []string{"../java/redisson3", "../java/redisson4"} {
		jars, err := os.ReadFile(filepath.Join(folder, "target", "classpath"))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		classpath := filepath.Join(folder, "target", "classes") + string(os.PathListSeparator) + string(jars)
		c := program(strings.Replace(filepath.Base(folder), "redisson", "Redisson ", 1), "java",
			"-cp", classpath, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "interop.Workload")
		if strings.Contains(string(jars), "redisson-3.16.") {
			// Its lock returns without being held after its slot has got another master; docs/interop.md.
			c.careless = "cluster"
		}
		all = append(all, c)
	}
	return wanted(all)
}

func wanted(all []client) (some []client) {
	names := os.Getenv("INTEROP_CLIENTS")
	for _, c := range all {
		if names == "" || strings.Contains(","+names+",", ","+c.name+",") {
			some = append(some, c)
		}
	}
	return some
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// program is a client whose workload is a program: it gets the mode and the
// addresses after the words of its command, prints events, and ends with its input.
func program(name string, command ...string) client {
	return client{name: name, start: func(t *testing.T, mode string, addresses []string) *referee {
		arguments := append(append(command[1:len(command):len(command)], mode), addresses...)
		cmd := exec.Command(command[0], arguments...)
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		r := newReferee()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var e event
				if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
					e = event{Do: "error", Text: lines.Text()}
				}
				r.note(e)
			}
		}()
		t.Cleanup(func() {
			assert.NoError(t, in.Close())
			select {
			case <-ended:
			case <-time.After(endLimit):
				_ = cmd.Process.Kill()
				<-ended
			}
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("%s said:\n%s", name, &complaints)
			}
		})
		return r
	}}
}
