package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// worldOption is one option of the world line.
type worldOption struct {
	name  string
	about string
	value value
}

// value is what an option may be, in the words of a usage, and how it is set.
type value struct {
	form string
	set  func(w *Spec, o Option) error
}

// optionGroup are the options of the world line about one thing.
type optionGroup struct {
	about   string
	options []worldOption
}

// worldOptions are in the order in which error messages list them, and the reference.
func worldOptions() []optionGroup {
	return []optionGroup{
		{"the servers", serverOptions()},
		{"the clients and their lock", clientOptions()},
		{"what some kinds of lock have", kindOptions()},
	}
}

func serverOptions() []worldOption {
	return []worldOption{
		{"masters", "how many (1)", count(1, 99, func(w *Spec) *int { return &w.Masters })},
		{"replicas", "of each master (0)", count(0, 9, func(w *Spec) *int { return &w.Replicas })},
		{"replicated", "the number of the only master that has replicas, from 1; 0: each has them (0)",
			count(0, 99, func(w *Spec) *int { return &w.Replicated })},
		{"cluster", "masters that share the slots, and replicas of each; at most 300 nodes",
			value{"MASTERSxREPLICAS", setCluster}},
		{"sentinels", "how many watch the masters (0)", count(0, 99, func(w *Spec) *int { return &w.Watched })},
		{"quorum", "how many of them must take a master for dead (more than half)",
			count(1, 99, func(w *Spec) *int { return &w.Quorum })},
		{"down-after", "the silence after which Sentinels take a server for dead (30s); in a cluster the node timeout (15s)",
			length(func(w *Spec) *time.Duration { return &w.Silence })},
		{"failover-timeout", "of Sentinels (3m)", length(func(w *Spec) *time.Duration { return &w.Failover })},
		{"min-replicas", "a master refuses writes unless so many replicas follow it closely (0)",
			count(0, 9, func(w *Spec) *int { return &w.MinGood })},
		{"fsync", "everysec: what is on disk is up to a second old (always)", value{"always|everysec", setSync}},
		{"delay", "of a message, one way (1ms..5ms)", span(func(w *Spec) *Range { return &w.Delay })},
		{"lag", "of replication (delay)", span(func(w *Spec) *Range { return &w.Lag })},
	}
}

func clientOptions() []worldOption {
	return []worldOption{
		{"clients", "how many (2)", count(1, MaxClients, func(w *Spec) *int { return &w.Clients })},
		{"per-lock", "how many of them share a lock (100)", count(1, MaxClients, func(w *Spec) *int { return &w.PerLock })},
		{"lock", strings.Join(kindNames(), ", ") + ": one that a test brings, see sim/simtest (mutex)",
			value{"KIND", setKind}},
		{"profile", "whose client takes it; redisson: a model of Redisson's (lockclient)",
			value{"lockclient|redisson", setProfile}},
		{"compat316", "how many clients, the first ones, speak the protocol of Redisson 3.16 (0)",
			count(0, MaxClients, func(w *Spec) *int { return &w.Load.Compat })},
		{"broken", "the model of Redisson gives back what another client has, to show that a check can fail",
			value{"release", setBroken}},
		{"pool", "on: each request of a client has a connection of its own, and so has Pub/Sub, which may overtake (off)",
			onOrOff(func(w *Spec) *bool { return &w.Pool })},
		{"abort", "on, with pool=on: a connection without an answer is closed after 5s, and drops what has not arrived (off)",
			onOrOff(func(w *Spec) *bool { return &w.Abort })},
		{"sync", "on: acquisitions are checked with WAIT; required: by one replica also where the master knows of none (off)",
			value{"on|off|required", setConfirmed}},
		{"ttl", "the lease; a range only with renew=off (30s)", value{"RANGE", setTTL}},
		{"renew", "on: the watchdog renews the lease; off: it is fixed (on)",
			onOrOff(func(w *Spec) *bool { return &w.Load.Renew })},
		{"rounds", "how many rounds a client has; 0: for ever (0)",
			count(0, 1_000_000_000, func(w *Spec) *int { return &w.Load.Rounds })},
		{"hold", "how long it has the lock (100ms)", span(func(w *Spec) *Range { return &w.Load.Hold })},
		{"think", "how long it waits before the next round (0s)", span(func(w *Spec) *Range { return &w.Load.Think })},
		{"scales", "on: a hold is one of the durations that matter to the lease, up to hold (off)",
			onOrOff(func(w *Spec) *bool { return &w.Load.Scales })},
		{"wait", "the limit of lock(); 0s: none (0s)", length(func(w *Spec) *time.Duration { return &w.Load.Wait })},
		{"once", "on: lock() is a single attempt (off)", onOrOff(func(w *Spec) *bool { return &w.Load.Once })},
		{"cancel", "after how long the context of lock() ends; 0s: never (0s)",
			length(func(w *Spec) *time.Duration { return &w.Load.Cancel })},
		{"reenter", "how many times a holder takes the lock again (0)",
			count(0, 1000, func(w *Spec) *int { return &w.Load.Reenter })},
		{"guards", "how many clients, the last ones, only ask whether the lock is free (0)",
			count(0, MaxClients, func(w *Spec) *int { return &w.Load.Guards })},
		{"fence", "on: the resource checks fencing tokens (on for lock=fenced)",
			onOrOff(func(w *Spec) *bool { return &w.Fence })},
		{"bound", "how long an acquire may take where progress or liveness is checked (2·ttl)",
			length(func(w *Spec) *time.Duration { return &w.Bound })},
	}
}

