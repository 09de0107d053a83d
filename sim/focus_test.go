package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reached is an untimed world in which clients have begun and everything has happened, but
// faults and what comes again, until the first of the requests is about to arrive; then a
// fault has struck it, or whom it is for, and so on. The last request is about to arrive.
type reached struct {
	world, kinds string
	requests     []string // by a word in them
	faults       []ActionVerb
}

// untimed makes the world, and returns the action with which the last request arrives.
func (r reached) untimed(t *testing.T) (u *Untimed, arrives Action) {
	t.Helper()
	text := "# Reached.\nworld ttl=9s renew=off hold=500ms " + r.world + "\nexpect exclusion=holds\n"
	if !strings.Contains(r.world, "rounds=") {
		text = strings.Replace(text, "world", "world rounds=1", 1)
	}
	if r.kinds != "" {
		text += "faults " + r.kinds + "\n"
	}
	s := parsed(t, text+"run for=30s\n")
	var kinds []string
	for _, k := range s.Faults.Kinds {
		kinds = append(kinds, k.Kind)
	}
	u, err := NewUntimed(s, UntimedOptions{Faults: kinds, Budget: 1, Options: Options{Lua: NewLua()}})
	require.NoError(t, err)
	t.Cleanup(u.Close)
	for i, request := range r.requests {
		for found := false; !found; {
			actions := u.Actions()
			at := slices.IndexFunc(actions, func(a Action) bool {
				return a.Verb == Deliver && a.Lane == 0 && slices.Contains(u.waiting(a).args, request)
			})
			if found = at >= 0; found {
				arrives = actions[at]
				break
			}
			isDull := func(a Action) bool { return !a.Fault() && a.Lane == 0 }
			next := max(slices.IndexFunc(actions, func(a Action) bool { return a.Verb == Begin }),
				slices.IndexFunc(actions, isDull))
			require.GreaterOrEqual(t, next, 0, "no %s", request)
			u.Do(actions[next])
		}
		if i < len(r.faults) {
			struck := arrives
			struck.Verb = r.faults[i]
			at := slices.IndexFunc(u.Actions(), func(a Action) bool {
				return a.Verb == struck.Verb && a.To == struck.To && (a.From == 0 || a.From == struck.From)
			})
			require.GreaterOrEqual(t, at, 0, "no fault")
			u.Do(u.Actions()[at])
		}
	}
	return u, arrives
}

// waiting is the first message of an action's line.
func (u *Untimed) waiting(a Action) *message {
	return u.line(link{a.From, a.To}, a.Lane).steps[0].on.(*message)
}

// What has to do with nothing that anybody else does, and what only looks so.
func TestWhatIsAside(t *testing.T) {
	for name, c := range map[string]struct {
		reached
		aside bool
	}{
		"the end of what is left for repetitions": {reached{"clients=1 lock=mutex", "",
			[]string{"DEL"}, nil}, true},
		"of which a replica hears": {reached{"replicas=1 clients=1 lock=mutex", "",
			[]string{"DEL"}, nil}, false},
		"the answer to which a cut would hold up": {reached{"clients=1 lock=mutex", "partition",
			[]string{"DEL"}, []ActionVerb{Cut}}, false},
		"named by a release that comes again": {reached{"clients=1 lock=mutex", "duplicate",
			[]string{"PUBLISH", "DEL"}, []ActionVerb{Double}}, false},
		"at a server that has crashed": {reached{"clients=1 lock=mutex", "outage",
			[]string{"DEL"}, []ActionVerb{Kill}}, false},
		"the end of a subscription": {reached{"clients=2 lock=mutex", "",
			[]string{"UNSUBSCRIBE"}, nil}, true},
		"of who will ask again": {reached{"clients=2 lock=mutex rounds=2", "",
			[]string{"UNSUBSCRIBE"}, nil}, false},
		"of who will reenter": {reached{"clients=2 lock=mutex reenter=1", "",
			[]string{"UNSUBSCRIBE"}, nil}, false},
		"of who will read": {reached{"clients=2 lock=rw readers=0 downgrade=on", "",
			[]string{"UNSUBSCRIBE"}, nil}, false},
		"its beginning": {reached{"clients=2 lock=mutex", "",
			[]string{"SUBSCRIBE"}, nil}, false},
	} {
		u, arrives := c.untimed(t)
		require.Equal(t, c.aside, u.isAside(arrives), name)
	}
}

