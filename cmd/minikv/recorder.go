package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"minikv/server"
	"minikv/topology"
)

// recorder writes events to the file of --trace, each as a line of JSON. It keeps
// them until it is begun: before that it is not sure that the file may be touched.
type recorder struct {
	logs *logger

	mu     sync.Mutex
	file   *os.File
	early  []topology.Event
	failed error // why it ends before the run
}

// begin makes the file anew and writes what has happened so far.
func (r *recorder) begin(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("trace %s: %w", path, unwrapPath(err))
	}
	r.file = file
	for _, e := range r.early {
		r.write(e)
	}
	r.early = nil
	return nil
}

// note is topology.Config.Told.
func (r *recorder) note(e topology.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		r.early = append(r.early, e)
		return
	}
	r.write(e)
}

// write adds an event, unless one before it is missing.
func (r *recorder) write(e topology.Event) {
	if r.failed != nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		r.failed = fmt.Errorf("the trace ends at event %d: %w", e.Number, err)
		r.logs.log(server.LevelWarning, r.failed.Error())
	}
}

// incomplete says why the trace ends before the run; nil: it does not.
func (r *recorder) incomplete() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		_ = r.file.Close()
	}
}