func kindOptions() []worldOption {
	return []worldOption{
		{"one-order", "of multi: all clients name its locks in one order (off)",
			onOrOff(func(w *Spec) *bool { return &w.Load.OneOrder })},
		{"readers", "of rw and own: how many clients, the first ones, read (0)",
			count(0, MaxClients, func(w *Spec) *int { return &w.Load.Readers })},
		{"downgrade", "of rw: writers read on (off)", onOrOff(func(w *Spec) *bool { return &w.Load.Downgrade })},
		{"permits", "of semaphore, permits and own: how many may have it at a time (1)",
			count(1, 1_000_000, func(w *Spec) *int { return &w.Load.Permits })},
		{"count", "of latch: how often it is counted down before it opens (1)",
			count(1, 1_000_000, func(w *Spec) *int { return &w.Load.Count })},
		{"waiters", "of latch: how many clients, the first ones, wait (0)",
			count(0, MaxClients, func(w *Spec) *int { return &w.Load.Waiters })},
		{"fair-wait", "of fair locks: lockclient's WithFairWait (5m)",
			length(func(w *Spec) *time.Duration { return &w.Load.FairWait })},
	}
}

// allOptions are all options of the world line.
func allOptions() (list []worldOption) {
	for _, g := range worldOptions() {
		list = append(list, g.options...)
	}
	return list
}

// set applies one option of the world line.
func (w *Spec) set(o Option) error {
	var names []string
	for _, known := range allOptions() {
		if known.name == o.Name {
			return known.value.set(w, o)
		}
		names = append(names, known.name)
	}
	_, err := oneOf(Option{"world option", o.Name}, names)
	return err
}

// formOf is the error of a word without a value, with the form that the option has: err if
// there is no such option.
func formOf(word string, err error) error {
	name, _, _ := strings.Cut(word, "=")
	for _, known := range allOptions() {
		if known.name == name {
			return fmt.Errorf("%q: expected %s=%s", word, name, known.value.form)
		}
	}
	return err
}

// idle reports an option that asks for what the world has nothing of: it would do
// nothing, and what the run says would not be about what was asked.
func (w *Spec) idle() error {
	for _, o := range w.Words {
		if o.Value == "0" || o.Value == "0s" || o.Value == "off" {
			continue // it asks for nothing
		}
		if needs := w.lacks(o); needs != "" {
			return fmt.Errorf("%s=%s does nothing here: expected %s, or no %s=", o.Name, o.Value, needs, o.Name)
		}
	}
	return nil
}

