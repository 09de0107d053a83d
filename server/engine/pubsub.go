package engine

import (
	"maps"
	"slices"

	"minikv/internal/resp"
	"minikv/trace"
)

// pubsub is who listens to what on a node.
type pubsub struct {
	channels map[string][]*Session // who subscribed, in that order
	shards   map[string][]*Session // the same for sharded channels
	patterns map[string]*patternSubs
	inOrder  []*patternSubs // in which each was first subscribed to; some have nobody any more
}

type patternSubs struct {
	pattern  string
	sessions []*Session // empty: it is no longer among the patterns
}

// subscriptions is what one session listens to, each list in the order of
// subscription.
type subscriptions struct {
	channels, patterns, shards nameSet
}

func (s *subscriptions) count() int {
	return s.channels.len() + s.patterns.len() + s.shards.len()
}

// nameSet is a set of names that remembers their order.
type nameSet struct{ some *nameList } // nil: none

// nameList is the members of a set. Few need no index.
type nameList struct {
	list  []string
	index map[string]struct{} // nil up to fewNames
}

// fewNames is up to how many names are looked for one by one.
const fewNames = 8

func (s *nameSet) len() int {
	if s.some == nil {
		return 0
	}
	return len(s.some.list)
}

// all are the names in the order in which they came.
func (s *nameSet) all() []string {
	if s.some == nil {
		return nil
	}
	return s.some.list
}

func (s *nameSet) has(name string) bool {
	if s.some == nil || s.some.index == nil {
		return slices.Contains(s.all(), name)
	}
	_, has := s.some.index[name]
	return has
}

// add reports whether name was new.
func (s *nameSet) add(name string) bool {
	if s.has(name) {
		return false
	}
	if s.some == nil {
		s.some = &nameList{}
	}
	one := s.some
	one.list = append(one.list, name)
	if one.index != nil {
		one.index[name] = struct{}{}
	} else if len(one.list) > fewNames {
		one.index = make(map[string]struct{})
		for _, name := range one.list {
			one.index[name] = struct{}{}
		}
	}
	return true
}

// remove reports whether name was there.
func (s *nameSet) remove(name string) bool {
	if !s.has(name) {
		return false
	}
	one := s.some
	delete(one.index, name)
	switch at := slices.Index(one.list, name); at {
	case 0: // as when all are removed, of which there may be thousands
		one.list[0] = ""
		one.list = one.list[1:]
	default:
		one.list = slices.Delete(one.list, at, at+1)
	}
	return true
}

// kind is one of the three ways to subscribe.
type kind struct {
	subscribe, unsubscribe string
	set                    func(*subscriptions) *nameSet
	count                  func(*subscriptions) int // that replies show
	join, leave            func(p *pubsub, name string, s *Session)
}

var (
	channelKind = kind{
		subscribe: "subscribe", unsubscribe: "unsubscribe",
		set:   func(s *subscriptions) *nameSet { return &s.channels },
		count: func(s *subscriptions) int { return s.channels.len() + s.patterns.len() },
		join:  func(p *pubsub, name string, s *Session) { join(&p.channels, name, s) },
		leave: func(p *pubsub, name string, s *Session) { leave(p.channels, name, s) },
	}
	patternKind = kind{
		subscribe: "psubscribe", unsubscribe: "punsubscribe",
		set:   func(s *subscriptions) *nameSet { return &s.patterns },
		count: channelKind.count,
		join:  (*pubsub).joinPattern,
		leave: (*pubsub).leavePattern,
	}
	shardKind = kind{
		subscribe: "ssubscribe", unsubscribe: "sunsubscribe",
		set:   func(s *subscriptions) *nameSet { return &s.shards },
		count: func(s *subscriptions) int { return s.shards.len() },
		join:  func(p *pubsub, name string, s *Session) { join(&p.shards, name, s) },
		leave: func(p *pubsub, name string, s *Session) { leave(p.shards, name, s) },
	}
)

// subscribe adds names to what s listens to, confirming each.
func (n *Node) subscribe(s *Session, k *kind, names [][]byte) {
	for _, b := range names {
		name := string(b)
		if k.set(&s.subs).add(name) {
			k.join(&n.pubsub, name, s)
		}
		s.push(resp.Value{Kind: resp.Push, List: []resp.Value{
			resp.Str(k.subscribe), resp.Str(name), resp.Int(int64(k.count(&s.subs))),
		}})
	}
}

