package engine

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestEffects shows what data commands and stream commands send to replicas, SELECT apart.
// The effects, but not their dates, were read from the replication stream of
// redis-server 7.0.15.
func TestEffects(t *testing.T) {
	datadriven.RunTest(t, "testdata/effects/data.txt", sentToReplicas)
	datadriven.RunTest(t, "testdata/effects/streams.txt", sentToReplicas)
}

func sentToReplicas(t *testing.T, d *datadriven.TestData) string {
	require.Equal(t, "effects", d.Cmd)
	f := newFixture(t)
	f.node.AddReplica(1)
	s := f.session()
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		before := f.node.Offset()
		f.do(s, line)
		stream, ok := f.node.EffectsSince(before)
		require.True(t, ok)
		out.WriteString(strings.TrimRight(line+" => "+describeEffects(t, stream), " ") + "\n")
	}
	return out.String()
}

// describeEffects is a replication stream as command lines.
func describeEffects(t *testing.T, stream []byte) string {
	var commands []string
	for len(stream) > 0 {
		v, n, err := resp.Parse(stream)
		require.NoError(t, err)
		stream = stream[n:]
		words := make([]string, len(v.List))
		for i, word := range v.List {
			words[i] = word.Str
		}
		if words[0] != "SELECT" {
			commands = append(commands, strings.Join(words, " "))
		}
	}
	return strings.Join(commands, "; ")
}

// A replica that applies a master's effects has the master's keys.
func TestEffectsMakeTheSameKeys(t *testing.T) {
	master, replica := newFixture(t), newFixture(t)
	master.node.AddReplica(1)
	replica.node.BecomeReplica("master", 6379)
	s := master.session()
	for _, line := range []string{
		"SET s 1 PX 100000", "INCRBYFLOAT s 0.5", "SETEX t 10 v", "GETEX t PERSIST", "HSET h a 1 b 2",
		"HINCRBYFLOAT h a 0.25", "PEXPIRE h 5000", "RPUSH l a b c", "LMOVE l m LEFT RIGHT",
		"ZADD z 1 a 2 b", "ZINCRBY z 1.5 a", "SET gone 1", "PEXPIRE gone -1", "SELECT 3", "SET other 1",
	} {
		master.do(s, line)
	}
	stream, ok := master.node.EffectsSince(0)
	require.True(t, ok)
	require.NoError(t, replica.node.Apply(stream))
	for db := range 4 {
		from, to := master.node.Keyspace().DB(db), replica.node.Keyspace().DB(db)
		require.Equal(t, from.Keys(), to.Keys())
		for _, key := range from.Keys() {
			require.Equal(t, from.Describe([]byte(key)), to.Describe([]byte(key)), key)
		}
	}
}
