package lockclient

import (
	"context"
	"math"
	"slices"
	"time"
)

// everyone is a number of waiters that no channel exceeds.
const everyone = math.MaxInt64

// wakeRule tells how many waiters a message wakes.
type wakeRule func(payload string) int64

// lockWakes is the rule of locks; other messages are no wake-ups.
func lockWakes(payload string) int64 {
	switch payload {
	case wakeOne:
		return 1
	case wakeAll:
		return everyone
	}
	return 0
}

// hub holds a client's subscriptions: one for each channel that somebody waits
// on, however many wait. The client's mutex guards it and all it points to.
type hub struct {
	channels []*channel
	byName   map[string]*channel // of those, once there are many
}

// manyChannels is from how many channels on they are not looked for one by one.
const manyChannels = 8

// find returns the channel of that name, or nil.
func (h *hub) find(name string) *channel {
	if h.byName != nil {
		return h.byName[name]
	}
	for _, ch := range h.channels {
		if ch.name == name {
			return ch
		}
	}
	return nil
}

func (h *hub) add(ch *channel) {
	ch.at = len(h.channels)
	h.channels = append(h.channels, ch)
	if h.byName == nil && len(h.channels) == manyChannels {
		h.byName = map[string]*channel{}
		for _, one := range h.channels {
			h.byName[one.name] = one
		}
	}
	if h.byName != nil {
		h.byName[ch.name] = ch
	}
}

func (h *hub) remove(ch *channel) {
	last := len(h.channels) - 1
	h.channels[ch.at] = h.channels[last]
	h.channels[ch.at].at = ch.at
	h.channels[last] = nil
	h.channels = h.channels[:last]
	delete(h.byName, ch.name)
}

// channel is one subscribed channel.
type channel struct {
	name    string
	at      int // its place in the hub
	wakes   wakeRule
	members int // waiters, those included who wait for the confirmation
	opening bool
	sub     Subscription // nil until confirmed
	openers []Gate       // waiting for the confirmation
	places  []*place     // in the order of arrival
}

// place is one waiter's place at a channel.
type place struct {
	client  *Client
	channel *channel
	gate    Gate
	need    int64  // what the waiter can use; fewer do not wake it
	heard   string // the last message, "" before the first
	hears   int    // how many there were
	wakes   int    // wake-ups given to this waiter
	spent   int    // those that an answered attempt has followed
	all     Gate   // nil, or opened at every wake-up: this one takes none from the others
}

// join takes a place at the channel of a lock.
func (c *Client) join(ctx context.Context, name string) (waiting, error) {
	p, err := c.joinFor(ctx, name, lockWakes, 1)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// joinFor takes a place at a channel, for one that can use need of what its
// messages count.
func (c *Client) joinFor(ctx context.Context, name string, wakes wakeRule, need int64) (*place, error) {
	p := &place{gate: c.rt.NewGate(), need: need}
	if err := c.seat(ctx, p, name, wakes); err != nil {
		return nil, err
	}
	return p, nil
}

// seat gives p its place at a channel, and returns when the subscription is
// confirmed. The first to come subscribes; if that fails the next one tries.
func (c *Client) seat(ctx context.Context, p *place, name string, wakes wakeRule) error {
	p.client = c
	c.mu.Lock()
	ch := c.hub.find(name)
	if ch == nil {
		ch = &channel{name: name, wakes: wakes}
		c.hub.add(ch)
	}
	ch.members++
	p.channel = ch
	c.mu.Unlock()
	for {
		confirmed, mine := c.enlist(p)
		switch {
		case confirmed:
			return nil
		case mine:
			if err := c.subscribe(ctx, ch); err != nil {
				c.forsake(ch)
				return err
			}
		default:
			if _, err := p.gate.Wait(ctx, -1); err != nil {
				c.forsake(ch)
				return contextError(ctx)
			}
		}
	}
}

// linger gives a place that no message reaches: its gate opens when the client is closed.
func (c *Client) linger(gate Gate) *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &place{client: c, channel: &channel{members: 1}, all: gate}
	p.channel.places = append(p.channel.places, p)
	c.hub.add(p.channel)
	return p
}

