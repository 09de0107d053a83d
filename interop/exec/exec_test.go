package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// command is a test of an application, and what must have been built for it.
type command struct {
	name  string
	needs string
	words []string
}

func commands() []command {
	all := []command{
		{"redis-py", "../python/target/bin/python", []string{"../python/target/bin/python", "../python/test_lock.py"}},
		{"ioredis", "../node/node_modules", []string{"node", "--test", "../node/lock.test.js"}},
	}
	for _, version := range []string{"3", "4"} {
		jars := "../java/redisson" + version + "/target/classpath"
		path, _ := os.ReadFile(jars)
		all = append(all, command{"Redisson " + version, jars, []string{"java", "-ea", "-cp", string(path),
			"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "../java/LockTest.java"}})
	}
	return all
}

// A test command of each language passes on a cluster of minikv's, unchanged
// but for the URL.
func TestCommandsOfApplications(t *testing.T) {
	if os.Getenv("INTEROP_EXEC") == "" {
		t.Skip("interop/run.sh builds the clients and runs this")
	}
	minikv := filepath.Join(t.TempDir(), "minikv")
	built, err := exec.Command("go", "build", "-o", minikv, "minikv/cmd/minikv").CombinedOutput()
	require.NoError(t, err, "%s", built)
	for _, c := range commands() {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			if _, err := os.Stat(c.needs); err != nil {
				t.Skipf("without %s: %s is not there", c.name, c.needs)
			}
			out, err := exec.Command(minikv, append([]string{"exec", "--cluster", "3x1", "--"}, c.words...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
