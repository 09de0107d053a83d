package topology

import (
	"context"
	"fmt"
	"sync"

	"minikv/cluster"
)

// signal lets goroutines wait for something to happen to any node.
type signal struct {
	mu   sync.Mutex
	next chan struct{} // closed when something happens; nil: nobody waits
}

// wait is closed when something happens after this call.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

func (s *signal) happened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// Waiters counts the clients that wait for news of a key, on all nodes that run: those
// blocked in a pop of it, those that track it, and those that listen to a channel of that
// name or to one that tells of a lock of that name, such as Redisson's.
func (t *Topology) Waiters(key string) (count int) {
	for _, n := range t.nodes {
		n.Try(func(p cluster.Process) {
			n.looking = true // or WaitBlocked would wake itself
			if m, ok := p.(*cluster.Member); ok {
				count += waiters(m, key)
			}
		})
	}
	return count
}

// WaitBlocked returns when Waiters counts at least n for the key. The error wraps the
// context's and says how many there were, or says that the topology is closed.
func (t *Topology) WaitBlocked(ctx context.Context, key string, n int) error {
	return t.wait(ctx, func() (missing string, err error) {
		if count := t.Waiters(key); count < n {
			missing = fmt.Sprintf("clients that wait for %q: %d, not %d", key, count, n)
		}
		return missing, nil
	})
}

// wait looks, and looks again after each use of a node, until nothing is missing. An error of
// look ends it, too.
func (t *Topology) wait(ctx context.Context, look func() (missing string, err error)) error {
	for {
		happened := t.used.wait()
		missing, err := look()
		switch {
		case err != nil || missing == "":
			return err
		case t.closed.Load():
			return fmt.Errorf("topology: %s: the servers are closed", missing)
		}
		select {
		case <-happened:
		case <-ctx.Done():
			return fmt.Errorf("topology: %s: %w", missing, context.Cause(ctx))
		}
	}
}
