package matrix

import (
	"slices"
	"strings"

	"minikv/sim"
)

// column is a kind of lock as the matrix has it: a kind of the simulator's, or one side of it.
type column struct {
	name     string
	head     string // of the column, in a table of text; "": its name
	lock     string // the simulator's kind; "": it has the same name
	world    string // other options of the world line
	redisson string // those for Redisson's client, where they are others
	fewer    string // those that make the smallest world
}

// brief are options for locks of which no lease is renewed.
const brief = "ttl=3s renew=off hold=0s..6s think=0s..1s"

// columns are in their order. Redisson's profile has those of whose kind there is a model.
var columns = []column{
	{name: "mutex"},
	{name: "fair", redisson: "delay=10ms..50ms"}, // who waits behind the dead asks again at each reply, for minutes
	{name: "read", lock: "rw", world: "readers=2", fewer: "readers=1"},
	{name: "write", lock: "rw", world: "readers=1", fewer: "readers=1"},
	{name: "multi", world: "masters=3 clients=2 one-order=on", fewer: "once=on"}, // one attempt, as each asks every master
	{name: "redlock", world: "masters=5 clients=2 " + brief, redisson: "masters=5 clients=2", fewer: "once=on"},
	{name: "redlock-hash", head: "rl-hash", world: "masters=5 clients=2 " + brief, fewer: "once=on"},
	{name: "fenced"},
	{name: "nonreentrant", head: "nonre"},
	{name: "nonreentrant-fair", head: "nonre-fair"},
	{name: "spin", world: "ttl=12s hold=0s..24s think=0s..2s"}, // who waits asks many times a second: time costs more
	{name: "simple", world: brief},
	{name: "semaphore", head: "semaph."},
	{name: "permits"},
	{name: "latch", world: "waiters=1 count=6 rounds=3", fewer: "count=2 rounds=2"},
}

// kind is the simulator's.
func (c *column) kind() string {
	if c.lock == "" {
		return c.name
	}
	return c.lock
}

// options are those of the world line.
func (c *column) options(profile string) []string {
	other := c.world
	if profile == Redisson && c.redisson != "" {
		other = c.redisson
	}
	return append([]string{"lock=" + c.kind()}, strings.Fields(other)...)
}

// columnOf returns the column of that name.
func columnOf(name string) *column {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
	if i < 0 {
		panic("matrix: no column is called " + name)
	}
	return &columns[i]
}

// Kinds are the kinds of lock of a profile, in the order of the columns.
func Kinds(profile string) (names []string) {
	for i := range columns {
		if c := &columns[i]; profile != Redisson || sim.Modelled(c.kind()) {
			names = append(names, c.name)
		}
	}
	return names
}

// safety is the check of what a kind promises first.
func safety(kind string) string { return sim.TraitsOf(columnOf(kind).kind()).Promise }

// short is a kind's name for the head of a column.
func short(kind string) string {
	if c := columnOf(kind); c.head != "" {
		return c.head
	}
	return kind
}
