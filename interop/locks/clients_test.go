package locks

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// client is a library, as its worker calls it.
type client struct {
	language string
	library  string
	called   string // in the table; "": as library
	// renews: it does so by itself, and is asked only whether it has.
	renews bool
	// absolute: its leases end at a date by the client's clock, which the server's must agree with.
	absolute bool
}

var clients = []client{
	{language: "go", library: "go-redis"},
	{language: "go", library: "redsync"},
	{language: "go", library: "redislock"},
	{language: "go", library: "rueidislock", renews: true, absolute: true},
	{language: "node", library: "ioredis"},
	{language: "node", library: "node-redis"},
	{language: "node", library: "redlock4", called: "redlock"},
	{language: "node", library: "redlock5", called: "redlock"},
	{language: "node", library: "redis-semaphore", renews: true},
	{language: "node", library: "simple-redis-mutex"},
	{language: "python", library: "redis-py"},
	{language: "python", library: "python-redis-lock"},
	{language: "python", library: "pottery"},
}

// workers are the commands by language, and what must have been built for each.
var workers = map[string]struct {
	built   string
	command []string
}{
	"go":     {"../go/target/worker", []string{"../go/target/worker"}},
	"node":   {"../node/node_modules/redlock5", []string{"node", "../node/locks.js"}},
	"python": {"../python/target/bin/python", []string{"../python/target/bin/python", "../python/locks.py"}},
}

// startWorkers starts those that were built.
func startWorkers(t *testing.T) map[string]*worker {
	started := map[string]*worker{}
	for language, w := range workers {
		if _, err := os.Stat(w.built); err == nil {
			started[language] = startWorker(t, w.command)
		} else {
			require.ErrorIs(t, err, os.ErrNotExist)
			t.Logf("without %s: %s is not there", language, w.built)
		}
	}
	return started
}