// unsubscribe takes names, or with none all, away from what s listens to,
// confirming each. It confirms a null when there is none.
func (n *Node) unsubscribe(s *Session, k *kind, names [][]byte) {
	confirm := func(name resp.Value) {
		s.push(resp.Value{Kind: resp.Push, List: []resp.Value{
			resp.Str(k.unsubscribe), name, resp.Int(int64(k.count(&s.subs))),
		}})
	}
	set := k.set(&s.subs)
	if len(names) == 0 && set.len() == 0 {
		confirm(resp.Null)
	}
	if len(names) == 0 {
		for _, name := range slices.Clone(set.all()) {
			set.remove(name)
			k.leave(&n.pubsub, name, s)
			confirm(resp.Str(name))
		}
	}
	for _, b := range names {
		name := string(b)
		if set.remove(name) {
			k.leave(&n.pubsub, name, s)
		}
		confirm(resp.Str(name))
	}
}

// unsubscribeAll ends all subscriptions of s without a word.
func (n *Node) unsubscribeAll(s *Session) {
	for _, k := range []*kind{&channelKind, &patternKind, &shardKind} {
		for _, name := range k.set(&s.subs).all() {
			k.leave(&n.pubsub, name, s)
		}
	}
	s.subs = subscriptions{}
}

// Publish sends a message to all clients that listen to channel or to a pattern that
// matches it, and returns how many messages that made. Packages that register command
// families use it too.
func (n *Node) Publish(channel, message string) int {
	if n.cfg.Observe != nil {
		n.cfg.Observe(trace.Detail{What: trace.Published, Key: channel, Text: message})
	}
	sent := deliver(n.pubsub.channels[channel],
		resp.Str("message"), resp.Str(channel), resp.Str(message))
	for _, p := range n.pubsub.inOrder {
		if len(p.sessions) > 0 && matchGlob(p.pattern, channel) {
			sent += deliver(p.sessions,
				resp.Str("pmessage"), resp.Str(p.pattern), resp.Str(channel), resp.Str(message))
		}
	}
	return sent
}

// nobodyHears reports whether a message to channel would reach nobody: most
// unlocks of a lock are such.
func (n *Node) nobodyHears(channel []byte) bool {
	p := &n.pubsub
	return n.cfg.Observe == nil && len(p.patterns) == 0 && (len(p.channels) == 0 || len(p.channels[string(channel)]) == 0)
}

// PublishShard is Publish for a sharded channel.
func (n *Node) PublishShard(channel, message string) int {
	if n.cfg.Observe != nil {
		n.cfg.Observe(trace.Detail{What: trace.Published, Key: channel, Text: message})
	}
	return deliver(n.pubsub.shards[channel], resp.Str("smessage"), resp.Str(channel), resp.Str(message))
}

// deliver pushes one message to each session.
func deliver(sessions []*Session, parts ...resp.Value) int {
	message := resp.Value{Kind: resp.Push, List: parts}
	for _, s := range sessions {
		s.push(message)
	}
	return len(sessions)
}

// join adds s to the listeners of name.
func join(all *map[string][]*Session, name string, s *Session) {
	if *all == nil {
		*all = make(map[string][]*Session)
	}
	(*all)[name] = append((*all)[name], s)
}

// leave takes s from the listeners of name.
func leave(all map[string][]*Session, name string, s *Session) {
	rest := without(all[name], s)
	if len(rest) == 0 {
		delete(all, name)
		return
	}
	all[name] = rest
}

func (p *pubsub) joinPattern(pattern string, s *Session) {
	one := p.patterns[pattern]
	if one == nil {
		one = &patternSubs{pattern: pattern}
		if p.patterns == nil {
			p.patterns = make(map[string]*patternSubs)
		}
		p.patterns[pattern] = one
		p.inOrder = append(p.inOrder, one)
	}
	one.sessions = append(one.sessions, s)
}

// leavePattern leaves a pattern that nobody listens to in its place until there are as many
// of these as others: a client may have subscribed to thousands.
func (p *pubsub) leavePattern(pattern string, s *Session) {
	one := p.patterns[pattern]
	if one == nil {
		return
	}
	one.sessions = without(one.sessions, s)
	if len(one.sessions) > 0 {
		return
	}
	delete(p.patterns, pattern)
	if len(p.inOrder) >= 2*len(p.patterns) {
		p.inOrder = slices.DeleteFunc(p.inOrder, func(one *patternSubs) bool { return len(one.sessions) == 0 })
	}
}

// names lists the channels of a map that match a pattern ("" for all), sorted.
func names(all map[string][]*Session, pattern []byte) resp.Value {
	list := make([]resp.Value, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if pattern == nil || matchGlob(string(pattern), name) {
			list = append(list, resp.Str(name))
		}
	}
	return resp.List(list...)
}
