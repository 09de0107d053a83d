package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"minikv/server"
)

// logger writes lines as redis-server does:
//
//	14392:M 21 Nov 2026 06:17:33.971 * Ready to accept connections
type logger struct {
	mu    sync.Mutex
	out   io.Writer
	least int // lines below this level are left out
}

// newLogger writes to the configured file, or to stdout.
func newLogger(conf *config, stdout io.Writer) (*logger, error) {
	l := &logger{out: stdout, least: logLevel(conf.get("loglevel"))}
	if name := conf.get("logfile"); name != "" {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("can't open the log file: %w", err)
		}
		l.out = file
	}
	return l, nil
}

// log writes one line; level is one of server's.
func (l *logger) log(level int, text string) {
	if level < l.least {
		return
	}
	const marks = ".-*#"
	l.mu.Lock()
	defer l.mu.Unlock()
	stamp := time.Now().Format("02 Jan 2006 15:04:05.000")
	_, _ = fmt.Fprintf(l.out, "%d:M %s %c %s\n", os.Getpid(), stamp, marks[level], text)
}

func logLevel(name string) int {
	switch strings.ToLower(name) {
	case "debug":
		return server.LevelDebug
	case "verbose":
		return server.LevelVerbose
	case "warning":
		return server.LevelWarning
	}
	return server.LevelNotice
}
