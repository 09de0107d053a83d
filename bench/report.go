package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// report prints results as they come.
type report struct {
	json    bool
	targets []*target
	lines   []line // so far
	facts   []fact
}

// line is one row as --json prints it. Ratios are minikv's figure by the
// other's, medians of rounds in turn; 0 where the other is not there.
type line struct {
	Workload   string  `json:"workload"`
	Conns      int     `json:"conns"`
	Pipeline   int     `json:"pipeline"`
	Ops        float64 `json:"minikv_ops"`
	Redis      float64 `json:"ratio_redis"`
	CPURedis   float64 `json:"cpu_ratio_redis"`
	Miniredis  float64 `json:"ratio_miniredis"`
	CPUNanos   float64 `json:"minikv_cpu_ns"`
	P50Micros  int64   `json:"p50_us"`
	P99Micros  int64   `json:"p99_us"`
	P999Micros int64   `json:"p999_us"`
}

// fact is a figure that is not a row of a workload.
type fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func newReport(asJSON bool, targets []*target) *report {
	r := &report{json: asJSON, targets: targets}
	if !asJSON {
		for _, t := range targets {
			fmt.Printf("%-10s %-8s first answer after %v, %.1f MiB\n",
				t.name, t.version, t.startup.Round(100_000), float64(t.memory())/(1<<20))
		}
		fmt.Printf("\n%-16s %5s %4s %12s %9s %9s %10s %7s %7s %7s\n", "workload", "conns", "pipe",
			"minikv ops/s", "× redis", "CPU/redis", "× minired.", "p50 µs", "p99 µs", "p99.9")
	}
	return r
}

func (r *report) row(w row, results [][]sample) {
	l := line{Workload: w.load.name, Conns: w.conns, Pipeline: w.pipeline}
	all := newHistogram()
	for _, s := range results[0] {
		all.Merge(s.histogram)
	}
	l.Ops = median(results[0], func(s sample) float64 { return s.ops })
	l.CPUNanos = median(results[0], func(s sample) float64 { return s.cpuPerOp })
	l.P50Micros, l.P99Micros, l.P999Micros = all.ValueAtQuantile(50), all.ValueAtQuantile(99), all.ValueAtQuantile(99.9)
	for i, t := range r.targets {
		ratio := ratios(results[0], results[i], func(s sample) float64 { return s.ops })
		switch t.name {
		case "redis":
			l.Redis = ratio
			l.CPURedis = ratios(results[0], results[i], func(s sample) float64 { return s.cpuPerOp })
		case "miniredis":
			l.Miniredis = ratio
		}
	}
	r.print(l)
}

// fact prints a figure that is not a row.
func (r *report) fact(f fact) {
	r.facts = append(r.facts, f)
	if r.json {
		_ = json.NewEncoder(os.Stdout).Encode(f)
		return
	}
	fmt.Printf("%-45s %12.1f %s\n", f.Name, f.Value, f.Unit)
}

func (r *report) print(l line) {
	r.lines = append(r.lines, l)
	if r.json {
		_ = json.NewEncoder(os.Stdout).Encode(l)
		return
	}
	fmt.Printf("%-16s %5d %4d %12.0f %9.2f %9.2f %10.1f %7d %7d %7d\n", l.Workload, l.Conns, l.Pipeline,
		l.Ops, l.Redis, l.CPURedis, l.Miniredis, l.P50Micros, l.P99Micros, l.P999Micros)
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return middle(values)
}

// ratios is the median of the rounds' ratios a/b: what was measured next to
// each other is compared.
func ratios(a, b []sample, of func(sample) float64) float64 {
	values := make([]float64, len(a))
	for i := range a {
		if of(b[i]) > 0 {
			values[i] = of(a[i]) / of(b[i])
		}
	}
	return middle(values)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}