// enlist gives p its place if the subscription is confirmed. Otherwise mine
// tells that p is to subscribe; if not, its gate opens when somebody else has.
func (c *Client) enlist(p *place) (confirmed, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := p.channel
	switch {
	case ch.sub != nil:
		ch.places = append(ch.places, p)
		return true, false
	case !ch.opening:
		ch.opening = true
		return false, true
	}
	ch.openers = append(ch.openers, p.gate)
	return false, false
}

// subscribe subscribes, and lets all who wait for that look again.
func (c *Client) subscribe(ctx context.Context, ch *channel) error {
	var sub Subscription
	until := c.patienceEnds(c.timeout)
	once := func() (err error) {
		ctx2, cancel := c.rt.WithDeadline(ctx, c.rt.Mono()+c.timeout)
		defer cancel()
		sub, err = c.transport.Subscribe(ctx2, ch.name, c.sharded(),
			func(payload string) { c.deliver(ch, payload) },
			func() { c.wakeWaiters(ch, everyone) })
		return err
	}
	err := c.persist(ctx, until, once(), once)
	c.mu.Lock()
	ch.opening = false
	if err == nil {
		ch.sub = sub
	}
	openers := ch.openers
	ch.openers = nil
	c.mu.Unlock()
	for _, g := range openers {
		g.Open()
	}
	return outcomeError(ctx, err)
}

// forsake gives up a membership; the last one ends the subscription.
func (c *Client) forsake(ch *channel) {
	c.mu.Lock()
	ch.members--
	var sub Subscription
	if ch.members == 0 {
		sub = ch.sub
		c.hub.remove(ch)
	}
	c.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
}

// deliver wakes for a message.
func (c *Client) deliver(ch *channel, payload string) {
	c.mu.Lock()
	for _, p := range ch.places {
		p.heard = payload
		p.hears++
	}
	c.mu.Unlock()
	c.wakeWaiters(ch, ch.wakes(payload))
}

// wakeWaiters wakes up to n waiters that need no more than n, in the order of
// arrival, and beside them all who hear everything. Those that are awake already
// come last, but they do come: the server may have answered their attempt before
// it sent the message.
func (c *Client) wakeWaiters(ch *channel, n int64) {
	c.mu.Lock()
	var asleep, awake, hearing []*place
	for _, p := range ch.places {
		switch {
		case p.need > n:
		case p.all != nil:
			hearing = append(hearing, p)
		case p.wakes == p.spent:
			asleep = append(asleep, p)
		default:
			awake = append(awake, p)
		}
	}
	chosen := append(asleep, awake...)
	if int64(len(chosen)) > n {
		chosen = chosen[:n]
	}
	chosen = append(chosen, hearing...)
	for _, p := range chosen {
		p.wakes++
	}
	c.mu.Unlock()
	for _, p := range chosen {
		if p.all != nil {
			p.all.Open()
		} else {
			p.gate.Open()
		}
	}
}

func (p *place) attempt(f func() error) error {
	c := p.client
	c.mu.Lock()
	before := p.wakes
	c.mu.Unlock()
	err := f()
	if err == nil {
		c.mu.Lock()
		p.spent = before
		c.mu.Unlock()
	}
	return err
}

func (p *place) park(ctx context.Context, d time.Duration) (woken bool, err error) {
	return p.gate.Wait(ctx, d)
}

// woken tells whether a wake-up has come that no attempt has followed.
func (p *place) woken() bool {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	return p.wakes > p.spent
}

// lastHeard returns the last message, "" before the first.
func (p *place) lastHeard() string {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	return p.heard
}

// hearings returns how many messages there were.
func (p *place) hearings() int {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	return p.hears
}

// outdate forgets the last message, unless there were more than so many.
func (p *place) outdate(hears int) {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	if p.hears == hears {
		p.heard = ""
	}
}

func (p *place) leave() {
	c, ch := p.client, p.channel
	c.mu.Lock()
	ch.places = slices.DeleteFunc(ch.places, func(o *place) bool { return o == p })
	unspent := p.wakes > p.spent
	c.mu.Unlock()
	if unspent && p.all == nil {
		c.wakeWaiters(ch, p.need)
	}
	c.forsake(ch)
}
