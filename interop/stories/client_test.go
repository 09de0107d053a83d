package stories

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/sim"
	"minikv/trace"
)

// asClient is the environment variable by which this binary is a client: its value is an
// identity.
const asClient = "STORIES_CLIENT"

func TestMain(m *testing.M) {
	logging.Disable() // of connections that are refused
	if text := os.Getenv(asClient); text != "" {
		var id identity
		if err := json.Unmarshal([]byte(text), &id); err != nil {
			panic(err)
		}
		id.run()
		return
	}
	if os.Getenv("REDIS_BINARY") != "" {
		ungoverned = enter()
	}
	code := m.Run()
	if together.jvm != nil {
		together.kill()
	}
	if scratch != "" {
		_ = os.RemoveAll(scratch)
	}
	os.Exit(code)
}

// identity is which client of which story a process is.
type identity struct {
	Story  string            // as a scenario file has it
	Number int               // 1, 2, 3, …
	Links  map[string]string // the address at which it finds a node, by the node's name
	From   string            // its own address, "" if it may have any
}

// told is an event that a client tells.
type told struct {
	Kind  trace.Kind
	At    int64  // Unix time, in ns
	Token int64  `json:",omitempty"` // of a failure: 1 if the lock is lost
	Reads bool   `json:",omitempty"` // of a belief: it only reads in this one, and writes otherwise
	Text  string `json:",omitempty"`
}

// client is the process: the workload of sim's clients, over lockclient.
type client struct {
	identity
	spec    *sim.Spec
	load    *sim.Workload
	lock    string
	mu      sync.Mutex // guards what follows
	masters []string   // by number
	conns   map[net.Conn]string
	ahead   atomic.Int64 // of its wall clock, in ns
}

// run does what is asked for on the standard input, until that ends.
func (id identity) run() {
	s, err := sim.ParseScenario("story", id.Story)
	if err != nil {
		panic(err)
	}
	c := &client{identity: id, spec: &s.World, load: &s.World.Load, conns: map[net.Conn]string{},
		lock: fmt.Sprintf("lock:%d", (id.Number-1)%s.World.Locks()+1)}
	for i := range s.World.Masters {
		c.masters = append(c.masters, fmt.Sprintf("m%d", i+1))
	}
	clients, err := c.connect()
	if err != nil {
		panic(err)
	}
	c.tell(trace.None, nil)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "start":
			go c.work(clients)
		case "follow": // a master's new name
			c.follow(words[1], words[2])
		case "jump":
			d, err := time.ParseDuration(words[1])
			if err != nil {
				panic(err)
			}
			c.ahead.Add(int64(d))
		}
	}
}

// tell tells an event, of now.
func (c *client) tell(kind trace.Kind, err error) {
	e := told{Kind: kind}
	if err != nil {
		e.Text = err.Error()
	}
	if errors.Is(err, lockclient.ErrLost) {
		e.Token = 1
	}
	c.tells(e)
}

var output sync.Mutex

func (c *client) tells(e told) {
	if e.At == 0 {
		e.At = time.Now().UnixNano()
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(line))
}

// clocks is the Runtime of production with a wall clock of its own.
type clocks struct {
	lockclient.Runtime
	c *client
}

func (r clocks) WallMillis() int64 { return r.Runtime.WallMillis() + r.c.ahead.Load()/1e6 }

// connect makes a lock client for each master, with a connection that is ready.
func (c *client) connect() (all []*lockclient.Client, err error) {
	rt := clocks{lockclient.System(), c}
	opts := []lockclient.Option{lockclient.WithWatchdog(c.load.TTL)}
	if c.load.FairWait > 0 {
		opts = append(opts, lockclient.WithFairWait(c.load.FairWait))
	}
	if c.Number <= c.load.Compat {
		opts = append(opts, lockclient.Compat316())
	}
	if c.load.Required {
		opts = append(opts, lockclient.RequireReplicas(1))
	}
	var how []goredis.Option
	if c.spec.Sync {
		how = append(how, goredis.WithReplicas())
	} else {
		how = append(how, goredis.WithoutReplicas())
	}
	for _, rdb := range c.servers() {
		transport, err := goredis.New(context.Background(), rdb, how...)
		if err != nil {
			return nil, err
		}
		if err := rdb.Ping(context.Background()).Err(); err != nil {
			return nil, err
		}
		all = append(all, lockclient.New(transport, rt, opts...))
	}
	return all, nil
}