// Whether anybody could have something for a client, or a server, that does not wait yet.
func TestWhoHearsNoMore(t *testing.T) {
	const release = "PUBLISH"
	for name, c := range map[string]struct {
		reached
		then            func(u *Untimed, arrives Action)
		hears, isServed bool
	}{
		"a request is under way": {reached{"clients=1 lock=mutex", "", []string{release}, nil}, nil, true, false},
		"its answer is":          {reached{"clients=1 lock=mutex", "", []string{release}, nil}, arrive, false, true},
		"and a replica's to come": {reached{"replicas=1 clients=1 lock=mutex", "", []string{release}, nil}, nil, true,
			true},
		"the server may be cut off": {reached{"clients=1 lock=mutex", "partition", []string{release}, nil}, nil, true, true},
		"a replica may take over": {reached{"replicas=1 clients=1 lock=mutex", "failover", []string{release}, nil}, arrive,
			true, true},
		"a replica may be promoted": {reached{"replicas=1 clients=1 lock=mutex", "split", []string{release}, nil}, arrive,
			true, true},
		"it comes again": {reached{"clients=1 lock=mutex", "duplicate", []string{release}, []ActionVerb{Double}}, arrive,
			false, true},
	} {
		u, arrives := c.untimed(t)
		if c.then != nil {
			c.then(u, arrives)
		}
		require.Equal(t, c.hears, !u.hearsNoMore(u.process(arrives.From)), name)
		require.Equal(t, c.isServed, !u.isAskedNoMore(u.node(arrives.To)), name)
	}
	for name, c := range map[string]struct {
		world, kinds string
		hears        bool
	}{
		"who holds a lock":                      {"clients=1 lock=mutex", "", false},
		"whose server may crash":                {"clients=1 lock=mutex", "outage", true},
		"whose server may be taken over":        {"replicas=1 clients=1 lock=mutex", "failover", true},
		"whose server's replica gets promoted":  {"replicas=1 clients=1 lock=mutex", "split", true},
		"who may be cut off, and has not asked": {"clients=1 lock=mutex", "partition", false},
	} {
		u, arrives := reached{c.world, c.kinds, []string{"EVALSHA"}, nil}.untimed(t)
		p := u.process(arrives.From)
		for len(p.holding) == 0 || u.waits(p.actor, u.w.resource.actor) || u.waits(u.w.resource.actor, p.actor) {
			u.Do(u.Actions()[0])
		}
		require.Equal(t, c.hears, !u.hearsNoMore(p), name)
	}
	u, _ := reached{"clients=2 lock=mutex", "", []string{"SUBSCRIBE"}, nil}.untimed(t)
	for i := 0; i >= 0; i = slices.IndexFunc(u.Actions(), func(a Action) bool { return a.Verb != Elapse }) {
		u.Do(u.Actions()[i])
	}
	hear := 0
	for _, c := range u.r.clients {
		if !u.hearsNoMore(c.p) {
			hear++
			require.Empty(t, c.p.holding)
		}
	}
	require.Equal(t, 1, hear, "who waits is told when the lock is free")
}

func arrive(u *Untimed, a Action) { u.Do(a) }

