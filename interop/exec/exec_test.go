package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// language is one in which tests are written: what must have been built for
// it, and the command that runs a test.
type language struct {
	name  string
	needs string
	run   []string
	test  func(name string) string // the file
}

func languages() []language {
	all := []language{
		{"redis-py", "../python/target/bin/python", []string{"../python/target/bin/python"},
			func(name string) string { return "../python/test_" + name + ".py" }},
		{"ioredis", "../node/node_modules", []string{"node", "--test"},
			func(name string) string { return "../node/" + name + ".test.js" }},
	}
	for _, version := range []string{"3", "4"} {
		jars := "../java/redisson" + version + "/target/classpath"
		path, _ := os.ReadFile(jars)
		all = append(all, language{"Redisson-" + version, jars, []string{"java", "-ea", "-cp", string(path),
			"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"},
			func(name string) string { return "../java/" + strings.ToUpper(name[:1]) + name[1:] + "Test.java" }})
	}
	return all
}

// build makes a minikv.
func build(t *testing.T) string {
	if os.Getenv("INTEROP_EXEC") == "" {
		t.Skip("interop/run.sh builds the clients and runs this")
	}
	minikv := filepath.Join(t.TempDir(), "minikv")
	built, err := exec.Command("go", "build", "-o", minikv, "minikv/cmd/minikv").CombinedOutput()
	require.NoError(t, err, "%s", built)
	return minikv
}

// A test command of each language passes on a cluster of minikv's, unchanged
// but for the URL, and over TLS. Another moves the clock, by a command of its client.
func TestCommandsOfApplications(t *testing.T) {
	minikv := build(t)
	for _, l := range languages() {
		for _, c := range []struct {
			name    string
			test    string
			options []string
			key     string
		}{
			{"lock", "lock", []string{"--cluster", "3x1"}, "orders:1"},
			{"tls", "lock", []string{"--cluster", "3x1", "--tls", t.TempDir()}, "orders:1"},
			{"expiry", "expiry", []string{"--clock", "virtual", "--control"}, "orders:42"},
		} {
			t.Run(l.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				if _, err := os.Stat(l.needs); err != nil {
					t.Skipf("without %s: %s is not there", l.name, l.needs)
				}
				trace := filepath.Join(t.TempDir(), "trace.jsonl")
				words := append(append([]string{"exec", "--trace", trace}, c.options...), "--")
				out, err := exec.Command(minikv, append(append(words, l.run...), l.test(c.test))...).CombinedOutput()
				require.NoError(t, err, "%s", out)
				// It did take locks, of which none was held by two.
				out, err = exec.Command(minikv, "trace", trace, "--key", c.key).CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.Contains(t, string(out), c.key+" is held by ")
			})
		}
	}
}

// A harness that starts redis-server for its tests starts minikv just so.
func TestHarness(t *testing.T) {
	minikv := build(t)
	python := languages()[0]
	if _, err := os.Stat(python.needs); err != nil {
		t.Skipf("without pytest-redis: %s is not there", python.needs)
	}
	command := exec.Command(python.needs, "-m", "pytest", "-q", "-p", "no:cacheprovider", python.test("harness"),
		"--redis-exec", minikv)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "2 passed")
}