// servers are go-redis's clients: one, or one for each of several masters.
func (c *client) servers() (all []redis.UniversalClient) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return c.dial(ctx, network, address)
	}
	var sentinels, nodes []string
	for name, address := range c.Links {
		if name[0] == 's' {
			sentinels = append(sentinels, address)
		} else {
			nodes = append(nodes, address)
		}
	}
	switch {
	case c.spec.Cluster:
		return append(all, redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes, Dialer: dial}))
	case len(sentinels) > 0:
		return append(all, redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "mymaster", SentinelAddrs: sentinels, Dialer: dial,
		}))
	}
	for i := range c.masters {
		all = append(all, redis.NewClient(&redis.Options{
			Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) { return c.dialMaster(ctx, network, i) },
		}))
	}
	return all
}

// dial connects to an address.
func (c *client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if c.From != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(c.From)}
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if !c.spec.Abort {
		conn = gentle{conn, conn.(raw)}
	}
	return conn, nil
}

// dialMaster connects to whom the client takes for a master.
func (c *client) dialMaster(ctx context.Context, network string, master int) (net.Conn, error) {
	c.mu.Lock()
	name := c.masters[master]
	c.mu.Unlock()
	conn, err := c.dial(ctx, network, c.Links[name])
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[conn] = name
	return conn, nil
}

// gentle is a connection that the adapter does not have reset when it is closed: what was
// sent arrives. go-redis sees all the same whether it is broken.
type gentle struct {
	net.Conn
	raw
}

type raw interface{ syscall.Conn }

// follow has the client take another node for the master, and leave its connections to
// the one before.
func (c *client) follow(before, now string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, name := range c.masters {
		if name == before {
			c.masters[i] = now
		}
	}
	for conn, name := range c.conns {
		if name == before {
			_ = conn.Close()
			delete(c.conns, conn)
		}
	}
}

// holding is what a client has.
type holding interface {
	Token() (token uint64, ok bool)
	Context() context.Context
	Unlock(ctx context.Context) error
}

// source is where a client gets what it holds.
type source func(ctx context.Context, opts []lockclient.LockOption) (holding, error)

// permits are those of a semaphore, which have no lease.
type permits struct {
	*lockclient.Permits
	ctx context.Context
}

func (p permits) Token() (uint64, bool)            { return 0, false }
func (p permits) Context() context.Context         { return p.ctx }
func (p permits) Unlock(ctx context.Context) error { return p.Release(ctx) }

// from is a lock as a source.
func from(lock *lockclient.Lock) source {
	return func(ctx context.Context, opts []lockclient.LockOption) (holding, error) {
		h, err := lock.Lock(ctx, opts...)
		if err != nil {
			return nil, err // not a nil *Held in an interface
		}
		return h, nil
	}
}

// sources are what the client takes, and what it takes inside of that.
func (c *client) sources(of []*lockclient.Client) (outer, inner source) {
	one := of[0]
	switch c.load.Kind {
	case "mutex":
		outer = from(one.Mutex(c.lock))
	case "fenced":
		outer = from(one.Fenced(c.lock))
	case "fair":
		outer = from(one.Fair(c.lock))
	case "nonreentrant":
		outer = from(one.NonReentrant(c.lock))
	case "nonreentrant-fair":
		outer = from(one.NonReentrantFair(c.lock))
	case "spin":
		outer = from(one.Spin(c.lock))
	case "simple":
		outer = from(one.Simple(c.lock))
	case "redlock":
		outer = from(lockclient.Redlock(c.lock, of...))
	case "redlock-hash":
		outer = from(lockclient.HashRedlock(c.lock, of...))
	case "permits":
		outer = from(one.PermitSemaphore(c.lock).Permit())
	case "rw":
		rw := one.RW(c.lock)
		if !c.reads() {
			return from(rw.W()), from(rw.R())
		}
		outer = from(rw.R())
	case "multi":
		var locks []*lockclient.Lock
		for i := range 3 {
			locks = append(locks, of[i%len(of)].Mutex(fmt.Sprintf("%s.%d", c.lock, i+1)))
		}
		if c.Number%2 == 0 && !c.load.OneOrder {
			slices.Reverse(locks)
		}
		outer = from(lockclient.Multi(locks...))
	case "semaphore":
		outer = func(ctx context.Context, opts []lockclient.LockOption) (holding, error) {
			p, err := one.Semaphore(c.lock).Acquire(ctx, 1, opts...)
			if err != nil {
				return nil, err
			}
			return permits{p, ctx}, nil
		}
	}
	return outer, outer
}

func (c *client) reads() bool { return c.Number <= c.load.Readers }

