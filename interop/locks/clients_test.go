package locks

import (
	"errors"
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
	{language: "java", library: "Redisson"},
	{language: "java", library: "RedisLockRegistry"},
	{language: "java", library: "RedisLockRegistry-pubsub", called: "RedisLockRegistry pub/sub"},
	{language: "java", library: "ShedLock"},
	{language: "java", library: "ShedLock-safe", called: "ShedLock safeUpdate"},
}

// workers are the programs by language.
var workers = map[string]struct {
	built   string // what is there when it was built
	command func() (words []string, err error)
}{
	"go":     {"../go/target/worker", command("../go/target/worker")},
	"node":   {"../node/node_modules/redlock5", command("node", "../node/locks.js")},
	"python": {"../python/target/bin/python", command("../python/target/bin/python", "../python/locks.py")},
	"java":   {"../java/locks/target/classpath", java},
}

func command(words ...string) func() ([]string, error) {
	return func() ([]string, error) { return words, nil }
}

// java is the command that Maven's classpath makes.
func java() ([]string, error) {
	jars, err := os.ReadFile("../java/locks/target/classpath")
	classpath := "../java/locks/target/classes" + string(os.PathListSeparator) + string(jars)
	return []string{
		"java", "-cp", classpath, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "interop.locks.Worker",
	}, err
}

// startWorkers starts those that were built.
func startWorkers(t *testing.T, languages ...string) map[string]*worker {
	started := map[string]*worker{}
	for _, language := range languages {
		w := workers[language]
		_, err := os.Stat(w.built)
		if errors.Is(err, os.ErrNotExist) {
			t.Logf("without %s: %s is not there", language, w.built)
			continue
		}
		require.NoError(t, err)
		words, err := w.command()
		require.NoError(t, err)
		started[language] = startWorker(t, language, words)
	}
	return started
}
