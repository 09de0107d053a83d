package stories

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// machine is what a server runs on that has a clock of its own, or whose power fails: a file in
// the layout of testdata/machine.c.
type machine struct {
	file  string
	ahead time.Duration // of the system's clock, at since
	since time.Time
	gains time.Duration // in a second
}

// scratch is a folder that is removed at the end, "" if there is none.
var scratch string

// machineLibrary is what gives a server a machine, made when it is first needed; ok tells
// whether there is a C compiler to make it.
var machineLibrary = sync.OnceValues(func() (path string, ok bool) {
	var err error
	if scratch, err = os.MkdirTemp("", "stories"); err != nil {
		return "", false
	}
	path = filepath.Join(scratch, "machine.so")
	output, err := exec.Command("cc", "-shared", "-fPIC", "-O2", "-o", path, "testdata/machine.c").CombinedOutput()
	if err != nil {
		fmt.Printf("cc: %v: %s\n", err, output)
	}
	return path, err == nil
})

// needsMachine reports whether a step is about the machine of a server.
func needsMachine(w *sim.Spec, s sim.Step) bool {
	return s.Verb == "clock" && s.Args[0][0] != 'c' || losesPower(w, s)
}

// losesPower reports whether a step loses what is not on a server's disk.
func losesPower(w *sim.Spec, s sim.Step) bool { return w.EverySec && option(s, "data") == "synced" }

func newMachine(t *attempt) *machine {
	m := &machine{file: filepath.Join(t.TempDir(), "machine"), since: time.Now()}
	require.NoError(t, os.WriteFile(m.file, make([]byte, 32), 0o600))
	require.NoError(t, m.write())
	return m
}

// changes has the clock jump, and go at another rate from then on, which is 0 if it goes right.
func (m *machine) changes(jump time.Duration, rate float64) error {
	now := time.Now()
	m.ahead += jump + time.Duration(now.Sub(m.since).Seconds()*float64(m.gains))
	m.since, m.gains = now, time.Duration(rate*float64(time.Second))
	return m.write()
}

// write writes the clock in place, as the server has the file mapped.
func (m *machine) write() error {
	var bytes []byte
	for _, n := range []int64{int64(m.ahead), m.since.UnixNano(), int64(m.gains)} {
		bytes = binary.NativeEndian.AppendUint64(bytes, uint64(n))
	}
	file, err := os.OpenFile(m.file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(bytes)
	return errors.Join(err, file.Close())
}

// losePower takes from a server's append-only file, which is in folder, what was not on disk.
func (m *machine) losePower(folder string) error {
	bytes, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("append-only files: %q %w", files, err)
	}
	return os.Truncate(files[0], int64(binary.NativeEndian.Uint64(bytes[24:])))
}

// clock does what a step says about the clock of a client or a server.
func (w *world) clock(s sim.Step) error {
	p, m := w.clients[s.Args[0]], (*machine)(nil)
	switch {
	case p == nil:
		m = w.nodes[s.Args[0]].machine
	case p.machine == nil:
		p.tell("jump", option(s, "jump"))
		return nil
	default:
		m = p.machine
	}
	jump, rate := time.Duration(0), 0.0
	var err error
	if text := option(s, "jump"); text != "" {
		jump, err = time.ParseDuration(text)
	} else {
		rate, err = strconv.ParseFloat(strings.TrimSuffix(option(s, "rate"), "%"), 64)
	}
	if err != nil {
		return err
	}
	return m.changes(jump, rate/100)
}