// Who starts again has taken nothing yet, and is done with nothing, however far the
// process before had come.
func TestWhoStartsAgainBeginsAnew(t *testing.T) {
	for _, world := range []string{"clients=1 lock=mutex rounds=2", "clients=1 lock=redlock masters=2"} {
		u, _ := reached{world, "client-restart", nil, nil}.untimed(t)
		c := u.r.clients[0]
		end := func() {
			isDull := func(a Action) bool { return !a.Fault() }
			for i := 0; i >= 0; i = slices.IndexFunc(u.Actions(), isDull) {
				u.Do(u.Actions()[i])
			}
			require.True(t, u.isSettled(c.p), world)
			require.Equal(t, u.alike, u.isWindingUp(c.p), world)
		}
		end()
		u.Do(Action{Verb: Kill, To: c.actor})
		u.Do(Action{Verb: Revive, To: c.actor})
		require.False(t, u.isSettled(c.p), world)
		require.False(t, u.isWindingUp(c.p), world)
		end()
		require.Equal(t, "c1.2", c.p.id())
	}
}

// A cut concerns whom it cuts off as well as the server, a message only whom it reaches.
func TestWhomActionsConcern(t *testing.T) {
	for verb, both := range map[ActionVerb]bool{Cut: true, Mend: true, Deliver: false, Lose: false} {
		a := Action{Verb: verb, From: 1, To: 2}
		require.Equal(t, both, a.concerns(1), verb)
		require.True(t, a.concerns(2), verb)
		require.False(t, a.concerns(3), verb)
	}
}

// Whom a fault touches, or the end of one: those that could as well have done something
// before as after it are not among them.
func TestWhomFaultsTouch(t *testing.T) {
	asked := []string{"EVALSHA"}
	const two, pair, single = "clients=2 lock=mutex", "replicas=1 clients=2 lock=mutex", "replicas=1 clients=1 lock=mutex"
	for name, c := range map[string]struct {
		reached
		verb              ActionVerb
		from, to, touched string
		isFault           bool
	}{
		"a cut":                     {reached{two, "partition", asked, nil}, Cut, "c1", "m1", "c1 m1", true},
		"a pause":                   {reached{two, "pause", asked, nil}, Pause, "", "c1", "c1", true},
		"its end":                   {reached{two, "pause", asked, nil}, Unpause, "", "c1", "c1", false},
		"a client's crash":          {reached{two, "crash", asked, nil}, Kill, "", "c1", "c1", true},
		"what one has asked":        {reached{two, "outage", asked, nil}, Kill, "", "m1", "m1 c2", true},
		"that nobody has asked":     {reached{two, "outage", nil, nil}, Kill, "", "m1", "m1 c1 c2", true},
		"a server's return":         {reached{two, "outage", asked, nil}, Revive, "", "m1", "m1", false},
		"a client's return":         {reached{two, "outage", asked, nil}, Revive, "", "c1", "all", true},
		"the end of a cut":          {reached{two, "partition", asked, nil}, Mend, "c1", "m1", "all", true},
		"a promotion":               {reached{pair, "split", nil, nil}, Promote, "", "r1", "m1 r1", true},
		"a failover":                {reached{pair, "failover", asked, nil}, Depose, "", "r1", "m1 r1 c2", true},
		"from whom nobody asked":    {reached{single, "failover", nil, nil}, Depose, "", "r1", "m1 r1 c1", true},
		"a second crash":            {reached{two, "outage", asked, []ActionVerb{Kill}}, Kill, "", "m1", "m1 c1 c2", true},
		"where a server comes back": {reached{single, "outage", asked, nil}, Leap, "", "m1", "all", true},
	} {
		u, _ := c.untimed(t)
		a := Action{Verb: c.verb}
		a.From, _ = u.r.lookUp(c.from)
		a.To, _ = u.r.lookUp(c.to)
		want := everything().actors
		if c.touched != "all" {
			want = 0
			for _, name := range strings.Fields(c.touched) {
				who, _ := u.r.lookUp(name)
				want |= 1 << who
			}
			if c.isFault {
				want |= 1 << footprintBudget
			}
		}
		require.Equal(t, want, u.upsets(a).actors, name)
	}
}