// work is what the client does, as sim's workers do it.
func (c *client) work(of []*lockclient.Client) {
	ctx := context.Background()
	if c.load.Kind == "latch" {
		c.latch(ctx, of[0].Latch(c.lock))
		c.tell(trace.End, nil)
		return
	}
	outer, inner := c.sources(of)
	for round := 1; c.load.Rounds == 0 || round <= c.load.Rounds; round++ {
		if h, err := c.take(ctx, outer, false); err != nil {
			time.Sleep(100 * time.Millisecond)
		} else {
			c.use(ctx, h, inner)
		}
		time.Sleep(drawn(c.load.Think))
	}
	c.tell(trace.End, nil)
}

func drawn(r sim.Range) time.Duration { return r.Lo + rand.N(r.Hi-r.Lo+1) }

// belief is what a client has, and believes that it has until that is over.
type belief struct {
	holding
	reads bool // as a writer
	over  sync.Once
}

// ends tells that a belief is over, unless it was.
func (c *client) ends(b *belief, kind trace.Kind) {
	b.over.Do(func() { c.tells(told{Kind: kind, Reads: b.reads}) })
}

// take takes something, and watches whether it is lost.
func (c *client) take(ctx context.Context, s source, reads bool) (*belief, error) {
	var opts []lockclient.LockOption
	if !c.load.Renew {
		opts = append(opts, lockclient.Lease(drawn(c.load.Lease)))
	}
	switch {
	case c.load.Once:
		opts = append(opts, lockclient.Wait(0))
	case c.load.Wait > 0:
		opts = append(opts, lockclient.Wait(c.load.Wait))
	}
	if c.load.Cancel > 0 {
		limited, cancel := context.WithCancel(ctx)
		defer time.AfterFunc(c.load.Cancel, cancel).Stop()
		ctx = limited
	}
	c.tell(trace.Acquire, nil)
	h, err := s(ctx, opts)
	if err != nil {
		c.tell(trace.Refused, err)
		return nil, err
	}
	b := &belief{holding: h, reads: reads}
	token, _ := h.Token()
	c.tells(told{Kind: trace.Hold, Token: int64(token), Reads: reads})
	context.AfterFunc(h.Context(), func() {
		if errors.Is(context.Cause(h.Context()), lockclient.ErrLost) {
			c.ends(b, trace.Lost)
		}
	})
	return b, nil
}

// use is what a client does with what it has got.
func (c *client) use(ctx context.Context, b *belief, inner source) {
	c.reenter(b.Context(), inner, c.load.Reenter)
	if c.load.Downgrade && !c.reads() {
		inside := ctx
		if h, ok := b.holding.(*lockclient.Held); ok {
			inside = h.In(ctx)
		}
		if kept, err := c.take(inside, inner, true); err == nil {
			c.giveBack(ctx, b)
			b = kept
		}
	}
	select {
	case <-time.After(drawn(c.load.Hold)):
	case <-b.Context().Done():
	}
	if b.Context().Err() == nil {
		token, _ := b.Token()
		c.tells(told{Kind: trace.Write, Token: int64(token)})
	}
	c.giveBack(ctx, b)
}

func (c *client) reenter(ctx context.Context, s source, times int) {
	if times == 0 {
		return
	}
	b, err := c.take(ctx, s, c.load.Kind == "rw" && !c.reads())
	if err != nil {
		return
	}
	c.reenter(b.Context(), s, times-1)
	c.giveBack(ctx, b)
}

func (c *client) giveBack(ctx context.Context, b *belief) {
	c.ends(b, trace.Release)
	if err := b.Unlock(ctx); err != nil {
		c.tell(trace.Failed, err)
		return
	}
	c.tell(trace.Freed, nil)
}

// latch waits for a latch, or counts it down.
func (c *client) latch(ctx context.Context, latch *lockclient.Latch) {
	for round := 1; c.load.Rounds == 0 || round <= c.load.Rounds; round++ {
		var err error
		if c.Number <= c.load.Waiters {
			c.tell(trace.Acquire, nil)
			if err = latch.Wait(ctx); err == nil {
				c.tell(trace.Opened, nil)
				return
			}
			c.tell(trace.Refused, err)
			time.Sleep(100 * time.Millisecond)
		} else {
			c.tell(trace.CountDown, nil)
			_, err = latch.CountDown(ctx)
			for errors.Is(err, lockclient.ErrNotSent) {
				time.Sleep(100 * time.Millisecond)
				_, err = latch.CountDown(ctx)
			}
			if err != nil {
				c.tell(trace.Failed, err)
			}
		}
		if errors.Is(err, lockclient.ErrNoLatch) {
			return
		}
		time.Sleep(drawn(c.load.Think))
	}
}
