package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// worldOption is one option of the world line.
type worldOption struct {
	name string
	set  func(w *Spec, o Option) error
}

// worldOptions are in the order in which error messages list them.
func worldOptions() []worldOption {
	return []worldOption{
		{"masters", count(1, 99, func(w *Spec) *int { return &w.Masters })},
		{"replicas", count(0, 9, func(w *Spec) *int { return &w.Replicas })},
		{"replicated", count(0, 99, func(w *Spec) *int { return &w.Replicated })},
		{"cluster", setCluster},
		{"sentinels", count(0, 99, func(w *Spec) *int { return &w.Watched })},
		{"quorum", count(1, 99, func(w *Spec) *int { return &w.Quorum })},
		{"down-after", length(func(w *Spec) *time.Duration { return &w.Silence })},
		{"failover-timeout", length(func(w *Spec) *time.Duration { return &w.Failover })},
		{"min-replicas", count(0, 9, func(w *Spec) *int { return &w.MinGood })},
		{"clients", count(1, MaxClients, func(w *Spec) *int { return &w.Clients })},
		{"per-lock", count(1, MaxClients, func(w *Spec) *int { return &w.PerLock })},
		{"lock", setKind},
		{"profile", setProfile},
		{"ttl", setTTL},
		{"renew", onOrOff(func(w *Spec) *bool { return &w.Load.Renew })},
		{"hold", span(func(w *Spec) *Range { return &w.Load.Hold })},
		{"think", span(func(w *Spec) *Range { return &w.Load.Think })},
		{"rounds", count(0, 1_000_000_000, func(w *Spec) *int { return &w.Load.Rounds })},
		{"wait", length(func(w *Spec) *time.Duration { return &w.Load.Wait })},
		{"one-order", onOrOff(func(w *Spec) *bool { return &w.Load.OneOrder })},
		{"once", onOrOff(func(w *Spec) *bool { return &w.Load.Once })},
		{"cancel", length(func(w *Spec) *time.Duration { return &w.Load.Cancel })},
		{"reenter", count(0, 1000, func(w *Spec) *int { return &w.Load.Reenter })},
		{"readers", count(0, MaxClients, func(w *Spec) *int { return &w.Load.Readers })},
		{"downgrade", onOrOff(func(w *Spec) *bool { return &w.Load.Downgrade })},
		{"permits", count(1, 1_000_000, func(w *Spec) *int { return &w.Load.Permits })},
		{"count", count(1, 1_000_000, func(w *Spec) *int { return &w.Load.Count })},
		{"waiters", count(0, MaxClients, func(w *Spec) *int { return &w.Load.Waiters })},
		{"fair-wait", length(func(w *Spec) *time.Duration { return &w.Load.FairWait })},
		{"compat316", count(0, MaxClients, func(w *Spec) *int { return &w.Load.Compat })},
		{"pool", onOrOff(func(w *Spec) *bool { return &w.Pool })},
		{"abort", onOrOff(func(w *Spec) *bool { return &w.Abort })},
		{"sync", setConfirmed},
		{"fsync", setSync},
		{"scales", onOrOff(func(w *Spec) *bool { return &w.Load.Scales })},
		{"broken", setBroken},
		{"guards", count(0, MaxClients, func(w *Spec) *int { return &w.Load.Guards })},
		{"fence", onOrOff(func(w *Spec) *bool { return &w.Fence })},
		{"delay", span(func(w *Spec) *Range { return &w.Delay })},
		{"lag", span(func(w *Spec) *Range { return &w.Lag })},
		{"bound", length(func(w *Spec) *time.Duration { return &w.Bound })},
	}
}

// set applies one option of the world line.
func (w *Spec) set(o Option) error {
	all := worldOptions()
	i := slices.IndexFunc(all, func(known worldOption) bool { return known.name == o.Name })
	if i < 0 {
		var names []string
		for _, known := range all {
			names = append(names, known.name)
		}
		_, err := oneOf(Option{"world option", o.Name}, names)
		return err
	}
	return all[i].set(w, o)
}

// idle reports an option that asks for what the world has nothing of: it would do
// nothing, and what the run says would not be about what was asked.
func (w *Spec) idle() error {
	for _, o := range w.Words {
		if o.Value == "0" || o.Value == "off" {
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

func count(lo, hi int, field func(*Spec) *int) func(*Spec, Option) error {
	return func(w *Spec, o Option) (err error) {
		*field(w), err = number(o, lo, hi)
		return err
	}
}

func length(field func(*Spec) *time.Duration) func(*Spec, Option) error {
	return func(w *Spec, o Option) (err error) {
		*field(w), err = duration(o)
		return err
	}
}

func span(field func(*Spec) *Range) func(*Spec, Option) error {
	return func(w *Spec, o Option) (err error) {
		*field(w), err = durations(o)
		return err
	}
}

func onOrOff(field func(*Spec) *bool) func(*Spec, Option) error {
	return func(w *Spec, o Option) (err error) {
		*field(w), err = onOff(o)
		return err
	}
}
