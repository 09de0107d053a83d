package lockclient_test

import (
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// The methods that the table for users of Redisson names exist.
func TestTableOfRedissonCalls(t *testing.T) {
	text, err := os.ReadFile("../docs/redisson.md")
	require.NoError(t, err)
	receivers := map[string][]any{
		"c": {&lockclient.Client{}},
		"l": {&lockclient.Lock{}, &lockclient.Latch{}},
		"h": {&lockclient.Held{}},
		"s": {&lockclient.Semaphore{}, &lockclient.PermitSemaphore{}},
		"p": {&lockclient.Permits{}},
	}
	calls := regexp.MustCompile(`\b([clhsp])\.([A-Z]\w+)\(`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(calls), 40)
	for _, call := range calls {
		found := false
		for _, receiver := range receivers[call[1]] {
			_, ok := reflect.TypeOf(receiver).MethodByName(call[2])
			found = found || ok
		}
		assert.True(t, found, "%s.%s", call[1], call[2])
	}
}
