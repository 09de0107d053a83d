package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// resultsFolder has the measurements that are kept, one file a day and processor, and the
// drawing of the latest.
const resultsFolder = "results"

// setup is the first line of a kept result: on what it was measured.
type setup struct {
	Date      string            `json:"date"`
	Processor string            `json:"processor"`
	Cores     int               `json:"cores"`
	Go        string            `json:"go"`
	Servers   map[string]string `json:"servers"` // versions
	Rounds    int               `json:"rounds"`
	RoundMS   int64             `json:"round_ms"`
}

// file is the name of the file that keeps what was measured there.
func (on setup) file() string {
	words := strings.FieldsFunc(strings.ToLower(on.Processor), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return strings.Join(append([]string{on.Date}, words...), "-") + ".jsonl"
}

// save keeps the lines of a run and draws them.
func save(s settings, targets []*target, lines []line, facts []fact) error {
	on := setup{Date: time.Now().Format(time.DateOnly), Processor: processor(), Cores: runtime.NumCPU(),
		Go: runtime.Version(), Servers: map[string]string{}, Rounds: s.rounds, RoundMS: s.length.Milliseconds()}
	for _, t := range targets {
		on.Servers[t.name] = t.version
	}
	if err := os.MkdirAll(resultsFolder, 0o755); err != nil {
		return err
	}
	path := filepath.Join(resultsFolder, on.file())
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := json.NewEncoder(file)
	if err := out.Encode(on); err != nil {
		return err
	}
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	for _, f := range facts {
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	if err := draw(filepath.Join(resultsFolder, "throughput.svg"), on, lines); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "bench: kept in", path, "and drawn in", filepath.Join(resultsFolder, "throughput.svg"))
	return file.Close()
}

// processor is the name of this machine's, or "".
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for _, l := range strings.Split(string(info), "\n") {
		if name, value, _ := strings.Cut(l, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

//go:embed throughput.svg.tmpl
var drawing string

// bar is one row of the drawing; lengths are in its units.
type bar struct {
	Label  string
	Ratio  float64
	Y      int
	Length float64
}

const (
	barStep   = 26
	unitWidth = 90.0 // of a ratio of 1
	maxRatio  = 5.2  // longer bars are cut
)

// draw writes the throughput of every row against redis-server's as an SVG file.
func draw(path string, on setup, lines []line) error {
	shape, err := template.New("svg").Parse(drawing)
	if err != nil {
		return err
	}
	var bars []bar
	for _, l := range lines {
		if l.Redis == 0 {
			continue
		}
		label := fmt.Sprintf("%s, %d conn.", l.Workload, l.Conns)
		if l.Pipeline > 1 {
			label += fmt.Sprintf(", pipeline %d", l.Pipeline)
		}
		bars = append(bars, bar{label, l.Redis, 40 + len(bars)*barStep, min(l.Redis, maxRatio) * unitWidth})
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := shape.Execute(file, map[string]any{"On": on, "Bars": bars, "Height": 70 + len(bars)*barStep,
		"End": 38 + len(bars)*barStep, "One": unitWidth}); err != nil {
		return err
	}
	return file.Close()
}
