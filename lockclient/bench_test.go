package lockclient_test

import (
	"context"
	"testing"

	"minikv/lockclient"
)

// idle is a Transport on which every lock is free, and which notes nothing.
type idle struct{ wire }

func (w *idle) Eval(
	_ context.Context, script *lockclient.Script, keys, _ []string,
) (lockclient.Reply, error) {
	return free(script.Name, keys)
}

func (w *idle) Do(context.Context, string, ...string) (lockclient.Reply, error) {
	return lockclient.Reply{}, nil
}

// BenchmarkMutex is one lock and unlock without contention and without a server.
func BenchmarkMutex(b *testing.B) {
	c := lockclient.New(&idle{}, lockclient.System(), lockclient.WithID("0f8fad5b-d9cb-469f-a165-70867728950e"))
	m, ctx := c.Mutex("orders:42"), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		h, err := m.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err = h.Unlock(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