// lacks is what the world lacks for an option to do something, "" if nothing.
func (w *Spec) lacks(o Option) string {
	if of := heeding(o.Name); of != nil {
		return unless(slices.Contains(of, w.Load.Kind), "lock="+strings.Join(of, " or "))
	}
	isHeld := findKind(w.Load.Kind).Promise != "gate"
	switch o.Name {
	case "cancel", "reenter":
		return unless(isHeld, "a lock that is given back")
	case "compat316":
		return unless(w.Load.Kind != OwnKind, "a lock of lockclient's")
	case "abort":
		return unless(w.Pool, "pool=on")
	case "sync":
		return unless(o.Value != "required" || w.MayRequire(), "replicas, and a lock of lockclient's that asks them")
	case "wait", "once":
		return unless(isHeld && w.Load.Kind != OwnKind, "a lock of which lock() can give up")
	case "down-after":
		return unless(w.Watched > 0 || w.Cluster, "sentinels or a cluster")
	case "failover-timeout":
		return unless(w.Watched > 0, "sentinels")
	}
	return ""
}

// MayRequire tells whether sync=required means something here: that nothing is granted,
// renewed or counted without a replica's word.
func (w *Spec) MayRequire() bool {
	k := findKind(w.Load.Kind)
	return w.Replicas > 0 && w.Replicated == 0 && !w.Load.Redisson && !k.alone && k.name != OwnKind
}

// heeding are the kinds of lock to which an option means something that means nothing to
// others; nil if there is none that is such to it.
func heeding(option string) []string {
	return namesOf(func(k *kind) bool {
		return slices.Contains(k.options, option) || option == "guards" && k.asked != nil
	})
}

func unless(is bool, needs string) string {
	if is {
		return ""
	}
	return needs
}

// beyond reports a number of clients that is above how many there are.
func (w *Spec) beyond() error {
	for _, some := range []struct {
		name  string
		count int
	}{
		{"readers", w.Load.Readers},
		{"waiters", w.Load.Waiters},
		{"guards", w.Load.Guards},
		{"compat316", w.Load.Compat},
	} {
		if some.count > w.Clients {
			return fmt.Errorf("%s=%d: expected at most clients=%d", some.name, some.count, w.Clients)
		}
	}
	return nil
}

// given reports whether the world line has an option.
func (w *Spec) given(name string) bool {
	return slices.ContainsFunc(w.Words, func(o Option) bool { return o.Name == name })
}

func setKind(w *Spec, o Option) (err error) {
	w.Load.Kind, err = oneOf(o, kindNames())
	return err
}

// setProfile says whose client takes the locks.
func setProfile(w *Spec, o Option) error {
	name, err := oneOf(o, []string{"lockclient", "redisson"})
	w.Load.Redisson = name == "redisson"
	return err
}

// setBroken breaks the model of a client on purpose, so that a check can be seen to fail.
func setBroken(w *Spec, o Option) error {
	_, err := oneOf(o, []string{"release"})
	w.Load.Broken = err == nil
	return err
}

// setSync says when servers sync their disks.
func setSync(w *Spec, o Option) error {
	policy, err := oneOf(o, []string{"always", "everysec"})
	w.EverySec = policy == "everysec"
	return err
}

// setConfirmed says when clients have replicas confirm what they acquire.
func setConfirmed(w *Spec, o Option) error {
	when, err := oneOf(o, []string{"on", "off", "required"})
	w.Sync, w.Load.Required = when == "on" || when == "required", when == "required"
	return err
}

// setTTL sets the lease that is renewed, and the range of one that is not.
func setTTL(w *Spec, o Option) (err error) {
	w.Load.Lease, err = durations(o)
	w.Load.TTL = w.Load.Lease.Hi
	return err
}

func count(lo, hi int, field func(*Spec) *int) value {
	return value{"N", func(w *Spec, o Option) (err error) {
		*field(w), err = number(o, lo, hi)
		return err
	}}
}

func length(field func(*Spec) *time.Duration) value {
	return value{"DURATION", func(w *Spec, o Option) (err error) {
		*field(w), err = duration(o)
		return err
	}}
}

func span(field func(*Spec) *Range) value {
	return value{"RANGE", func(w *Spec, o Option) (err error) {
		*field(w), err = durations(o)
		return err
	}}
}

func onOrOff(field func(*Spec) *bool) value {
	return value{"on|off", func(w *Spec, o Option) (err error) {
		*field(w), err = onOff(o)
		return err
	}}
}
