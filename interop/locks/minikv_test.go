package locks

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// minikvWorld is a process of minikv with two nodes, controlled as docs/control.md
// says, by a client that knows nothing of it.
type minikvWorld struct {
	nodes   []string // the addresses of m1 and r1, the master first
	control *redis.Client
}

// minikvServer builds the program.
func minikvServer(t *testing.T) func(*testing.T, bool) world {
	program := filepath.Join(t.TempDir(), "minikv")
	out, err := exec.Command("go", "build", "-o", program, "minikv/cmd/minikv").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return func(t *testing.T, absolute bool) world {
		clock := "virtual"
		if absolute {
			clock = "real"
		}
		return startMinikv(t, program, clock)
	}
}

func startMinikv(t *testing.T, program, clock string) world {
	ready := filepath.Join(t.TempDir(), "ready.json")
	command := exec.Command(program, "--port", "0", "--replicas", "1", "--clock", clock, "--control",
		"--ready-file", ready, "--exit-with-stdin")
	var said bytes.Buffer
	command.Stdout = &said
	in, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		in.Close()
		assert.NoError(t, command.Wait())
		if t.Failed() {
			t.Logf("minikv said:\n%s", &said)
		}
	})
	require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, soon, time.Millisecond)
	content, err := os.ReadFile(ready)
	require.NoError(t, err)
	var places struct {
		Nodes   []string
		Control string
	}
	require.NoError(t, json.Unmarshal(content, &places))
	return &minikvWorld{nodes: places.Nodes, control: connect(t, places.Control)}
}

func (w *minikvWorld) master() string { return w.nodes[0] }

// tell sends MINIKV and the words.
func (w *minikvWorld) tell(t *testing.T, words ...any) any {
	reply, err := w.control.Do(t.Context(), append([]any{"MINIKV"}, words...)...).Result()
	require.NoError(t, err)
	return reply
}

// loseReply makes a rule; what only looks begins with a G.
func (w *minikvWorld) loseReply(t *testing.T, _ *front, name string) {
	w.tell(t, "FAULT", "ADD", "ON", "[^G]*", "KEY", "*"+name+"*", "TIMES", 1, "DROPREPLY", "CLOSE")
}

func (w *minikvWorld) hasLost(t *testing.T, _ *front) bool {
	rules := w.tell(t, "FAULT", "LIST").([]any)
	return rules[len(rules)-1].(map[any]any)["struck"] == int64(1)
}

// pass lets the clock run.
func (w *minikvWorld) pass(t *testing.T) {
	w.tell(t, "CLOCK", "ADVANCE", (lease + time.Second).String())
}

func (w *minikvWorld) hold(t *testing.T) { w.tell(t, "HOLD", "r1") }

func (w *minikvWorld) promote(t *testing.T) {
	w.tell(t, "KILL", "m1")
	w.nodes = w.nodes[1:]
	require.NoError(t, connect(t, w.master()).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
}

// judge asks what the trace says of the lock's keys.
func (w *minikvWorld) judge(t *testing.T, name string, both bool) {
	keys, err := connect(t, w.master()).Keys(t.Context(), "*"+name+"*").Result()
	require.NoError(t, err)
	var overlaps []any
	for _, key := range keys {
		overlaps = append(overlaps, w.tell(t, "OVERLAPS", key).([]any)...)
	}
	if both {
		assert.Len(t, overlaps, 1)
	} else {
		assert.Empty(t, overlaps)
	}
}
