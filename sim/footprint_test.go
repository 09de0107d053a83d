package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/trace"
)

// What two requests to one server, two answers to one client, or anything else have to
// share for their order to matter.
func TestFootprintsConflict(t *testing.T) {
	const client, server, other = trace.Actor(1), trace.Actor(2), trace.Actor(3)
	at := func(f Footprint) Footprint {
		f.at, f.actors = server, 1<<server
		return f
	}
	answer := func(vote uint64) Footprint { return Footprint{actors: 1 << client, at: client, vote: vote} }
	read, write := at(Footprint{reads: true, args: []string{"GET", "a"}}), at(Footprint{args: []string{"SET", "a"}})
	latch := at(Footprint{args: []string{"DEL", "latch:{a}:77"}, single: "latch:{a}:77"})
	names := at(Footprint{args: []string{"EVAL", "text", "77"}})
	told := at(Footprint{reads: true, told: 1 << client})
	subscribed := func(channel string) Footprint {
		return at(Footprint{reads: true, args: []string{"SUBSCRIBE", channel}, channel: channel})
	}
	publishes := at(Footprint{args: []string{"PUBLISH", "news"}})
	for name, c := range map[string]struct {
		f, g      Footprint
		conflicts bool
	}{
		"elsewhere":                             {footprintOf(client), footprintOf(server), false},
		"at one actor":                          {footprintOf(client), footprintOf(client), true},
		"the whole world":                       {everything(), footprintOf(other), true},
		"a request and a fault":                 {read, footprintOf(server), true},
		"two that only read":                    {read, read, false},
		"one that writes":                       {read, write, true},
		"two that write":                        {write, write, true},
		"two that tell one":                     {told, told, true},
		"one that tells":                        {told, read, false},
		"a key that nobody else names":          {latch, write, false},
		"a key that somebody could make up":     {latch, names, true},
		"the same answer":                       {answer(7), answer(7), false},
		"another answer":                        {answer(7), answer(8), true},
		"an answer that nobody looks at":        {answer(7), answer(unheeded), false},
		"an answer that did something":          {answer(7), answer(0), true},
		"what is published where one listens":   {subscribed("news:1"), publishes, true},
		"what is published elsewhere":           {subscribed("olds"), publishes, false},
		"two that listen":                       {subscribed("news"), subscribed("news:1"), false},
		"beside the actor, the order of belief": {addBelief(read), addBelief(read), true},
	} {
		require.Equal(t, c.conflicts, c.f.Conflicts(c.g), name)
		require.Equal(t, c.conflicts, c.g.Conflicts(c.f), name)
	}
}

func addBelief(f Footprint) Footprint {
	f.actors |= 1 << footprintBeliefs
	return f
}

// A fault of one actor reaches no further, though faults share their budget.
func TestFootprintsReachBeyond(t *testing.T) {
	own := footprintOf(1)
	require.False(t, own.Beyond(1))
	require.True(t, own.Beyond(2))
	require.True(t, addBelief(own).Beyond(1))
	own.actors |= 1 << footprintBudget
	require.False(t, own.Beyond(1))
}

// For each check it is known what it looks at, but for a test's own, which may look at
// everything.
func TestWhatChecksHeed(t *testing.T) {
	for _, p := range promises {
		require.Equal(t, p.name != "own", p.heeds != nil, p.name)
		for _, kind := range p.heeds {
			require.NotZero(t, uint64(1)<<kind, "%s: a bit for each kind", p.name)
		}
	}
}

// A key is named by who says its last part, and not by who says a piece of that.
func TestFootprintsNameKeys(t *testing.T) {
	for key, names := range map[string]map[string]bool{
		"latch:{a}:77": {"latch:{a}:77": true, "77": true, "177": true, "7": false, "latch:{a}:": false, "": false},
		"plain":        {"plain": true, "lain": false},
		"":             {"": false, "a": false},
	} {
		for arg, want := range names {
			require.Equal(t, want, Footprint{args: []string{"GET", arg}}.names(key), "%q in %q", key, arg)
		}
	}
}

// Nobody looks at the answer to the end of what is left for repetitions; to anything else
// somebody may, and a test's clients may look at all.
func TestAnswersThatNobodyHeeds(t *testing.T) {
	const latch = latchPrefix + "{lock:1}:77"
	for _, c := range []struct {
		foreign bool
		args    []string
		want    bool
	}{
		{false, []string{"DEL", latch}, true}, {false, []string{"PEXPIRE", latch, "10"}, true},
		{true, []string{"DEL", latch}, false}, {false, []string{"DEL", "lock:1"}, false},
		{false, []string{"PEXPIRE", "lock:1", "10"}, false}, {false, []string{"GET", latch}, false},
		{false, []string{"EVALSHA", latch}, false}, {false, []string{"DEL"}, false},
	} {
		u := &Untimed{foreign: c.foreign}
		require.Equal(t, c.want, u.isUnheeded(c.args), c)
	}
}

// A renewal is known by its script, and apart only where there is more than one master, not
// all of which are asked at once, and a server's keys tell all of it.
func TestRenewalsOfSeveralMasters(t *testing.T) {
	renew, take := &lockclient.Script{SHA: "1", Name: "mutex-renew"}, &lockclient.Script{SHA: "2", Name: "mutex-acquire"}
	several := &World{groups: make([]*group, 2)}
	for name, c := range map[string]struct {
		u    Untimed
		args []string
		want bool
	}{
		"a renewal":            {Untimed{w: several}, []string{"EVALSHA", "1", "1", "lock:1"}, true},
		"another script":       {Untimed{w: several}, []string{"EVALSHA", "2", "1", "lock:1"}, false},
		"no script":            {Untimed{w: several}, []string{"PING"}, false},
		"one master":           {Untimed{w: &World{groups: make([]*group, 1)}}, []string{"EVALSHA", "1"}, false},
		"all masters at once":  {Untimed{w: several, alike: true}, []string{"EVALSHA", "1"}, false},
		"every answer is told": {Untimed{w: several, exact: true}, []string{"EVALSHA", "1"}, false},
		"a test's clients":     {Untimed{w: several, foreign: true}, []string{"EVALSHA", "1"}, false},
	} {
		c.u.scripts = []*lockclient.Script{take, renew}
		require.Equal(t, c.want, c.u.renews(&message{args: c.args}), name)
	}
}
