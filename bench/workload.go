package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// workload is what every connection repeats, and checks while it is measured.
type workload struct {
	name    string
	scripts []string // loaded before
	// step gives one connection's requests of one step with the exact bytes of
	// their replies.
	step func(conn int) (request []byte, reply string, operations int)
	// start makes the generator of a workload that is not the same bytes again
	// and again; nil: step does.
	start func(t *target, r row) (generator, error)
}

// row is a workload at a pipeline depth.
type row struct {
	load     workload
	conns    int
	pipeline int
}

// The lock scripts are those of Redisson's protocol, as lock clients send them.
const (
	acquire = `if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then ` +
		`redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; ` +
		`return redis.call('pttl', KEYS[1]);`
	release = `local done = redis.call('get', KEYS[3]); if done ~= false then return tonumber(done); end; ` +
		`if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end; ` +
		`local count = redis.call('hincrby', KEYS[1], ARGV[3], -1); ` +
		`if (count > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); ` +
		`redis.call('set', KEYS[3], 0, 'px', ARGV[5]); return 0; ` +
		`else redis.call('del', KEYS[1]); redis.call(ARGV[4], KEYS[2], ARGV[1]); ` +
		`redis.call('set', KEYS[3], 1, 'px', ARGV[5]); return 1; end;`
)

func sha(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

func owner(conn int) string { return fmt.Sprintf("3f2c9a10-7be4-4c1d-9d6e-%012d:1", conn) }

// lockRounds is acquire and release; the latch of the release is deleted, as
// clients do.
func lockRounds() workload {
	a, r := sha(acquire), sha(release)
	return workload{name: "acquire-release", scripts: []string{acquire, release},
		step: func(conn int) ([]byte, string, int) {
			key := fmt.Sprintf("orders:%d", conn)
			latch := fmt.Sprintf("redisson_unlock_latch:{%s}:%032d", key, conn)
			b := command("EVALSHA", a, "1", key, "30000", owner(conn))
			b = append(b, command("EVALSHA", r, "3", key, "redisson_lock__channel:{"+key+"}", latch,
				"0", "30000", owner(conn), "PUBLISH", "20000")...)
			b = append(b, command("DEL", latch)...)
			return b, "$-1\r\n:1\r\n:1\r\n", 3
		}}
}

// folder has the scripts of lockclient.
const folder = "../lockclient/scripts/"

// script reads one of lockclient's.
func script(name string) (string, error) {
	text, err := os.ReadFile(folder + name + ".lua")
	return string(text), err
}

// scripted is a workload of lockclient's scripts: steps of EVALSHA commands,
// each with a latch that is deleted behind it.
func scripted(name string, scripts []string, step func(conn int, sha func(i int) string) (request []byte, reply string,
	operations int)) (workload, error) {
	w := workload{name: name}
	for _, one := range scripts {
		text, err := script(one)
		if err != nil {
			return w, err
		}
		w.scripts = append(w.scripts, text)
	}
	w.step = func(conn int) ([]byte, string, int) {
		return step(conn, func(i int) string { return sha(w.scripts[i]) })
	}
	return w, nil
}

// fairRounds is a fair lock taken and released, its latch deleted.
func fairRounds() (workload, error) {
	names := []string{"fair_acquire", "fair_release"}
	return scripted("fair", names, func(conn int, sha func(int) string) ([]byte, string, int) {
		key := fmt.Sprintf("orders:%d", conn)
		queue, timeouts := "redisson_lock_queue:{"+key+"}", "redisson_lock_timeout:{"+key+"}"
		latch := fmt.Sprintf("redisson_unlock_latch:{%s}:%032d", key, conn)
		b := command("EVALSHA", sha(0), "3", key, queue, timeouts, "30000", owner(conn), "300000", "1700000000000")
		b = append(b, command("EVALSHA", sha(1), "5", key, queue, timeouts, "redisson_lock__channel:{"+key+"}", latch,
			"0", "30000", owner(conn), "1700000000000", "PUBLISH", "20000")...)
		return append(b, command("DEL", latch)...), "$-1\r\n:1\r\n:1\r\n", 3
	})
}

// readWriteRounds is a read-write lock taken and released by a reader, then by
// a writer, the latches deleted.
func readWriteRounds() (workload, error) {
	names := []string{"read_acquire", "read_release", "write_acquire", "write_release"}
	return scripted("rw", names, func(conn int, sha func(int) string) ([]byte, string, int) {
		key := fmt.Sprintf("orders:%d", conn)
		reader, writer := owner(conn), owner(conn)+":write"
		timers, channel := "{"+key+"}", "redisson_rwlock:{"+key+"}"
		mine := timers + ":" + reader + ":rwlock_timeout"
		latch := fmt.Sprintf("redisson_unlock_latch:{%s}:%032d", key, conn)
		b := command("EVALSHA", sha(0), "2", key, mine, "30000", reader, writer)
		b = append(b, command("EVALSHA", sha(1), "5", key, channel, mine, timers, latch,
			"0", reader, "PUBLISH", "20000")...)
		b = append(b, command("DEL", latch)...)
		b = append(b, command("EVALSHA", sha(2), "1", key, "30000", writer)...)
		b = append(b, command("EVALSHA", sha(3), "3", key, channel, latch, "1", "30000", writer, "PUBLISH", "20000")...)
		b = append(b, command("DEL", latch)...)
		return b, "$-1\r\n:1\r\n:1\r\n$-1\r\n:1\r\n:1\r\n", 6
	})
}

func setGet() workload {
	return workload{name: "set-get", step: func(conn int) ([]byte, string, int) {
		key := fmt.Sprintf("key:%d", conn)
		value := strings.Repeat("v", 16)
		b := append(command("SET", key, value), command("GET", key)...)
		return b, "+OK\r\n$16\r\n" + value + "\r\n", 2
	}}
}

func hincrby() workload {
	return workload{name: "hincrby", step: func(conn int) ([]byte, string, int) {
		key := fmt.Sprintf("hash:%d", conn)
		b := append(command("HINCRBY", key, "field", "1"), command("HINCRBY", key, "field", "-1")...)
		return b, ":1\r\n:0\r\n", 2
	}}
}

// scriptLoad loads the same two scripts over and over.
func scriptLoad() workload {
	return workload{name: "script-load", step: func(int) ([]byte, string, int) {
		b := append(command("SCRIPT", "LOAD", acquire), command("SCRIPT", "LOAD", release)...)
		return b, fmt.Sprintf("$40\r\n%s\r\n$40\r\n%s\r\n", sha(acquire), sha(release)), 2
	}}
}
