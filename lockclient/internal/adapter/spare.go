package adapter

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// SpareLimit is how long a spare may take to confirm a subscription: nobody has
	// noticed yet whether it still works.
	SpareLimit = time.Second
	// spareTime is how long a connection is kept that has no subscription any more.
	spareTime = 2 * time.Second
	// spareCount is how many such connections are kept.
	spareCount = 32
)

// Spares are connections whose subscriptions have ended, for the next ones. Who
// contends for a lock subscribes again and again, and to connect each time costs
// several round trips, and a port of this machine for a minute.
type Spares[T any] struct {
	drop func(T)

	mu  sync.Mutex
	all []*spare[T]
}

// spare is a connection without a subscription.
type spare[T any] struct {
	place string // see Place
	conn  T
	end   *time.Timer // of the time it is kept
}

// NewSpares returns none. Those that are kept in vain are dropped.
func NewSpares[T any](drop func(T)) *Spares[T] { return &Spares[T]{drop: drop} }

// Keep keeps a connection for a while.
func (k *Spares[T]) Keep(place string, conn T) {
	if !k.add(place, conn) {
		k.drop(conn)
	}
}

func (k *Spares[T]) add(place string, conn T) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) == spareCount {
		return false
	}
	s := &spare[T]{place: place, conn: conn}
	s.end = time.AfterFunc(spareTime, func() {
		if k.remove(s) {
			k.drop(conn)
		}
	})
	k.all = append(k.all, s)
	return true
}

// remove takes a connection out; false if somebody else has.
func (k *Spares[T]) remove(s *spare[T]) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.Index(k.all, s)
	if i >= 0 {
		k.all = slices.Delete(k.all, i, i+1)
	}
	return i >= 0
}

// Take returns the connection that was used last at a place; ok is false if there
// is none.
func (k *Spares[T]) Take(place string) (conn T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, s := range slices.Backward(k.all) {
		if s.place == place {
			s.end.Stop()
			k.all = slices.Delete(k.all, i, i+1)
			return s.conn, true
		}
	}
	return conn, false
}

// Place is where a channel may be subscribed to: in a cluster on a connection of
// its slot, whose name is its hash tag, or the whole channel if it has none.
func Place(cluster bool, channel string) string {
	if !cluster {
		return ""
	}
	_, tag, _ := strings.Cut(channel, "{")
	tag, _, tagged := strings.Cut(tag, "}")
	if !tagged || tag == "" {
		return channel
	}
	return "{" + tag
}
