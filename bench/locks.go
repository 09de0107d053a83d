package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// buildClients builds the program of clients into dir, but for the quick rows, which need
// none.
func buildClients(dir string, s settings) (program string, err error) {
	if s.quick {
		return "", nil
	}
	program = filepath.Join(dir, "clients")
	if out, err := exec.Command("go", "build", "-o", program, "./clients").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build clients: %w\n%s", err, out)
	}
	return program, nil
}

// lockClient is lockclient's Mutex, locked and unlocked by as many clients as the row
// has connections, each with a lock of its own ("alone") or all with one ("contended").
func lockClient(program, contention string) workload {
	return workload{name: "lockclient",
		start: func(t *target, r row) (generator, error) { return newLockGenerator(program, contention, t, r) }}
}

// lockGenerator is the program of clients, which measures a round when it is told to.
type lockGenerator struct {
	target *target
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
}

func newLockGenerator(program, contention string, t *target, r row) (*lockGenerator, error) {
	g := &lockGenerator{target: t, cmd: exec.Command(program, "locks", t.addr, strconv.Itoa(r.conns), contention)}
	g.cmd.Stderr = os.Stderr
	in, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g.in, g.out = in, json.NewDecoder(out)
	return g, g.cmd.Start()
}

// close implements generator.
func (g *lockGenerator) close() {
	_ = g.in.Close()
	_ = g.cmd.Wait()
}

// measure implements generator.
func (g *lockGenerator) measure(d time.Duration) (sample, error) {
	var round struct {
		Operations int
		Seconds    float64
		Latencies  []byte
	}
	before := g.target.cpu()
	if _, err := fmt.Fprintln(g.in, d); err != nil {
		return sample{}, err
	}
	if err := g.out.Decode(&round); err != nil {
		return sample{}, err
	}
	used := g.target.cpu() - before
	latencies, err := hdrhistogram.Decode(round.Latencies)
	return sample{
		ops:        float64(round.Operations) / round.Seconds,
		cpuPerOp:   float64(used) / float64(round.Operations),
		histogram:  latencies,
		operations: round.Operations,
	}, err
}

// simulator has the program of clients measure the simulator, and compare it with
// clients in real time.
func simulator(ctx context.Context, program string, miniredis *target, length time.Duration) ([]fact, error) {
	cmd := exec.CommandContext(ctx, program, "simulator", miniredis.addr, length.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	var facts []fact
	for from := json.NewDecoder(bytes.NewReader(out)); from.More(); {
		var f fact
		if err := from.Decode(&f); err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return facts, nil
}
